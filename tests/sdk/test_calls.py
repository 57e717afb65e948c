"""One call among lost answers, refusals and garbage: what is repeated, what is not, and what is said at the end."""

from __future__ import annotations

import base64
import json
import pickle
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clockwork_client import (
    Clockwork,
    Conflict,
    Invalid,
    NotAllowed,
    NotCertain,
    NotFound,
    NotReached,
    Refused,
    TooManyRequests,
    UnexpectedAnswer,
    http,
)
from clockwork_client.transport import NoAnswer, Request, Response
from tests.sdk.edge import CREDENTIALS, URL, Hands, client_of
from tests.sdk.hostile import Act, Hostile, answer, cut, garbage, reset, silent, trickle
from tests.support.promptness import promptly

CREATED = {"jobId": "j1", "clientId": "acme", "state": "SCHEDULED", "dueAt": "2027-01-31T09:00:00.000Z"}
HOOK = http("https://example.com/hook")
PROBLEM = {
    "type": "about:blank",
    "title": "Unprocessable Entity",
    "status": 422,
    "detail": "the request has faults; nothing was written",
    "errors": [{"pointer": "/schedule/at", "detail": "has no time zone"}],
}


def of(server: Hostile, hands: Hands | None = None, **options: Any) -> Clockwork:
    machine = (hands or Hands()).machine
    return Clockwork(server.url, "acme", region="us-east-1", credentials=CREDENTIALS, machine=machine, **options)


@pytest.mark.parametrize("fault", [reset, cut, garbage, answer(500), answer(503), answer(502, b"<html>"), answer(408)])
def test_a_create_whose_answer_is_lost_is_repeated_under_its_key(fault: Act) -> None:
    with Hostile(fault, fault, answer(201, CREATED)) as server, of(server) as cw:
        assert cw.schedule(HOOK, {"n": 1}, in_=5).job_id == "j1"
    assert server.keys() == ["key-1"] * 3
    bodies = {request.partition("\r\n\r\n")[2] for request in server.requests}
    assert len(bodies) == 1


@pytest.mark.parametrize("body", [b"", b"{", b'"jobId', b"\xff", b"[" * 100_000])
def test_a_success_that_is_no_json_is_asked_for_again(body: bytes) -> None:
    with Hostile(answer(201, body), answer(201, CREATED)) as server, of(server) as cw:
        assert cw.schedule(HOOK, in_=5).job_id == "j1"
    assert server.keys() == ["key-1"] * 2


@pytest.mark.parametrize("body", [[], "x", 17, {}, {**CREATED, "jobId": 7}, {**CREATED, "dueAt": "soon"}])
def test_a_success_of_another_shape_is_said_to_be_so(body: object) -> None:
    with Hostile(answer(201, body)) as server, of(server) as cw, pytest.raises(UnexpectedAnswer) as caught:
        cw.schedule(HOOK, in_=5)
    assert caught.value.idempotency_key == pickle.loads(pickle.dumps(caught.value)).idempotency_key == "key-1"


def test_an_answer_that_trickles_ends_with_its_time() -> None:
    def schedule() -> str:
        with Hostile(trickle, answer(201, CREATED)) as server, of(server, timeout=0.3) as cw:
            return cw.schedule(HOOK, in_=5).job_id

    job_id, seconds = promptly(schedule, 2)
    assert job_id == "j1"
    assert seconds < 2


def test_an_answer_that_does_not_come_ends_with_its_time() -> None:
    with Hostile(silent, answer(201, CREATED)) as server, of(server, timeout=0.2) as cw:
        assert cw.schedule(HOOK, in_=5).job_id == "j1"
    assert server.keys() == ["key-1"] * 2


def test_an_answer_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clockwork_client.transport.LARGEST_ANSWER", 1_000)
    monkeypatch.setattr("clockwork_client.transport._CHUNK", 600)
    large = answer(201, {**CREATED, "more": "x" * 2_000})
    with Hostile(large, answer(201, CREATED)) as server, of(server) as cw:
        assert cw.schedule(HOOK, in_=5).raw == CREATED


