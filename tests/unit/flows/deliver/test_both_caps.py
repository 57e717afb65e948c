"""A rate cap beside a concurrency cap: what finds no permit gives its slot up, and takes another once it has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from bench.arrivals.virtual import VirtualClockwork
from clockwork.domain.clients import Client
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import State
from clockwork.domain.limits.concurrency import BLOCK
from clockwork.domain.limits.slots import HARD_MS, Reserved
from clockwork.domain.waits import Line
from clockwork.flows.access import Caller
from clockwork.flows.requests.cancel import cancel_job
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.settings import Settings
from tests.support.examples import ACME, ALICE, NOW, new_job, occurrence, release, release_in, request
from tests.support.regulated import Regulated

MINE = Caller(ALICE, client_ids=frozenset({"acme"}))
WINDOW_MS = 10_000
FAST_MS = (20, 50)


def starts(client: Client, count: int, slow_ms: int, slow_for_ms: int) -> list[int]:
    """When each of a herd starts (ms since it was due): its target takes `slow_ms` at first, and is fast then."""
    virtual = VirtualClockwork(Settings.for_account(), 0, lambda _: FAST_MS if is_fast() else (slow_ms, slow_ms))
    due_at = virtual.now + 180_000

    def is_fast() -> bool:
        return virtual.now >= due_at + slow_for_ms

    virtual.clockwork.clients.put(client)
    jobs = [new_job(delay_ms=180_000) for _ in range(count)]
    wish = msgspec.structs.replace(request(*jobs), client=client)
    create_jobs(virtual.world, wish, ensure_shards(virtual.world))
    virtual.run(ticks=4)
    assert len({delivery.execution_id for delivery, _ in virtual.began}) == len(virtual.began) == count
    return sorted(at - due_at for _, at in virtual.began)


def most_within(window_ms: int, at: Sequence[int]) -> int:
    return max(sum(first <= one < first + window_ms for one in at) for first in at)


@pytest.mark.long
@pytest.mark.parametrize(
    ("rate", "concurrency", "slow_ms", "slow_for_ms"), [(2.0, 4, 20_000, 120_000), (5.0, 10, 10_000, 60_000)]
)
def test_the_rate_is_kept_when_permits_come_free_after_a_long_wait(
    rate: float, concurrency: int, slow_ms: int, slow_for_ms: int
) -> None:
    client = msgspec.structs.replace(ACME, max_rate_per_second=rate, max_concurrency=concurrency)
    at = starts(client, 120, slow_ms, slow_for_ms)
    # A second's worth may start at once, as everywhere.
    assert most_within(WINDOW_MS, at) <= rate * (WINDOW_MS / 1000 + 1)


def test_permits_are_used_although_each_start_needs_a_slot_too() -> None:
    client = msgspec.structs.replace(ACME, max_rate_per_second=10.0, max_concurrency=10)
    at = starts(client, 300, 1_000, 10**9)
    # Thirty seconds at either cap alone. Where all that waits took slots that pass, it would be more than 150.
    assert at[-1] < 130_000


def held_up(regulated: Regulated, for_ms: int) -> None:
    """Somebody else has all permits for so long."""
    now = regulated.clockwork.clock.at
    assert regulated.clockwork.regulation.lease("acme", 0, "other", now, now + for_ms)


def counting(regulated: Regulated, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many slots each reservation asks for."""
    reserve, asked = regulated.clockwork.regulation.reserve, list[int]()

    def counted(client_id: str, count: int, *rest: Any) -> Reserved:
        asked.append(count)
        return reserve(client_id, count, *rest)

    monkeypatch.setattr(regulated.clockwork.regulation, "reserve", counted)
    return asked


def waiting(regulated: Regulated) -> list[Any]:
    return [release_in(message.body) for message in regulated.clockwork.queue.messages.values()]


