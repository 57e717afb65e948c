"""Lists on a store that is slow: each call ends in time, each brings its list on, and none loses or repeats an item."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from clockwork.domain.requests.reading import PAGE_MS
from clockwork.flows.activity import runs
from clockwork.flows.requests import read, redrive, upcoming
from clockwork.memory.executions import MemoryExecutions
from clockwork.memory.jobs import MemoryJobs
from clockwork.memory.timeline import MemoryTimeline
from tests.handlers.handlers import Api
from tests.handlers.test_changes_of_named_jobs import LATER, ONCE, failing
from tests.handlers.test_indexed_runs import switch
from tests.handlers.test_named_api import create, run

JOBS = 9
CLIENT = "/v1/clients/acme"
#: The reads of the stores that take time.
SLOW = (
    *((MemoryJobs, name) for name in ("list", "get")),
    *((MemoryExecutions, name) for name in ("list", "get", "dead", "retrying", "indexed")),
    (MemoryTimeline, "read"),
)


class Looked(NamedTuple):
    """A list: its path and query, the field that says how much was looked at, and the reads that a page cannot spare.

    A list whose field is "" looks at other clients' rows, which are nobody's business.
    """

    path: str
    query: Mapping[str, str]
    field: str
    reads: int = 1


LISTS = {
    "contains": Looked("/v1/jobs", {"contains": "JOB-", "limit": "3"}, "jobsRead"),
    "contains nothing": Looked("/v1/jobs", {"contains": "no such text", "limit": "3"}, "jobsRead"),
    "state": Looked("/v1/jobs", {"state": "PAUSED", "limit": "3"}, "jobsRead"),
    "tag": Looked("/v1/jobs", {"tag": "odd=1", "limit": "2"}, "jobsRead"),
    "due": Looked("/v1/jobs", {"dueFrom": "2023-11-14T00:00:00Z", "limit": "3"}, "jobsRead"),
    "with runs": Looked("/v1/jobs", {"include": "runs"}, "jobsRead", 2),
    "runs": Looked(f"{CLIENT}/runs", {"to": "2023-11-15T00:00:00Z"}, "jobsRead", 2),
    "runs of a state": Looked(f"{CLIENT}/runs", {"to": "2023-11-15T00:00:00Z", "state": "DEAD"}, "jobsRead", 2),
    "ended runs": Looked(f"{CLIENT}/runs", {"to": "2023-11-15T00:00:00Z", "jobs": "all"}, "runsRead", 2),
    "ended runs of none": Looked(f"{CLIENT}/runs", {"jobs": "all", "prefix": "none/"}, "runsRead", 1),
    "dead": Looked(f"{CLIENT}/dead", {}, "executionsRead"),
    "dead of a prefix": Looked(f"{CLIENT}/dead", {"prefix": "job-3"}, "executionsRead"),
    "attention": Looked(f"{CLIENT}/attention", {}, "executionsRead"),
    "attention to a kind": Looked(f"{CLIENT}/attention", {"kind": "retrying"}, "executionsRead"),
    "upcoming": Looked("/v1/upcoming", {"from": "2023-11-15T00:00:00Z", "to": "2023-12-30T00:00:00Z"}, "", 7),
}


@pytest.fixture(scope="module")
def api() -> Api:
    """Named jobs that ran, some of them DEAD, some tried again, some paused; and some to come. Tests only read."""
    found = Api()
    switch(found, on=True)
    for number in range(JOBS):
        create(found, f"job-{number}", {"cron": "15 22 14 * *", "timezone": "UTC"}, tags={"odd": str(number % 2)})
        create(found, f"far/{number}", {"cron": f"{number} 10 * * *", "timezone": "UTC"})
    run(found, 200)
    failing(found)
    for number in range(JOBS):
        create(found, f"job-{number}/bad", {"delaySeconds": 1 + number}, retryPolicy=ONCE)
        create(found, f"job-{number}/again", {"delaySeconds": 1 + number}, retryPolicy=LATER)
    run(found, 30)
    for number in range(0, JOBS, 2):
        job_id = found.call("GET", "/v1/jobs", query={"jobKey": f"job-{number}"}).body["items"][0]["jobId"]
        found.call("POST", f"/v1/jobs/{job_id}/pause")
    return found


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each read brings little, so that a list of dozens takes many."""
    for module, name in (
        *((read, name) for name in ("READ_AT_ONCE", "GROWTH", "READ_FIRST")),
        *((runs, name) for name in ("FIRST_PLACES", "PLACES", "RECORDS")),
        (redrive, "READ_FIRST"),
        (upcoming, "ASKED_AT_ONCE"),
    ):
        monkeypatch.setattr(module, name, 2)