def test_retry_after_is_waited_for() -> None:
    hands = Hands()
    with Hostile(answer(429, {"message": "slow"}, retry_after="7"), answer(201, CREATED)) as server:
        of(server, hands).schedule(HOOK, in_=5)
    assert hands.slept == [7.0]


@pytest.mark.parametrize("text", ["soon", "-1", "1e9", "99999999999999", "²"])
def test_an_unreadable_retry_after_is_no_wait_of_its_own(text: str) -> None:
    hands = Hands()
    answers = [Response(429, {"retry-after": text}, b"{}"), Response(201, {}, json.dumps(CREATED).encode())]
    client_of(lambda _: answers.pop(0), hands).schedule(HOOK, in_=5)
    assert hands.slept == [0.2]


def test_waits_double_up_to_a_bound() -> None:
    hands = Hands()
    with pytest.raises(NotCertain):
        client_of(lambda _: Response(503, {}, b""), hands).jobs.get("j")
    assert hands.slept == [0.2, 0.4, 0.8, 1.6, 3.2, *[5.0] * 4]


def test_a_part_of_each_wait_is_chance() -> None:
    drawn = iter([0.0, 1.0, 0.5])
    hands = Hands()
    machine = hands.machine._replace(chance=lambda: next(drawn))
    script = [Response(503, {}, b"")] * 3 + [Response(200, {}, json.dumps(CREATED).encode())]
    cw = Clockwork(URL, credentials=CREDENTIALS, machine=machine, transport=lambda _: script.pop(0))
    cw.jobs.get("j")
    assert hands.slept == pytest.approx([0.1, 0.4, 0.6])


def test_429_beyond_the_deadline_is_refused_at_once() -> None:
    hands = Hands()
    with (
        Hostile(answer(429, {"detail": "jobsPerDay"}, retry_after="3600")) as server,
        pytest.raises(TooManyRequests) as caught,
    ):
        of(server, hands).schedule(HOOK, in_=5)
    assert caught.value.retry_after == 3600
    assert hands.slept == []


def test_a_read_that_is_refused_for_its_pace_is_repeated_when_the_api_says() -> None:
    hands = Hands()
    slow = answer(429, {"detail": "the client reads faster than may be"}, retry_after="2")
    with Hostile(slow, slow, answer(200, CREATED)) as server:
        assert of(server, hands).jobs.get("j").raw == CREATED
    assert hands.slept == [2.0, 2.0]


def test_a_read_that_is_refused_beyond_the_deadline_is_not_waited_for() -> None:
    hands = Hands()
    slow = answer(429, {"detail": "the client reads faster than may be"}, retry_after="40")
    with Hostile(slow) as server, pytest.raises(TooManyRequests) as caught:
        of(server, hands).jobs.get("j")
    assert (caught.value.retry_after, hands.slept) == (40, [])


def test_429_after_a_lost_answer_is_not_certain() -> None:
    late = answer(429, {"detail": "jobsPerDay"}, retry_after="3600")
    with Hostile(reset, late) as server, pytest.raises(NotCertain) as caught:
        of(server).schedule(HOOK, in_=5, idempotency_key="mine")
    assert (caught.value.idempotency_key, caught.value.tries) == ("mine", 2)


def test_at_the_deadline_nothing_is_claimed() -> None:
    hands = Hands()
    with Hostile(answer(503)) as server, pytest.raises(NotCertain) as caught:
        of(server, hands, deadline=10).schedule(HOOK, in_=5)
    assert not isinstance(caught.value, NotReached)
    assert caught.value.idempotency_key == "key-1"
    assert caught.value.tries == len(server.requests) > 3
    assert 1_004 < hands.now <= 1_010


def test_where_nobody_listens_nothing_was_done() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    hands = Hands()
    cw = Clockwork(url, "acme", region="us-east-1", credentials=CREDENTIALS, machine=hands.machine)
    with pytest.raises(NotReached, match=f"nothing listens at {url}. `make dev` starts"):
        cw.jobs.get("j")
    assert sum(hands.slept) < 0.5
    # A caller with a deadline of its own, such as a worker, waits for a server that comes back.
    with pytest.raises(NotReached):
        cw.create({}, deadline=20)
    assert 10 < hands.now - 1_000 < 21


