"""The guard: hostile requests are refused before any page or action sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from clockwork_client.console.guard import HEADERS, LARGEST_BODY, MOST_FIELDS
from clockwork_client.console.sessions import LASTS_SECONDS
from tests.console.scenes import Shop
from tests.console.visitor import HOST, ORIGIN, PORT, Visitor, forms_of

FORM = "application/x-www-form-urlencoded"


class Attack(NamedTuple):
    """A request with one thing that is not as a page of the console sends it, and the status that it gets."""

    name: str
    status: int
    method: str = "GET"
    path: str = "/jobs"
    #: Headers in place of the honest ones; None takes one away.
    headers: tuple[tuple[str, str | None], ...] = ()
    more: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None


def post(name: str, status: int, *headers: tuple[str, str | None], **rest: object) -> Attack:
    return Attack(name, status, "POST", "RUN", headers, **rest)  # type: ignore[arg-type]


ATTACKS = [
    # A name of an attacker that leads to 127.0.0.1 (DNS rebinding), and what looks like this host.
    Attack("another host", 421, headers=(("host", "evil.example"),)),
    Attack("another host with the port", 421, headers=(("host", f"evil.example:{PORT}"),)),
    Attack("a host below a name", 421, headers=(("host", f"127.0.0.1.evil.example:{PORT}"),)),
    Attack("no host", 421, headers=(("host", None),)),
    Attack("two hosts", 421, more=(("host", "evil.example"),)),
    Attack("the host without its port", 421, headers=(("host", "127.0.0.1"),)),
    Attack("another port", 421, headers=(("host", "127.0.0.1:80"),)),
    Attack("all addresses", 421, headers=(("host", f"0.0.0.0:{PORT}"),)),
    Attack("another way to write loopback", 421, headers=(("host", f"127.1:{PORT}"),)),
    Attack("loopback of IPv6", 421, headers=(("host", f"[::1]:{PORT}"),)),
    Attack("a user in the host", 421, headers=(("host", f"127.0.0.1:{PORT}@evil.example"),)),
    Attack("another host for a file", 421, path="/static/console.css", headers=(("host", "evil.example"),)),
    Attack("another host for a link", 421, path="/enter?token=x", headers=(("host", "evil.example"),)),
    # Without a session.
    Attack("no cookie", 401, headers=(("cookie", None),)),
    Attack("an empty cookie", 401, headers=(("cookie", f"clockwork-{PORT}="),)),
    Attack("a guessed cookie", 401, headers=(("cookie", f"clockwork-{PORT}=guess"),)),
    Attack("a cookie of another port", 401, headers=(("cookie", "clockwork-4786=COOKIE"),)),
    Attack("a cookie of another name", 401, headers=(("cookie", "session=COOKIE"),)),
    Attack("a cookie that is not ASCII", 401, headers=(("cookie", f"clockwork-{PORT}=\xff\xfe"),)),
    Attack("no cookie, for an unknown page", 401, path="/x", headers=(("cookie", None),)),
    Attack("no cookie, beside the open folder", 401, path="/staticx", headers=(("cookie", None),)),
    Attack("out of the open folder", 404, path="/static/../app.py", headers=(("cookie", None),)),
    Attack("out of the open folder, encoded", 404, path="/static/%2e%2e/view.py", headers=(("cookie", None),)),
    Attack("an action without a cookie", 401, "POST", "RUN", (("cookie", None),)),
    Attack("a form to the open folder", 401, "POST", "/static/x", (("cookie", None),)),
    Attack("a form to the link", 401, "POST", "/enter", (("cookie", None),)),
    # From elsewhere.
    Attack("a page embedded by another site", 403, headers=(("sec-fetch-site", "cross-site"),)),
    Attack("two sites", 403, headers=(("sec-fetch-site", "same-origin"),), more=(("sec-fetch-site", "cross-site"),)),
    post("a form of another site", 403, ("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")),
    post("a form of another port", 403, ("origin", "http://127.0.0.1:3000"), ("sec-fetch-site", "same-site")),
    post("a form without an origin", 403, ("origin", None)),
    post("a form of the origin null", 403, ("origin", "null")),
    post("a form of https", 403, ("origin", f"https://{HOST}")),
    post("a form of two origins", 403, more=(("origin", "https://evil.example"),)),
    post("a form that tells no site", 403, ("sec-fetch-site", None)),
    post("a form typed in by nobody", 403, ("sec-fetch-site", "none")),
    # From here, but from no form of this session.
    post("no token", 403, body=b"key=1"),
    post("a token of another form", 403, body=b"OTHER"),
    post("a token twice", 403, body=b"TWICE"),
    post("a body of JSON", 415, ("content-type", "application/json"), body=b"{}"),
    post("a body of plain text", 415, ("content-type", "text/plain")),
    post("no type of a body", 415, ("content-type", None)),
    post("a body that is said to be too long", 413, ("content-length", str(LARGEST_BODY + 1))),
    post("a length that is no number", 403, ("content-length", "\xb2"), body=b"key=1"),
    post("a body that is too long", 413, body=b"a=" + b"x" * LARGEST_BODY),
    post("too many fields", 400, body=b"&".join(b"a%d=1" % one for one in range(MOST_FIELDS + 1))),
    post("bytes that are no text", 400, body=b"a=\xff\xff"),
    Attack("a method that pages have not", 403, "DELETE", "/jobs", (("origin", None),)),
    Attack("a preflight", 403, "OPTIONS", "/jobs", (("origin", "https://evil.example"),)),
    Attack("a trace", 403, "TRACE", "/jobs", (("origin", None),)),
]


def sent(reader: Visitor, shop: Shop, attack: Attack) -> tuple[int, dict[str, str]]:
    """Send an attack: an honest request, but for what it changes."""
    page, run = f"/jobs/{shop.heartbeat.job_id}", f"/jobs/{shop.heartbeat.job_id}/run"
    fields = {one.action: one.fields for one in forms_of(reader.get(page))}
    honest = {"host": HOST, "cookie": reader.cookie}
    if attack.method != "GET":
        honest |= {"origin": ORIGIN, "sec-fetch-site": "same-origin", "content-type": FORM}
    for name, value in attack.headers:
        honest.pop(name, None)
        if value is not None:
            honest[name] = value.replace("COOKIE", reader.cookie.partition("=")[2])
    token = fields[run]["_token"]
    bodies = {
        None: f"_token={token}",
        b"OTHER": f"_token={fields[page + '/cancel']['_token']}",
        b"TWICE": f"_token={token}&_token={token}",
    }
    body = bodies[attack.body].encode() if attack.body in bodies else attack.body or b""
    answer = reader.send(attack.method, attack.path.replace("RUN", run), [*honest.items(), *attack.more], body)
    return answer.status, dict(answer.headers)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: one.name)
def test_a_hostile_request_changes_nothing_and_is_refused(attack: Attack, reader: Visitor, shop: Shop) -> None:
    before = len(shop.v.deliveries)
    status, headers = sent(reader, shop, attack)
    assert status == attack.status
    assert {name: headers[name] for name in HEADERS} == HEADERS
    shop.v.advance(seconds=1)
    assert len(shop.v.deliveries) == before


def test_there_are_enough_of_them() -> None:
    assert len(ATTACKS) >= 40
    assert len({one.name for one in ATTACKS}) == len(ATTACKS)


def test_the_honest_request_among_them_is_let_through(reader: Visitor, shop: Shop) -> None:
    before = len(shop.v.deliveries)
    assert sent(reader, shop, Attack("honest", 200))[0] == 200
    assert sent(reader, shop, post("honest", 303))[0] == 303
    shop.v.advance(seconds=1)
    assert len(shop.v.deliveries) == before + 1
    assert sent(reader, shop, Attack("localhost", 200, headers=(("host", f"localhost:{PORT}"),)))[0] == 200


def test_a_link_opens_one_session_and_no_second_one(shop: Shop) -> None:
    reader = Visitor(shop.cw, shop.v)
    token = reader.sessions.new_link()
    assert len(token) >= 32  # 192 bits
    head = reader.send("HEAD", f"/enter?token={token}", {"host": HOST})
    assert head.status == 403  # a preview of the link uses nothing up
    first = reader.get(f"/enter?token={token}", sec_fetch_site="cross-site")
    assert first.status == 200
    cookie = first.headers["set-cookie"]
    for part in (f"clockwork-{PORT}=", "HttpOnly", "SameSite=strict", f"Max-Age={LASTS_SECONDS}", "Path=/"):
        assert part in cookie
    assert "url=/" in first.text  # the page leads on, since a redirect would come without the cookie
    again = reader.get(f"/enter?token={token}")
    assert (again.status, "set-cookie" in again.headers) == (403, False)
    assert reader.get("/enter").status == 403


def test_a_new_link_takes_the_place_of_the_one_before(shop: Shop) -> None:
    reader = Visitor(shop.cw, shop.v)
    first, second = reader.sessions.new_link(), reader.sessions.new_link()
    assert reader.get(f"/enter?token={first}").status == 403
    assert reader.get(f"/enter?token={second}").status == 200


def test_a_session_ends_after_twelve_hours(reader: Visitor) -> None:
    reader.seconds = LASTS_SECONDS - 1
    assert reader.get("/changes").status == 200
    reader.seconds = LASTS_SECONDS
    assert reader.get("/changes").status == 401


def test_a_cookie_that_a_program_of_another_port_sets_beside_ours_changes_nothing(reader: Visitor) -> None:
    assert reader.get("/changes", cookie=f"clockwork-{PORT}=theirs; {reader.cookie}").status == 200
    assert reader.get("/changes", cookie=f"{reader.cookie}; clockwork-{PORT}=theirs").status == 200


def test_a_form_of_one_session_is_none_of_another(shop: Shop) -> None:
    reader = Visitor(shop.cw, shop.v).enter()
    to = f"/jobs/{shop.heartbeat.job_id}/run"
    fields = next(one.fields for one in forms_of(reader.get(to[:-4])) if one.action == to)
    reader.enter()
    assert reader.post(to, fields).status == 403


def test_of_many_sessions_the_oldest_ends(shop: Shop) -> None:
    reader = Visitor(shop.cw, shop.v).enter()
    first = reader.cookie
    for _ in range(32):
        reader.seconds += 1
        reader.enter()
    assert reader.get("/changes").status == 200
    assert reader.get("/changes", cookie=first).status == 401


@pytest.mark.parametrize("path", ["/static/htmx.min.js", "/static/console.css", "/static/inter.woff2"])
def test_files_are_open(path: str, shop: Shop, get: Callable[..., int]) -> None:
    assert get(Visitor(shop.cw, shop.v), path) == 200


@pytest.fixture
def get() -> Callable[..., int]:
    def status(reader: Visitor, path: str) -> int:
        answer = reader.send("HEAD", path, {"host": HOST})
        assert "access-control-allow-origin" not in answer.headers
        return answer.status

    return status
