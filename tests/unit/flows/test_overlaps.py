"""`overlap: skip`: how far back it looks for an execution that is still under way."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from clockwork.domain.executions import Execution, State
from clockwork.domain.fires.chains import release_at, run_of
from clockwork.domain.ids import ExecutionId
from clockwork.domain.named.overlaps import WAITS, last_through_ref
from clockwork.domain.releases import Release
from clockwork.flows.overlaps import EARLIER, MORE_EARLIER, MOST_EARLIER, is_let_through, may_be_let_through
from tests.support.named import Named, execution_of


def record(named: Named, second: int, state: State, run: str = "0", reason: str | None = None) -> Execution:
    due_at = named.start + second * 1_000
    stored = msgspec.structs.replace(
        execution_of(named.job, due_at, state),
        execution_id=str(ExecutionId(named.job.job_id, due_at, run)),
        reason=reason,
        claim_until=due_at * 2 if state is State.RUNNING else None,
    )
    assert named.clockwork.executions.save([(None, stored)])[0].ok
    return stored


def fire(named: Named, second: int) -> Release:
    return release_at(named.job, named.start + second * 1_000)


def goes(named: Named, release: Release) -> bool:
    """Whether it is let through; asked twice, since asking without a claim says the same."""
    world = named.clockwork.world
    may = may_be_let_through(world, release)
    assert is_let_through(world, release, _no_replans()) is may
    return may


def _no_replans() -> Iterator[int]:
    return iter(range(1))


def overlapping() -> Named:
    return Named(overlap="skip")


@pytest.mark.parametrize(
    ("state", "is_let"),
    [
        (State.RUNNING, False),
        (State.PENDING, False),
        (State.FAILED, False),
        (State.PARKED, False),
        (State.SUCCEEDED, True),
        (State.DEAD, True),
        (State.SKIPPED, True),
    ],
)
def test_a_fire_goes_if_the_one_before_has_ended(state: State, is_let: bool) -> None:
    named = overlapping()
    record(named, 10, state)
    assert goes(named, fire(named, 20)) is is_let


def test_a_claim_whose_time_is_long_over_holds_nobody_back() -> None:
    named = overlapping()
    record(named, 10, State.RUNNING)
    named.clockwork.clock.at = named.start * 3
    assert goes(named, fire(named, 20))


def test_a_fire_that_was_let_through_is_let_through_again_when_its_message_comes_back() -> None:
    named = overlapping()
    assert goes(named, fire(named, 20))
    record(named, 10, State.RUNNING)
    assert goes(named, fire(named, 20))
    assert not goes(named, fire(named, 30))


def test_the_one_that_was_let_through_last_holds_back_also_those_that_are_due_before_it() -> None:
    named = overlapping()
    by_hand = run_of(named.job, named.start + 50_000, named.start + 50_000, "r1")
    assert goes(named, by_hand)
    running = record(named, 50, State.RUNNING, "r1")
    assert not goes(named, fire(named, 20))
    ended = running.changed(state=State.SUCCEEDED)
    assert named.clockwork.executions.save([(running, ended)])[0].ok
    assert goes(named, fire(named, 20))
    named_now = named.clockwork.executions.find(*last_through_ref(named.job.job_id))
    assert named_now is not None
    assert named_now.reason == fire(named, 20).execution_id


@pytest.mark.parametrize("hidden_by", [1, EARLIER - 1, EARLIER, EARLIER + MORE_EARLIER - 1, EARLIER + MORE_EARLIER])
@pytest.mark.parametrize(("state", "reason"), [(State.SKIPPED, None), (State.PENDING, WAITS)])
def test_what_runs_is_found_behind_those_that_were_skipped_or_wait_because_of_it(
    hidden_by: int, state: State, reason: str | None
) -> None:
    named = overlapping()
    record(named, 10, State.RUNNING)
    for number in range(hidden_by):
        record(named, 20 + number, state, reason=reason)
    assert not goes(named, fire(named, 20 + hidden_by))


def test_the_look_back_ends_at_executions_that_nothing_hides_behind_and_at_so_many() -> None:
    named = overlapping()
    record(named, 0, State.RUNNING)
    for number in range(EARLIER):
        record(named, 1 + number, State.SUCCEEDED)
    asked: list[int] = []
    listed = named.clockwork.executions.list

    def counting(job_id: str, limit: int, before: str | None) -> object:
        asked.append(limit)
        return listed(job_id, limit, before)

    named.clockwork.executions.list = counting  # type: ignore[method-assign, assignment]
    assert may_be_let_through(named.clockwork.world, fire(named, 20))
    assert asked == [EARLIER]
    for number in range(MOST_EARLIER + MORE_EARLIER):
        record(named, 100 + number, State.SKIPPED)
    asked.clear()
    assert may_be_let_through(named.clockwork.world, fire(named, 5_000))
    assert asked == [EARLIER, *[MORE_EARLIER] * (MOST_EARLIER // MORE_EARLIER)]