def test_a_host_that_is_away_is_tried_until_the_deadline_unless_the_caller_waits_less() -> None:
    def unreachable(_: Request) -> Response:
        raise NoAnswer("no route", was_sent=False)

    for connecting, least, most in ((None, 25, 30), (1.0, 0.5, 1)):
        hands = Hands()
        cw = Clockwork(
            URL, credentials=CREDENTIALS, transport=unreachable, machine=hands.machine, connecting=connecting
        )
        with pytest.raises(NotReached):
            cw.jobs.get("j")
        assert least <= sum(hands.slept) <= most


def test_a_server_that_goes_away_after_a_lost_answer_is_tried_until_the_deadline() -> None:
    hands, answers = Hands(), iter([NoAnswer("lost")])

    def lose(_: Request) -> Response:
        raise next(answers, NoAnswer("no route", was_sent=False))

    cw = Clockwork(URL, credentials=CREDENTIALS, transport=lose, machine=hands.machine, connecting=1)
    with pytest.raises(NotCertain) as caught:
        cw.jobs.get("j")
    assert not isinstance(caught.value, NotReached)
    assert sum(hands.slept) > 20


@pytest.mark.parametrize(
    ("status", "kind"),
    [(403, NotAllowed), (404, NotFound), (409, Conflict), (422, Invalid), (418, Refused), (302, Refused)],
)
def test_a_refusal_is_final(status: int, kind: type[Refused]) -> None:
    with Hostile(answer(status, {**PROBLEM, "status": status})) as server, pytest.raises(kind) as caught:
        of(server).schedule(HOOK, in_=5)
    assert len(server.requests) == 1
    assert type(caught.value) is kind
    assert caught.value.status == status
    assert caught.value.pointers == ("/schedule/at",)
    assert "/schedule/at: has no time zone" in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.faults) == (str(caught.value), caught.value.faults)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b'{"errors": [1, {"pointer": 2}], "detail": 7}'])
def test_a_refusal_that_cannot_be_read_is_a_refusal(body: bytes) -> None:
    with Hostile(answer(422, body)) as server, pytest.raises(Invalid):
        of(server).schedule(HOOK, in_=5)


def test_a_conflict_after_a_lost_answer_may_be_the_own_doing() -> None:
    calls: list[Callable[[Clockwork], object]] = [
        lambda cw: cw.executions.redrive("e"),
        lambda cw: cw.jobs.pause("j", if_revision=3),
    ]
    for call in calls:
        with (
            Hostile(reset, answer(409, {"detail": "is not DEAD"})) as server,
            pytest.raises(NotCertain, match="earlier"),
        ):
            call(of(server))
        with Hostile(answer(409, {"detail": "is not DEAD"})) as server, pytest.raises(Conflict):
            call(of(server))


def test_a_conflict_of_a_key_is_certain_whatever_came_before() -> None:
    with Hostile(reset, answer(409, {"detail": "the key stands for another"})) as server, pytest.raises(Conflict):
        of(server).schedule(HOOK, in_=5)


def test_a_redirect_is_not_followed() -> None:
    elsewhere = Hostile(answer(200, CREATED))
    moved = answer(307, {}, location=elsewhere.url)
    with elsewhere, Hostile(moved) as server, pytest.raises(Refused):
        of(server).schedule(HOOK, in_=5)
    assert elsewhere.requests == []


def test_each_try_is_signed_anew() -> None:
    seen: list[Request] = []

    def lose(request: Request) -> Response:
        seen.append(request)
        raise NoAnswer("lost")

    with pytest.raises(NotCertain):
        client_of(lose).schedule(HOOK, in_=5)
    assert len(seen) > 3
    assert all("Credential=AKIAIOSFODNN7EXAMPLE/" in one.headers["Authorization"] for one in seen)


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_an_id_that_leads_elsewhere_is_not_sent(name: str) -> None:
    with Hostile(answer(200, {})) as server, pytest.raises(ValueError, match="is no id"):
        of(server).jobs.get(name)
    assert server.requests == []


