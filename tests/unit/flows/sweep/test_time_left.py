"""Sweeps and their deadlines: each repair begins nothing that the time left may not suffice for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.clients import SPARE_MS, Client
from clockwork.domain.lifecycle.parking import Parked
from clockwork.flows.sweep import shards, unpark
from clockwork.flows.sweep.audit import AuditReport, audit_chains
from clockwork.flows.sweep.deletion import end_client
from clockwork.flows.sweep.shards import Retirements, retire_shards
from clockwork.flows.sweep.sweep import LEAST_SHARE_MS, repair_all
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import ACME
from tests.support.named import Named, jobs_of
from tests.support.regulated import Regulated
from tests.support.shrinking import Shrinking


@pytest.mark.parametrize(("spare_ms", "removed"), [(-1, 0), (0, 0), (1, 4)])
def test_no_shard_is_retired_that_the_time_left_may_not_suffice_for(spare_ms: int, removed: int) -> None:
    shrinking = Shrinking()
    deadline_at = shrinking.clockwork.clock.at + shards.STOP_MARGIN_MS + spare_ms
    assert retire_shards(shrinking.after, deadline_at) == Retirements(removed=removed, kept=4 - removed)


def test_a_kind_of_repair_has_a_share_in_which_it_can_begin_however_little_time_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork, shares = MemoryClockwork(), list[int]()
    began_at = clockwork.clock.at

    def noting(_: object, until: int) -> None:
        shares.append(until - clockwork.clock.at)
        clockwork.clock.at = until

    for name in ("sweep_dead_letters", "audit_chains", "unpark", "retire_shards", "end_too_long"):
        monkeypatch.setattr(f"clockwork.flows.sweep.sweep.{name}", noting)
    repair_all(clockwork.world, began_at + LEAST_SHARE_MS * 5 // 2)
    assert shares == [LEAST_SHARE_MS, LEAST_SHARE_MS, LEAST_SHARE_MS // 2, 0, 0]


def test_the_first_repair_may_use_no_more_than_its_share_and_leaves_what_it_saved_to_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork, shares = MemoryClockwork(), list[int]()

    def noting(_: object, until: int) -> None:
        shares.append(until - clockwork.clock.at)

    for name in ("sweep_dead_letters", "audit_chains", "unpark", "retire_shards", "end_too_long"):
        monkeypatch.setattr(f"clockwork.flows.sweep.sweep.{name}", noting)
    repair_all(clockwork.world, clockwork.clock.at + 240_000)
    assert shares == [40_000, 48_000, 60_000, 80_000, 120_000]


def test_each_client_with_parked_work_has_its_share_of_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork, shares = MemoryClockwork(), list[int]()
    for number in range(3):
        clockwork.clients.put(Client(client_id=f"client-{number}", principals=()))
        clockwork.regulation.note_parked(f"client-{number}", clockwork.clock.at)

    def spending(_world: object, _parked: object, until: int, _report: object) -> bool:
        shares.append(until - clockwork.clock.at)
        clockwork.clock.at = until
        return len(shares) == 2

    monkeypatch.setattr(unpark, "_sweep_client", spending)
    report = unpark.unpark(clockwork.world, clockwork.clock.at + unpark.STOP_MARGIN_MS + 30_000)
    assert shares == [10_000] * 3
    assert report == unpark.UnparkReport(left=2)


@pytest.mark.parametrize(("spare_ms", "released"), [(0, 0), (1, 3)])
def test_no_parked_row_is_read_once_the_time_is_over(spare_ms: int, released: int) -> None:
    regulated = Regulated(paused=True)
    regulated.create(3)
    regulated.run(10)
    regulated.set_client()
    report = unpark.unpark(regulated.clockwork.world, regulated.clockwork.clock.at + unpark.STOP_MARGIN_MS + spare_ms)
    assert report == unpark.UnparkReport(released=released, left=int(not released))
    assert regulated.parked == 3 - released


@pytest.mark.parametrize(("spare_ms", "discarded"), [(0, 0), (1, 3)])
def test_nothing_is_discarded_once_the_time_is_over(spare_ms: int, discarded: int) -> None:
    regulated = Regulated(paused=True)
    regulated.create(3)
    regulated.run(10)
    now = regulated.clockwork.clock.at
    regulated.clockwork.regulation.direct_parked(Parked("acme", discard_until=now))
    report = unpark.unpark(regulated.clockwork.world, now + unpark.STOP_MARGIN_MS + spare_ms)
    assert report == unpark.UnparkReport(discarded=discarded, left=int(not discarded))


def test_parked_work_of_one_client_alone_is_unparked_when_an_admin_asks_for_it() -> None:
    regulated = Regulated(paused=True)
    regulated.create(3)
    regulated.run(10)
    regulated.set_client()
    deadline_at = regulated.clockwork.clock.at + 60_000
    assert unpark.unpark(regulated.clockwork.world, deadline_at, "other") == unpark.UnparkReport()
    assert unpark.unpark(regulated.clockwork.world, deadline_at, "acme") == unpark.UnparkReport(released=3)


class Deleted(Named):
    """A Clockwork whose only client is being deleted; it has three named jobs and no parked work."""

    def __init__(self) -> None:
        super().__init__()
        for number in range(2):
            self.create(f"other-{number}")
        self.clockwork.clients.put(msgspec.structs.replace(ACME, deleting_at=self.start))
        settings = self.clockwork.settings
        known_ms = (settings.client_cache_seconds + settings.api_timeout_seconds) * 1000
        #: From this instant on (ms) nobody knows the client as it was.
        self.settled_at = self.start + known_ms + SPARE_MS

    def end(self, until: int) -> bool:
        client = self.clockwork.clients.get("acme", fresh=True)
        assert client is not None
        return end_client(self.clockwork.world, client, Parked("acme"), until)

    @property
    def alive(self) -> int:
        return sum(job.is_alive for job in jobs_of(self.clockwork, "acme"))


def test_a_client_is_ended_from_the_instant_on_at_which_nobody_knows_it_as_it_was() -> None:
    deleted = Deleted()
    deleted.clockwork.clock.at = deleted.settled_at - 1
    assert (deleted.end(deleted.settled_at + 60_000), deleted.alive) == (False, 3)
    deleted.clockwork.clock.at = deleted.settled_at
    assert (deleted.end(deleted.settled_at + 60_000), deleted.alive) == (True, 0)
    assert list(deleted.clockwork.regulation.parked()) == []


def test_the_jobs_of_a_deleted_client_are_ended_one_by_one_until_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deleted = Deleted()
    clock, jobs = deleted.clockwork.clock, deleted.clockwork.jobs
    clock.at = deleted.settled_at
    assert (deleted.end(clock.at), deleted.alive) == (False, 3)
    save = jobs.save

    def slow(*args: Any) -> bool:
        clock.at += 1_000
        return save(*args)

    monkeypatch.setattr(jobs, "save", slow)
    for alive in (2, 1):
        assert (deleted.end(clock.at + 1_000), deleted.alive) == (False, alive)
    monkeypatch.undo()
    # What was ended before is not read again, and the last job is the end of it.
    behind: list[str | None] = []
    listed = jobs.list

    def noting(client_id: str, state: Any, after: str | None, limit: int) -> Any:
        behind.append(after)
        return listed(client_id, state, after, limit)

    monkeypatch.setattr(jobs, "list", noting)
    assert deleted.end(clock.at + 1)
    assert behind == ["other-1"]


def test_a_job_of_a_deleted_client_that_its_caller_changes_just_now_is_ended_by_the_next_sweep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deleted = Deleted()
    clock, jobs = deleted.clockwork.clock, deleted.clockwork.jobs
    clock.at = deleted.settled_at
    save = jobs.save
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "save", lambda before, after: after.job_key != "other-0" and save(before, after))
        assert not deleted.end(clock.at + 60_000)
        assert [job.job_key for job in jobs_of(deleted.clockwork, "acme") if job.is_alive] == ["other-0"]
    assert (deleted.end(clock.at + 60_000), deleted.alive) == (True, 0)


@pytest.mark.parametrize(("second", "part"), [(0, 0), (119, 0), (120, 1), (86_399, 719), (86_400, 0)])
def test_each_job_has_its_turn_to_be_audited_once_a_day_for_the_time_of_two_sweeps(
    second: int, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = Named()
    assert named.clockwork.settings.sweep_seconds == 60
    day_ms = 86_400_000
    named.clockwork.clock.at = named.start // day_ms * day_ms + second * 1_000
    asked: list[tuple[int, int]] = []

    def scan(turn: int, turns: int) -> list[list[Any]]:
        asked.append((turn, turns))
        return [[]]

    monkeypatch.setattr(named.clockwork.jobs, "scan", scan)
    assert audit_chains(named.clockwork.world, named.clockwork.clock.at + 60_000) == AuditReport()
    assert asked == [(part, 720)]