@pytest.mark.parametrize("record", ["full", "none"])
def test_what_waits_for_a_permit_has_no_slot_and_takes_one_when_it_has_a_permit(
    record: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    regulated = Regulated(max_rate_per_second=1.0, max_concurrency=BLOCK)
    asked = counting(regulated, monkeypatch)
    held_up(regulated, 120_000)
    regulated.create(1, record=record)
    assert regulated.run(100) == []
    (one,) = waiting(regulated)
    assert (one.waits.paced, one.waits.permits > 5, one.waits.line.place) == (False, True, regulated.start + 5_000)
    # One slot that passed, however often it came back.
    assert asked == [1]
    assert len(regulated.run(60)) == 1
    assert asked == [1, 1]


def test_what_has_a_permit_and_no_slot_near_gives_the_permit_back_and_comes_for_its_slot() -> None:
    regulated = Regulated(max_rate_per_second=0.1, max_concurrency=BLOCK)
    regulation = regulated.clockwork.regulation
    held_up(regulated, 10_000)
    regulated.create(1)
    regulated.run(8)
    # Others of the client have taken the next slots meanwhile.
    now = regulated.clockwork.clock.at
    taken = regulation.reserve("acme", 3, 10_000, now)
    regulated.run(10)
    (one,) = waiting(regulated)
    assert (one.waits.paced, one.run_at) == (True, taken.first_at + 30_000)
    assert regulation.lease("acme", 0, "another", regulated.clockwork.clock.at, regulated.clockwork.clock.at + 1)
    assert len(regulated.run(40)) == 1


def test_what_is_cancelled_while_it_waits_for_a_permit_takes_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated(max_rate_per_second=1.0, max_concurrency=BLOCK)
    asked = counting(regulated, monkeypatch)
    held_up(regulated, 60_000)
    (job_id,) = regulated.create(1)
    regulated.run(30)
    assert cancel_job(regulated.clockwork.world, MINE, job_id).verdict == "cancelled"
    assert regulated.run(120) == []
    assert asked == [1]
    assert regulated.states() == {State.CANCELLED}


def test_a_rate_cap_that_is_taken_away_holds_up_nothing_that_waits_for_a_permit() -> None:
    regulated = Regulated(max_rate_per_second=0.02, max_concurrency=BLOCK)
    held_up(regulated, 20_000)
    regulated.create(3)
    regulated.run(15)
    regulated.set_client(max_concurrency=BLOCK)
    assert len(regulated.run(60)) == 3


@pytest.mark.parametrize("error", [Unavailable("throttled"), ValueError("odd")], ids=str)
def test_slots_that_cannot_be_reserved_fail_what_has_a_permit_and_nothing_that_was_sent_back(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    regulated = Regulated(max_rate_per_second=100.0, max_concurrency=2)
    clockwork = regulated.clockwork
    held_up(regulated, 10_000)
    regulated.create(5)
    regulated.run(6)
    assert all(one.waits.permits and not one.waits.paced for one in waiting(regulated))
    clockwork.regulation.give_back("acme", 0, "other")
    clockwork.world.environment.none_free_until.clear()
    clockwork.clock.at = max(one.visible_at for one in clockwork.queue.messages.values())

    def fails(*_: Any) -> Reserved:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(clockwork.regulation, "reserve", fails)
        report = clockwork.deliver_visible()
    assert (len(report.failed_messages), report.deferred) == (2, 3)
    assert len(clockwork.queue.messages) == 5
    assert clockwork.regulation.lease("acme", 0, "another", clockwork.clock.at, clockwork.clock.at)
    assert len(regulated.run(600)) == 5


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (None, Line(NOW + 9_000, NOW)),
        (Line(None, NOW + 2), Line(NOW + 9_000, NOW + 2)),
        (Line(NOW + 4_000, NOW + 3), Line(NOW + 4_000, NOW + 3)),
        (Line(NOW + 2 * HARD_MS, NOW + 3), Line(NOW + 9_000, NOW + 3)),
    ],
)
def test_what_gives_its_slot_up_keeps_its_turn(line: Line | None, expected: Line) -> None:
    paced = release(occurrence=occurrence(), run_at=NOW + 9_000, paced=True, line=line)
    assert paced.without_slot() == paced.waiting(paced=False, line=expected)
    unpaced = paced.waiting(paced=False)
    assert unpaced.without_slot() is unpaced