def test_an_id_stays_one_segment_of_the_path() -> None:
    with Hostile(answer(404, {})) as server, pytest.raises(NotFound):
        of(server).jobs.get("../clients/a?b#c%2f\r\nx: y")
    assert server.requests[0].startswith("GET /v1/jobs/..%2Fclients%2Fa%3Fb%23c%252f%0D%0Ax%3A%20y HTTP/1.1\r\n")


@pytest.mark.parametrize("key", ["a b", "a\r\nx-evil: 1", "ü", "x" * 256, "\x7f"])
def test_a_key_that_no_header_can_hold_is_not_sent(key: str) -> None:
    with Hostile(answer(201, CREATED)) as server, pytest.raises(ValueError, match="idempotency key"):
        of(server).schedule(HOOK, in_=5, idempotency_key=key)
    assert server.requests == []


def test_a_payload_that_is_no_json_is_not_sent() -> None:
    with Hostile(answer(201, CREATED)) as server:
        for payload in (float("nan"), object(), {1, 2}, "\ud800"):
            with pytest.raises((TypeError, ValueError)):
                of(server).schedule(HOOK, payload, in_=5)
    assert server.requests == []


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hostile]:
    """A proxy that the environment names, with a name and a password."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with Hostile(answer(201, CREATED)) as server:
        url = server.url.replace("//", "//user:p%40ss@")
        monkeypatch.setenv("http_proxy", url)
        monkeypatch.setenv("HTTPS_PROXY", url)
        yield server


def through(url: str) -> Clockwork:
    return Clockwork(url, region="us-east-1", credentials=CREDENTIALS, machine=Hands().machine, deadline=2)


def test_a_proxy_of_the_environment_is_used(proxy: Hostile) -> None:
    assert through("http://api.invalid").schedule(HOOK, in_=5).job_id == "j1"
    assert proxy.requests[0].startswith("POST http://api.invalid/v1/jobs HTTP/1.1\r\n")
    with pytest.raises(NotCertain):
        through("https://api.invalid").schedule(HOOK, in_=5)
    assert proxy.requests[1].startswith("CONNECT api.invalid:443 HTTP/1.")
    credentials = base64.b64encode(b"user:p@ss").decode()
    assert all(f"Basic {credentials}" in request for request in proxy.requests)


def test_a_proxy_is_not_used_for_this_machine_or_what_is_excepted(
    proxy: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Hostile(answer(201, CREATED)) as server:
        assert of(server).schedule(HOOK, in_=5).job_id == "j1"
    monkeypatch.setenv("NO_PROXY", ".invalid")
    with pytest.raises(NotReached):
        through("http://api.invalid").schedule(HOOK, in_=5)
    assert proxy.requests == []


#: As API Gateway answers a request whose signature is not the one that it computes.
MISMATCH = """The request signature we calculated does not match the signature you provided. Check \
your AWS Secret Access Key and signing method. Consult the service documentation for details.

The Canonical String for this request should have been
'GET
/prod/v1/jobs/j

host:abc.execute-api.us-east-1.amazonaws.com
x-amz-date:20260301T000000Z
x-amz-security-token:THE-TOKEN-OF-THE-SESSION

host;x-amz-date;x-amz-security-token
e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

The String-to-Sign should have been
'AWS4-HMAC-SHA256
20260301T000000Z
20260301/us-east-1/execute-api/aws4_request
f2e7'
"""


def test_a_refused_signature_is_told_without_the_credentials_that_the_answer_quotes() -> None:
    body = json.dumps({"message": MISMATCH}).encode()
    with pytest.raises(NotAllowed) as caught:
        client_of(lambda _: Response(403, {}, body)).jobs.get("j")
    assert caught.value.detail.startswith("The request signature we calculated does not match")
    told = f"{caught.value} {caught.value!r} {caught.value.raw} {pickle.dumps(caught.value)!r}"
    assert "THE-TOKEN-OF-THE-SESSION" not in told
    assert "x-amz-security-token" not in told
