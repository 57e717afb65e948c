"""A client with more than any page reads: pages make few calls, and claim nothing of what they did not read."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from clockwork_client.console import shapes
from clockwork_client.console.pages.attention import by_minute, coming
from clockwork_client.results import Job
from clockwork_client.transport import Request, Response
from tests.console.scenes import OK, Shop
from tests.console.test_pages import pages_of
from tests.console.visitor import Visitor

#: The calls of one page and its frame.
MOST_CALLS = 8


class Endless:
    """An API whose lists find nothing by any call, and go on: all that they read was passed over by a filter."""

    def __init__(self, shop: Shop) -> None:
        self.paths = pages_of(shop)
        self.send, self.made = shop.cw._caller._transport, list[str]()
        shop.cw._caller._transport = self

    def __call__(self, request: Request) -> Response:
        self.made.append(request.url)
        assert len(self.made) < 40, self.made
        # The API knows the tokens of its own pages alone.
        url = re.sub(r"[?&]nextToken=token-[0-9]+", "", request.url)
        answer = self.send(request._replace(url=url))
        found = json.loads(answer.body)
        if answer.status == 200 and isinstance(found.get("items"), list):
            found |= {"items": [], "nextToken": f"token-{len(self.made)}"}
        return Response(answer.status, answer.headers, json.dumps(found).encode())


@pytest.fixture
def endless(shop: Shop, reader: Visitor) -> Iterator[Endless]:
    reader.look("/changes")  # whoami, which is asked for once a minute
    yield Endless(shop)


def test_no_page_reads_on_while_nothing_passes_a_filter(reader: Visitor, endless: Endless) -> None:
    for path in [*endless.paths, "/jobs?q=nowhere", "/dead?prefix=x", "/upcoming?hours=24", "/runs?prefix=x"]:
        endless.made.clear()
        assert reader.look(path).status == 200
        assert len(endless.made) <= MOST_CALLS, path


@pytest.mark.parametrize(
    ("path", "claim", "says"),
    [
        ("/", "All is well", "Not all is known"),
        ("/", "Nothing starts within the hour", "None was found as far as the list was read."),
        ("/jobs", "There is no named job yet", "The client has more jobs than were looked at"),
        ("/upcoming", "Nothing starts within", "None was found as far as the list was read."),
        ("/dead", "Nothing is dead", "None was found as far as the list was read."),
        ("/dead?prefix=x", "Nothing dead matches", "None was found as far as the list was read."),
        ("/changes", "Nothing was changed yet", "None was found as far as the list was read."),
        ("/operations", "No operation yet", "None was found as far as the list was read."),
    ],
)
def test_a_list_that_was_not_read_to_its_end_is_not_said_to_be_empty(
    reader: Visitor, endless: Endless, path: str, claim: str, says: str
) -> None:
    words = reader.look(path).words
    assert claim not in words
    assert says in words


def test_the_jobs_of_a_page_that_fire_no_more_as_they_did_cost_no_search_among_all(shop: Shop, reader: Visitor) -> None:
    """A list is kept for up to a minute: meanwhile each of its jobs has fired, and is due at another instant."""
    for number in range(120):
        shop.make(f"tenant/{number:03}", OK, every=60 + number)
    reader.look("/jobs")
    kept = reader.context.source.jobs("shop").value
    assert kept is not None
    shop.v.advance(minutes=30)
    made, send = list[str](), shop.cw._caller._transport

    def counted(request: Request) -> Response:
        made.append(request.url)
        return send(request)

    shop.cw._caller._transport = counted
    reader.context.source.strips("shop", [one for one in kept.items if one.state == "ACTIVE"][:50], 17)
    assert 1 <= len(made) <= 4


def test_a_thousand_jobs_of_every_second_are_counted_by_minutes() -> None:
    now = datetime(2026, 3, 1, 0, 0, 30, tzinfo=UTC)
    known = {"jobId": "j", "clientId": "shop", "jobKey": "k", "state": "ACTIVE", "revision": 1}
    target, every = {"type": "http", "url": "https://example.com"}, {"every": {"seconds": 1}}
    raw = {**known, "schedule": every, "target": target, "nextFireAt": "2026-02-20T00:00:00.250Z"}
    starts = coming(None, [Job(raw)] * 1_000, now)
    assert len(starts) <= 32 * 1_000
    assert sum(count for _, count in starts) == 31 * 60 * 1_000
    assert (min(starts)[0] - now).total_seconds() == 0.25
    assert shapes.river([], starts, now, None).ahead == (30 * 60 + 30) * 1_000


@pytest.mark.parametrize("every", [1, 1.5, 7, 59, 60, 61, 100, 1_900])
def test_starts_by_minutes_are_those_that_follow_each_other(every: float) -> None:
    now = datetime(2026, 3, 1, 0, 0, 30, tzinfo=UTC)
    first, end = now + timedelta(seconds=17.25), now + timedelta(minutes=31)
    at, each = first, list[datetime]()
    while at < end:
        each.append(at)
        at += timedelta(seconds=every)
    found = list(by_minute(first, every, now, end))
    by = Counter(one.replace(second=0, microsecond=0) for one in each)
    assert {at.replace(second=0, microsecond=0): count for at, count in found} == by
    assert {at for at, _ in found} <= set(each)
