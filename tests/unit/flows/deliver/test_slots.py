"""Slots a minute ahead at most, and the line of those that find none: when they come back, and who goes first."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import State
from clockwork.domain.lifecycle.attempts import Claim, plan_claim, plan_unclaimed_outcome
from clockwork.domain.limits.slots import (
    AFTER_TURN_MS,
    HARD_MS,
    LEAST_BACK_MS,
    MOST_BACK_MS,
    SOONEST_MS,
    TURN_MS,
    WAITED_MS,
    back_at,
)
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Deliver
from clockwork.domain.waits import Line
from clockwork.flows.access import Caller
from clockwork.flows.deliver.slots import NEARER_MS
from clockwork.flows.requests.cancel import cancel_job
from tests.support.examples import ALICE, NOW, failure, occurrence, release, release_in
from tests.support.regulated import Regulated

MINE = Caller(ALICE, client_ids=frozenset({"acme"}))
MINUTE_MS = 60_000


def waiting_in(regulated: Regulated) -> list[Deliver]:
    return [release_in(message.body) for message in regulated.clockwork.queue.messages.values()]


def next_slot_at(regulated: Regulated) -> int:
    return regulated.clockwork.regulation._next_slot_us["acme"] // 1000


def counting(regulated: Regulated, name: str, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The instants of the calls of `regulation` under this name from now on."""
    call, called_at = getattr(regulated.clockwork.regulation, name), list[int]()

    def noted(*asked: Any) -> Any:
        called_at.append(regulated.clockwork.clock.at)
        return call(*asked)

    monkeypatch.setattr(regulated.clockwork.regulation, name, noted)
    return called_at


def test_no_slot_lies_more_than_a_minute_ahead() -> None:
    regulated = Regulated(max_rate_per_second=1.0)
    regulated.create(200)
    for _ in range(40):
        regulated.run(5)
        now = regulated.clockwork.clock.at
        slots = [one.run_at for one in waiting_in(regulated) if one.waits.paced]
        assert all(slot <= now + HARD_MS for slot in slots)
        if now > regulated.start + 6_000 and waiting_in(regulated):
            assert next_slot_at(regulated) <= now + HARD_MS + 1_000
    assert len(regulated.run(60)) > 0


def test_a_line_uses_the_whole_cap_and_nobody_of_it_starves() -> None:
    regulated = Regulated(max_rate_per_second=1.0)
    regulated.create(300)
    assert len(regulated.run(5 + 300 + 2)) == 300


def test_a_place_is_given_once_and_kept_at_every_return() -> None:
    regulated = Regulated(max_rate_per_second=0.5)
    regulated.create(100)
    places: dict[str, set[Line]] = {}
    returns: Counter[str] = Counter()
    for _ in range(100):
        before = {one.job_id: one.run_at for one in waiting_in(regulated)}
        regulated.run(2)
        for one in waiting_in(regulated):
            if one.waits.line is not None and one.waits.line.place is not None:
                places.setdefault(one.job_id, set()).add(one.waits.line)
                returns[one.job_id] += before.get(one.job_id) != one.run_at
    assert len(places) >= 60
    assert all(len(lines) == 1 for lines in places.values())
    assert max(returns.values()) > 3
    by_place = sorted(line.place or 0 for lines in places.values() for line in lines)
    assert all(later - earlier >= 1_999 for earlier, later in pairwise(by_place))


def test_what_is_cancelled_in_the_line_takes_no_slot_and_the_rest_need_not_wait_for_it() -> None:
    regulated = Regulated(max_rate_per_second=1.0)
    jobs = regulated.create(300)
    regulated.run(10)
    for job_id in jobs[:290]:
        assert cancel_job(regulated.clockwork.world, MINE, job_id).verdict in ("cancelled", "too_late")
    regulated.run(80)
    assert {job.job_id for job in regulated.clockwork.targets.delivered} >= set(jobs[290:])
    assert not waiting_in(regulated)
    # Those that had their slots when they were cancelled wasted them: a minute's at most.
    assert next_slot_at(regulated) <= regulated.start + 15_000 + HARD_MS + 10_000


