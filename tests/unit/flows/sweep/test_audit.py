"""The audit of a slice: it holds one page of jobs at a time, and ends in time however many there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from clockwork.domain.named_jobs import NamedJob
from clockwork.flows.sweep import audit
from clockwork.flows.sweep.audit import STOP_MARGIN_MS, audit_chains
from tests.support.named import Named

PAGE = 1_000


class Counted:
    """Pages of a slice that never ends; counts those that are read."""

    def __init__(self, job: NamedJob, *, empty: bool = False) -> None:
        self._job, self._empty = job, empty
        self.read = 0

    def scan(self, _part: int, _parts: int) -> Iterator[Sequence[NamedJob]]:
        while True:
            self.read += 1
            yield [] if self._empty else [self._job] * PAGE


@pytest.mark.parametrize("empty", [False, True], ids=["jobs", "other rows"])
def test_it_reads_a_page_when_the_one_before_is_done_and_stops_in_time(
    empty: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = Named()
    clock = named.clockwork.clock
    counted = Counted(named.job, empty=empty)
    scan = counted.scan

    def slow(part: int, parts: int) -> Iterator[Sequence[NamedJob]]:
        for page in scan(part, parts):
            clock.advance(100)
            yield page

    def checks(*_: object) -> bool:
        clock.advance(1)
        return False

    monkeypatch.setattr(named.clockwork.jobs, "scan", slow)
    monkeypatch.setattr(audit, "check_chain", checks)
    deadline_at = clock.at + 10_000 + STOP_MARGIN_MS
    report = audit_chains(named.clockwork.world, deadline_at)
    assert clock.at <= deadline_at - STOP_MARGIN_MS + 101
    pages = 101 if empty else 10
    assert counted.read == pages
    assert report.left == (1 if empty else PAGE - report.audited % PAGE)
    assert report.audited == (0 if empty else 9_001)