def slowed(api: Api, took_ms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each read of a store take so long."""

    def slow(method: Callable[..., Any]) -> Callable[..., Any]:
        def reading(self: Any, *args: Any, **kwargs: Any) -> Any:
            api.clockwork.clock.at += took_ms
            return method(self, *args, **kwargs)

        return reading

    for store, name in SLOW:
        monkeypatch.setattr(store, name, slow(getattr(store, name)))


def walk(api: Api, looked: Looked) -> list[tuple[int, Any]]:
    """The pages of a list to its end, each with the time that its call took (ms)."""
    pages: list[tuple[int, Any]] = []
    token: dict[str, str] = {}
    while not pages or token:
        began_at = api.clockwork.clock.at
        answer = api.call("GET", looked.path, query={**looked.query, **token})
        assert answer.status == 200, answer.text
        pages.append((api.clockwork.clock.at - began_at, answer.body))
        token = {"nextToken": answer.body["nextToken"]} if "nextToken" in answer.body else {}
        assert len(pages) < 400, "a list does not end"
    return pages


def names(pages: list[tuple[int, Any]]) -> list[str]:
    """The names of the items of all pages."""
    items = [one for _, page in pages for one in page["items"]]
    return [one.get("executionId") or one["jobId"] for one in items]


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("took_ms", [5, 120, 400, 900, 6_000])
def test_a_slow_store_gives_shorter_pages_and_the_same_list(
    api: Api, name: str, took_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = LISTS[name]
    whole, at = names(walk(api, looked)), api.clockwork.clock.at
    assert ("none" in name or "nothing" in name) != bool(whole)
    slowed(api, took_ms, monkeypatch)
    pages = walk(api, looked)
    api.clockwork.clock.at = at
    assert sorted(names(pages)) == sorted(whole)
    assert len(set(whole)) == len(whole)
    # A page reads once at least, whatever that takes; beyond that only what ends in its time.
    assert all(took <= max(PAGE_MS, (looked.reads + 1) * took_ms) for took, _ in pages)
    assert (len(pages) > 1) or took_ms <= 120
    if looked.field:
        assert all(page[looked.field] for _, page in pages[:-1])
    assert len(pages) <= 60


def test_what_a_page_looked_at_is_counted_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    dead_in_all, at = len(names(walk(api, LISTS["dead"]))), api.clockwork.clock.at
    slowed(api, 300, monkeypatch)
    for name in ("contains", "contains nothing", "state"):
        read_in_all = sum(page["jobsRead"] for _, page in walk(api, LISTS[name]))
        assert read_in_all == 4 * JOBS, name
    dead = [page["executionsRead"] for _, page in walk(api, LISTS["dead of a prefix"])]
    assert (sum(dead), len(dead) > 1) == (dead_in_all, True)
    api.clockwork.clock.at = at


def test_one_read_that_takes_longer_than_a_page_may_is_looked_at_whole(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise each call would read a megabyte, and show one job of it."""
    monkeypatch.setattr(read, "READ_AT_ONCE", 20)
    at = api.clockwork.clock.at
    slowed(api, 3 * PAGE_MS, monkeypatch)
    pages = walk(api, LISTS["state"]._replace(query={"state": "PAUSED", "limit": "20"}))
    api.clockwork.clock.at = at
    assert [page["jobsRead"] for _, page in pages] == [20, 16]


def test_a_clock_that_jumps_ends_a_page_early_and_loses_nothing(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    at, looked = api.clockwork.clock.at, LISTS["contains"]
    whole = names(walk(api, looked))
    jumps = iter([40_000, -90_000, 15_000, 0, -5_000] * 100)
    lists = MemoryJobs.list

    def jumping(self: MemoryJobs, *args: Any) -> Any:
        api.clockwork.clock.at += next(jumps)
        return lists(self, *args)

    monkeypatch.setattr(MemoryJobs, "list", jumping)
    assert names(walk(api, looked)) == whole
    api.clockwork.clock.at = at