def test_a_raised_cap_acts_within_a_minute() -> None:
    regulated = Regulated(max_rate_per_second=1.0)
    regulated.create(500)
    assert len(regulated.run(25)) < 30
    regulated.set_client(max_rate_per_second=100.0)
    regulated.run(60 + 10)
    assert len(regulated.clockwork.targets.delivered) == 500


@pytest.mark.long
def test_a_cap_that_is_lowered_holds_for_what_has_a_place_already() -> None:
    regulated = Regulated(max_rate_per_second=10.0)
    regulated.create(1_000)
    regulated.run(10)
    regulated.set_client(max_rate_per_second=1.0)
    # A minute's slots are taken at the old cap at most.
    assert len(regulated.run(60)) <= 600
    assert len(regulated.run(60)) <= 61


@pytest.mark.parametrize("max_concurrency", [None, 1])
def test_the_record_of_what_waited_is_asked_before_it_takes_a_slot_or_a_permit(
    max_concurrency: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    regulated = Regulated(max_rate_per_second=0.1, max_concurrency=max_concurrency)
    regulated.accepts = False
    (job_id,) = regulated.create(1, retry_policy=RetryPolicy(max_attempts=5, backoff="none", initial_seconds=60.0))
    assert len(regulated.run(10)) == 1
    assert cancel_job(regulated.clockwork.world, MINE, job_id).verdict == "cancelled"
    regulation, asked = regulated.clockwork.regulation, []
    for name in ("reserve", "lease", "line_up"):

        def noted(*_: Any, name: str = name, **__: Any) -> None:
            asked.append(name)

        monkeypatch.setattr(regulation, name, noted)
    regulated.run(120)
    assert asked == []
    assert not waiting_in(regulated)
    assert regulated.states() == {State.CANCELLED}


def test_what_has_a_slot_and_was_cancelled_holds_no_permit(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated(max_rate_per_second=0.1, max_concurrency=1)
    jobs = regulated.create(3)
    regulated.run(6)
    (last,) = [one for one in waiting_in(regulated) if one.run_at == max(w.run_at for w in waiting_in(regulated))]
    assert last.waits.paced
    assert last.job_id in jobs
    assert cancel_job(regulated.clockwork.world, MINE, last.job_id).verdict == "cancelled"
    leased = counting(regulated, "lease", monkeypatch)
    assert len(regulated.run(30)) == 1
    assert len(leased) == 1


@pytest.mark.long
def test_returns_of_a_line_write_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated(max_rate_per_second=1.0)
    made: Counter[str] = Counter()
    for name in ("reserve", "line_up"):
        call = getattr(regulated.clockwork.regulation, name)

        def counted(*asked: Any, name: str = name, call: Any = call) -> Any:
            made[name] += 1
            return call(*asked)

        monkeypatch.setattr(regulated.clockwork.regulation, name, counted)
    regulated.create(1_000)
    regulated.run(67)
    # Each batch of those that have no place yet is given its places at once.
    assert made["line_up"] <= 940 / 8
    placed = made["line_up"]
    regulated.run(120)
    assert made["line_up"] == placed
    # A reservation a second, as the next slot comes within reach, and not one for each of 900 that come back.
    assert made["reserve"] <= 2 * 190


@pytest.mark.parametrize(
    ("rest_ms", "waited_ms", "window_s", "least", "most"),
    [
        (10_000_000, 0, None, 0.9 * LEAST_BACK_MS, 1.1 * LEAST_BACK_MS),
        (10_000_000, 200_000, None, 90_000, 110_000),
        (400_000, 10_000_000, None, 90_000, 110_000),
        (10_000_000, 10_000_000, None, 0.9 * MOST_BACK_MS, MOST_BACK_MS),
        (21_000, 200_000, None, 21_000, 21_000),
        (1, 200_000, None, SOONEST_MS, SOONEST_MS),
        (-5_000_000, 10_000_000, None, 0.9 * LEAST_BACK_MS, 1.1 * LEAST_BACK_MS),
        # Its window ends: it comes back for what is left of it.
        (10_000_000, 0, 100.0, 0.9 * LEAST_BACK_MS, 1.1 * LEAST_BACK_MS),
        (10_000_000, 400_000, 100.0, 100_000 - WAITED_MS, 100_000 - WAITED_MS),
        (10_000_000, 0, 20.0, 10_000, 10_000),
        (10_000_000, 0, 1.0, SOONEST_MS, SOONEST_MS),
    ],
)
def test_when_it_comes_back(rest_ms: int, waited_ms: int, window_s: float | None, least: float, most: float) -> None:
    of = occurrence(due_at=NOW, created_at=NOW, relevancy_window_seconds=window_s)
    for fraction in (0.0, 0.5, 0.999):
        place = NOW + rest_ms + TURN_MS - AFTER_TURN_MS
        at = back_at(release(occurrence=of), place, NOW - waited_ms, NOW, fraction)
        assert least - 1 <= at - NOW <= most + 1


def test_a_window_that_ends_in_the_line_ends_the_job_or_gets_a_slot_before() -> None:
    regulated = Regulated(max_rate_per_second=1.0)
    regulated.create(300)
    regulated.run(20)
    (job_id,) = regulated.create(1, delay_ms=1_000, relevancy_window_seconds=100.0)
    regulated.run(110)
    record = next(one for one in regulated.clockwork.executions.all() if one.job_id == job_id)
    assert record.state in (State.SUCCEEDED, State.EXPIRED)
    late = [one for one in record.attempts if one.started_at > record.due_at + 100_000]
    assert late == []


def test_an_environment_that_knows_that_no_slot_is_near_asks_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated(max_rate_per_second=0.1)
    regulated.create(10)
    regulated.run(8)
    asked = counting(regulated, "reserve", monkeypatch)
    regulated.create(50, delay_ms=1_000)
    regulated.run(4)
    assert asked == []
    free_at = next_slot_at(regulated)
    regulated.run(60)
    assert asked
    assert min(asked) >= free_at + NEARER_MS - HARD_MS


def test_a_line_is_forgotten_where_slots_pass_unused() -> None:
    regulated = Regulated(max_rate_per_second=1.0)
    regulated.create(500)
    regulated.run(60)
    assert regulated.clockwork.regulation._line_us["acme"] > (regulated.start + 400_000) * 1000
    regulated.set_client(max_rate_per_second=100.0)
    regulated.run(100)
    assert not waiting_in(regulated)
    regulated.create(1, delay_ms=1_000)
    assert len(regulated.run(2)) == 1
    assert "acme" not in regulated.clockwork.regulation._line_us


def test_a_retry_takes_a_place_of_its_own() -> None:
    waiting = release(occurrence=occurrence(record="none"), line=Line(NOW + MINUTE_MS, NOW), run_at=NOW + 20_000)
    assert waiting.has_waited
    failed = failure(started_at=NOW + 20_000, ended_at=NOW + 20_000)
    again = plan_unclaimed_outcome(waiting, failed, NOW + 20_000, 0.0, NOW + 10**9).release
    assert isinstance(again, Deliver)
    assert (again.attempt, again.waits.line, again.waits.paced) == (2, None, False)


def test_a_copy_that_comes_back_for_anothers_claim_keeps_its_place() -> None:
    waiting = release(occurrence=occurrence(), line=Line(NOW + MINUTE_MS, NOW), run_at=NOW + 20_000)
    claim = Claim("one", NOW + 30_000, NOW + 20_000, NOW + 10**9)
    running = plan_claim(waiting, None, claim).execution
    assert running is not None
    assert (running.waits.line, running.waits.paced) == (None, False)
    deferred = plan_claim(waiting, running, msgspec.structs.replace(claim, claimant="two")).release
    assert isinstance(deferred, Deliver)
    assert deferred.waits.line == waiting.waits.line
