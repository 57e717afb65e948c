"""Lists that a page has cut: it says what it looked at, the link goes on there, and it does not wait for long."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape

import pytest

from clockwork.flows.activity import budget
from clockwork.flows.requests import read
from clockwork_client.console import source
from clockwork_client.console.reads import Patience, onward
from clockwork_client.pages import Pages
from clockwork_client.results import Job
from clockwork_client.transport import Request, Response
from tests.console.scenes import OK, Shop
from tests.console.visitor import Visitor


class Slow:
    """An API whose calls take so many seconds, on a clock that the console reads."""

    def __init__(self, shop: Shop, seconds: float) -> None:
        self.now, self.seconds, self.made = 0.0, seconds, list[str]()
        self.send = shop.cw._caller._transport
        shop.cw._caller._transport = self

    def __call__(self, request: Request) -> Response:
        self.made.append(request.url)
        self.now += self.seconds
        return self.send(request)


def links(text: str, words: str) -> list[str]:
    """The addresses of the links with these words."""
    return [unescape(one) for one in re.findall(rf'href="([^"]+)">{words}<', text)]


def keys_of(text: str) -> list[str]:
    """The jobs of a list in a page."""
    return re.findall(r'<tr id="row-[^"]+".*?<bdi>(.*?)</bdi>', text, re.DOTALL)


def followed(reader: Visitor, path: str) -> list[str]:
    """The jobs of a list, and of all that it leads on to."""
    found: list[str] = []
    for _ in range(40):
        text = reader.look(path).text
        found += keys_of(text)
        going = links(text, "Go on")
        if not going:
            return found
        (path,) = going
    raise AssertionError("the list does not end")


@pytest.mark.parametrize("query", ["", "?q=tenant", "?q=tenant&sort=name", "?q=nowhere"])
def test_the_pages_of_a_cut_list_have_each_job_once(
    shop: Shop, reader: Visitor, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    for number in range(12):
        shop.make(f"tenant/{number:03}", OK, cron=f"{number} 0 1 1 *")
    whole = {one.job_key for one in shop.cw.jobs.list()}
    monkeypatch.setattr(source, "MOST_JOBS", 4)
    monkeypatch.setattr(source, "_SEARCH_CALLS", 1)
    found = followed(reader, f"/jobs{query}")
    wanted = {one for one in whole if query == "" or (one or "").startswith(query[3:9])}
    assert sorted(found) == sorted(map(str, wanted))


def test_a_cut_list_says_what_it_looked_at(shop: Shop, reader: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        shop.make(f"tenant/{number:03}", OK, cron=f"{number} 0 1 1 *")
    monkeypatch.setattr(source, "MOST_JOBS", 3)
    monkeypatch.setattr(source, "_SEARCH_CALLS", 1)
    monkeypatch.setattr(read, "READ_AT_ONCE", 3)
    monkeypatch.setattr(budget, "PAGE_UNITS", 0)
    page = reader.look("/jobs?q=heartbeat")
    assert "3 jobs were looked at, and there may be more. Go on" in page.words
    first = links(page.text, "Go on")
    last = reader.look(first[0])
    assert "Back to the first" in last.words
    assert links(last.text, "Back to the first") == ["/jobs?q=heartbeat&sort=next"]


@pytest.mark.parametrize(("seconds", "most"), [(0.05, 3), (0.3, 2), (0.45, 1), (3.0, 1)])
def test_a_slow_search_ends_with_what_it_has_and_goes_on_by_a_link(
    shop: Shop, reader: Visitor, monkeypatch: pytest.MonkeyPatch, seconds: float, most: int
) -> None:
    for number in range(40):
        shop.make(f"tenant/{number:03}", OK, cron=f"{number} 0 1 1 *")
    reader.look("/changes")  # whoami
    monkeypatch.setattr(source, "MOST_JOBS", 1)
    slow = Slow(shop, seconds)
    reader.context.clock = lambda: slow.now
    page = reader.look("/jobs?q=heartbeat")
    searches = [one for one in slow.made if "contains" in one and "runs=" not in one]
    assert 1 <= len(searches) <= most
    assert "Go on" in page.words


def test_each_list_that_was_cut_leads_on(shop: Shop, reader: Visitor) -> None:
    reader.look("/changes")
    send, asked = shop.cw._caller._transport, list[str]()

    def cut(request: Request) -> Response:
        asked.append(request.url)
        url = re.sub(r"[?&]nextToken=token-[xy]", "", request.url)
        answer = send(request._replace(url=url))
        found = json.loads(answer.body)
        if answer.status == 200 and isinstance(found.get("items"), list):
            found["nextToken"] = "token-x" if "token-x" not in request.url else "token-y"
        return Response(answer.status, answer.headers, json.dumps(found).encode())

    shop.cw._caller._transport = cut
    for path, says in (("/jobs", "jobs were looked at"), ("/upcoming", "there may be more"), ("/runs", "named job")):
        reader.context.source.forget()
        page = reader.get(path)
        assert says in page.words, path
        going = [one for one in re.findall(r'href="([^"]+)">Go on', page.text) if "next=" in one]
        assert len(going) == 1, path
        asked.clear()
        reader.context.source.forget()
        assert reader.get(unescape(going[0])).status == 200
        assert any("nextToken=token-" in one for one in asked), path


def test_patience_lets_one_more_call_begin_only_if_it_would_end_in_time() -> None:
    clock = iter([0.0, 0.4, 0.8, 1.2])
    patience = Patience(lambda: next(clock), 1.3)
    assert [patience.goes_on() for _ in range(3)] == [True, True, False]


def pages_of(*lengths: int) -> Pages[Job]:
    """A list whose pages have so many jobs."""

    def fetch(token: str | None) -> object:
        number = int(token or 0)
        known = {"clientId": "shop", "state": "ACTIVE", "target": {"type": "http", "url": "https://example.com"}}
        items = [{"jobId": f"{number}-{each}", **known} for each in range(lengths[number])]
        more = {"nextToken": str(number + 1)} if number + 1 < len(lengths) else {}
        return {"items": items, "jobsRead": 10, **more}

    return Pages(fetch, Job, None)


@pytest.mark.parametrize(
    ("lengths", "goes_on", "items", "token", "looked_at"),
    [
        ((0, 0, 2, 5), lambda: True, 2, "3", 30),
        ((3, 9), lambda: True, 3, "1", 10),
        ((0, 0, 0, 0), lambda: True, 0, "3", 30),
        ((1, 1), lambda: True, 2, None, 20),
        ((0, 3), lambda: False, 0, "1", 10),
    ],
)
def test_a_list_is_read_on_until_there_is_enough_or_no_time(
    lengths: tuple[int, ...], goes_on: Callable[[], bool], items: int, token: str | None, looked_at: int
) -> None:
    found = onward(pages_of(*lengths), 3, 3, goes_on)
    assert (len(found.items), found.next_token, found.looked_at) == (items, token, looked_at)
    assert found.more == (token is not None)
