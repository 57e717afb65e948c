"""`overlap: skip`: which executions a look finds under way, and how much it reads."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Attempt, Claimed, Execution, State
from clockwork.domain.fires.chains import release_at, run_of
from clockwork.domain.ids import ExecutionId
from clockwork.domain.named.overlaps import NOT_KNOWN, UNDER_WAY, WAITS, Entrant, entrant_of, turned
from clockwork.domain.named_jobs import NamedJob, Turnstile
from clockwork.domain.ordering import order_of
from clockwork.domain.releases import Release
from clockwork.domain.waits import Waiting
from clockwork.flows.overlaps import FIRST_READ, MOST_READ, look_for_a_way, note_ended, why_not_through
from tests.support.examples import changed
from tests.support.named import Named, execution_of

#: Seconds of claims: the one is surely later than a change in second 40, the other one may be earlier by its clock.
CLAIMED_AFTER, CLAIMED_ABOUT = 60, 42


def record(
    named: Named,
    second: float,
    state: State,
    run: str = "0",
    reason: str | None = None,
    *,
    tried: int = 0,
    order: str | None = None,
) -> Execution:
    """A record of the job. `tried`: the number of its last attempt that has ended; 0: none has."""
    due_at = named.start + int(second * 1_000)
    stored = msgspec.structs.replace(
        execution_of(named.job, due_at, state),
        execution_id=str(ExecutionId(named.job.job_id, due_at, run)),
        reason=reason,
        claim=Claimed("me", due_at * 2, due_at) if state is State.RUNNING else None,
        attempts=(Attempt(tried, State.FAILED, due_at, due_at + 1),) if tried else (),
        waits=Waiting(order=order),
    )
    assert named.clockwork.executions.save([(None, stored)])[0].ok
    return stored


def end(named: Named, stored: Execution) -> None:
    assert named.clockwork.executions.save([(stored, stored.changed(state=State.SUCCEEDED))])[0].ok


def fire(named: Named, second: int) -> Release:
    return release_at(named.job, named.start + second * 1_000)


def entrant(named: Named, release: Release) -> Entrant:
    order = order_of(release.occurrence.ordering_key, "", ())
    return entrant_of(release, named.clockwork.executions.find(release.job_id, release.execution_id), order)


def why_not(named: Named, release: Release, job: NamedJob | None = None) -> str | None:
    return why_not_through(named.clockwork.world, entrant(named, release), job or named.job, _replans())


def goes(named: Named, release: Release, job: NamedJob | None = None) -> bool:
    """Whether it is let through; asked twice, since asking without a claim says the same."""
    may = look_for_a_way(named.clockwork.world, entrant(named, release), job or named.job)
    assert (why_not(named, release, job) is None) is may
    return may


def _replans() -> Iterator[int]:
    yield 1
    raise Unavailable("it keeps changing")


def stile(named: Named) -> Turnstile | None:
    return named.clockwork.turnstiles.stored.get(named.job.job_id)


def overlapping() -> Named:
    return Named(overlap="skip")


def since(named: Named, second: int) -> NamedJob:
    """The job as one that became `overlap: skip` at that second."""
    return msgspec.structs.replace(named.job, skips_from=2, skips_from_at=named.start + second * 1_000)


def reads_of(named: Named, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    asked: list[int] = []
    between = named.clockwork.executions.between

    def counting(job_id: str, first: str, last: str, limit: int) -> object:
        asked.append(limit)
        return between(job_id, first, last, limit)

    monkeypatch.setattr(named.clockwork.executions, "between", counting)
    return asked


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


def test_an_execution_whose_deliverer_was_lost_holds_others_back_until_it_has_ended() -> None:
    named = overlapping()
    lost = record(named, 10, State.RUNNING)
    named.clockwork.clock.at = named.start * 3
    assert not goes(named, fire(named, 20))
    end(named, lost)
    assert goes(named, fire(named, 20))


def test_a_fire_that_was_let_through_is_let_through_again_when_its_message_comes_back() -> None:
    named = overlapping()
    record(named, 20, State.RUNNING)
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
    end(named, running)
    assert goes(named, fire(named, 20))
    named_now = stile(named)
    assert named_now is not None
    assert named_now.last == fire(named, 20).execution_id


@pytest.mark.parametrize("hidden_by", [1, FIRST_READ - 1, FIRST_READ, 150, MOST_READ + FIRST_READ + 5])
@pytest.mark.parametrize(
    ("state", "reason"), [(State.SKIPPED, None), (State.PENDING, WAITS), (State.SUCCEEDED, None), (State.DEAD, None)]
)
def test_what_runs_is_found_behind_whatever_came_since(hidden_by: int, state: State, reason: str | None) -> None:
    named = overlapping()
    running = record(named, 10, State.RUNNING)
    for number in range(hidden_by):
        record(named, 20 + number, state, reason=reason)
    last = fire(named, 20 + hidden_by)
    assert not goes(named, last)
    end(named, running)
    looks = 0
    while why_not(named, last) is not None:
        looks += 1
        assert looks <= hidden_by // MOST_READ
    assert looks == hidden_by // MOST_READ
    assert goes(named, last)


@pytest.mark.parametrize("waiting", [1, FIRST_READ, 150])
def test_nobody_waits_for_those_that_wait_for_others(waiting: int) -> None:
    named = overlapping()
    for number in range(waiting):
        record(named, number, State.PENDING, "b1", WAITS)
    assert goes(named, fire(named, 200))


def test_what_waits_for_others_between_two_attempts_holds_back_all_that_has_not_begun() -> None:
    named = overlapping()
    begun = record(named, 10, State.PENDING, "b1", WAITS, tried=1)
    job = since(named, 15)
    assert not goes(named, fire(named, 5), job)
    assert not goes(named, fire(named, 20), job)
    again = run_of(job, named.start + 10_000, named.start + 30_000, "b1")
    assert again.execution_id == begun.execution_id
    assert goes(named, again, job)
    end(named, begun)
    assert goes(named, fire(named, 20), job)


def _looks_before_a_write(named: Named, before: Execution, monkeypatch: pytest.MonkeyPatch, *lost: Attempt) -> None:
    """An execution that is named begins an attempt while a later one, which has read its record, goes to replace it."""
    first, other = fire(named, 10), fire(named, 20)
    assert goes(named, first)
    record(named, 20, State.RUNNING)
    put = named.clockwork.turnstiles.put

    def overtaken(found: object, after: Turnstile) -> bool:
        monkeypatch.setattr(named.clockwork.turnstiles, "put", put)
        now = named.start + 20_000
        claim = Claimed("me", now * 2, now)
        start = before.attempts[-1].number if before.state is State.DEAD else 0
        after_it = changed(before, state=State.RUNNING, budget_from=start, claim=claim)
        again = msgspec.structs.replace(after_it, attempts=(*before.attempts, *lost))
        assert named.clockwork.executions.save([(before, again)])[0].ok
        assert why_not(named, first) is None
        return put(found, after)

    monkeypatch.setattr(named.clockwork.turnstiles, "put", overtaken)
    assert why_not(named, other) == UNDER_WAY


def test_of_a_redrive_and_another_one_that_look_at_once_one_is_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    named = overlapping()
    _looks_before_a_write(named, record(named, 10, State.DEAD, tried=3), monkeypatch)


def test_a_redrive_whose_first_claim_was_lost_is_let_through_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    named = overlapping()
    dead = record(named, 10, State.DEAD, tried=3)
    _looks_before_a_write(named, dead, monkeypatch, Attempt(4, State.WORKER_LOST, dead.due_at, dead.due_at))


def test_what_was_redriven_begins_anew() -> None:
    named = overlapping()
    dead = record(named, 10, State.DEAD, "b1", tried=3)
    waiting = changed(dead, state=State.PENDING, reason=WAITS, budget_from=3)
    assert named.clockwork.executions.save([(dead, waiting)])[0].ok
    assert goes(named, fire(named, 20))
    record(named, 20, State.FAILED, tried=1)
    assert not goes(named, run_of(named.job, named.start + 10_000, named.start + 30_000, "b1"))


@pytest.mark.parametrize("order_before", [None, "/another", "kafka/k"])
@pytest.mark.parametrize("state", [State.WORKER_LOST, State.FAILED, State.RUNNING])
@pytest.mark.parametrize("begun_at", [5, 20])
def test_one_of_an_order_waits_for_what_has_begun_outside_it(
    state: State, begun_at: int, order_before: str | None
) -> None:
    """The job had another key, another target, or no order: that one does not lie behind."""
    named = Named(overlap="skip", ordering_key="k", sequence=1)
    begun = record(named, begun_at, state, tried=0 if state is State.RUNNING else 1, order=order_before)
    _is_named(named, begun)
    named.clockwork.clock.at = named.start * 3
    assert not goes(named, fire(named, 10))
    end(named, begun)
    assert goes(named, fire(named, 10))


def _is_named(named: Named, begun: Execution) -> None:
    named.clockwork.turnstiles.put(
        None, turned(named.job, None, begun.execution_id, named.start * 9, begun.execution_id)
    )


@pytest.mark.parametrize("state", [State.WORKER_LOST, State.FAILED, State.RUNNING])
@pytest.mark.parametrize("begun_at", [5, 20])
def test_one_of_an_order_does_not_wait_for_what_lies_behind_it(state: State, begun_at: int) -> None:
    named = Named(overlap="skip", ordering_key="k", sequence=1)
    begun = record(named, begun_at, state, tried=0 if state is State.RUNNING else 1, order="/k")
    _is_named(named, begun)
    assert goes(named, fire(named, 10)) is (state is not State.RUNNING)
    named.clockwork.clock.at = named.start * 3
    assert goes(named, fire(named, 10))


def test_one_of_an_order_does_not_wait_for_what_has_not_begun_in_another_one() -> None:
    """A redriven one may lie behind the head of that order, which waits for this one."""
    named = Named(overlap="skip", ordering_key="k", sequence=1)
    record(named, 5, State.PENDING, reason="redriven", order="/another")
    assert goes(named, fire(named, 20))
    unordered = msgspec.structs.replace(named.job.definition, ordering_key=None, sequence=None)
    named.job = msgspec.structs.replace(named.job, definition=unordered)
    assert not goes(named, fire(named, 30))


def test_a_look_reads_many_records_once_and_the_next_one_goes_on_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    named = overlapping()
    for number in range(2 * MOST_READ + 500):
        record(named, number, State.SUCCEEDED)
    asked = reads_of(named, monkeypatch)
    last = fire(named, 5_000)
    assert [why_not(named, last) for _ in range(3)] == [NOT_KNOWN, NOT_KNOWN, None]
    assert asked == [FIRST_READ, MOST_READ] * 3
    record(named, 5_000, State.SUCCEEDED)
    asked.clear()
    assert why_not(named, fire(named, 5_001)) is None
    assert asked == [FIRST_READ]


def test_to_ask_without_a_claim_gets_on_as_well() -> None:
    named = overlapping()
    for number in range(MOST_READ + 500):
        record(named, number, State.SUCCEEDED)
    last = fire(named, 5_000)
    assert [look_for_a_way(named.clockwork.world, entrant(named, last), named.job) for _ in range(2)] == [
        False,
        True,
    ]


@pytest.mark.parametrize("is_noted", [True, False], ids=["the change noted it", "the change died before"])
def test_what_had_begun_before_its_job_became_skip_holds_back_all_that_begins_since(is_noted: bool) -> None:
    named = overlapping()
    old = record(named, 10, State.FAILED, tried=1)
    for number in range(30):
        record(named, 20 + number, State.SUCCEEDED)
    later = record(named, 55, State.RUNNING)
    job = since(named, 60)
    # It was `overlap: skip` before, and let others through.
    named.clockwork.turnstiles.put(None, turned(named.job, None, later.execution_id, 0, through=old.execution_id))
    if is_noted:
        note_ended(named.clockwork.world, job, [later, old])
        noted = stile(named)
        assert noted is not None
        assert (noted.ended_before, noted.skips_from, noted.last) == (old.execution_id, 2, None)
    backfilled = run_of(job, named.start + 5_000, named.start + 70_000, "b1")
    assert [why_not(named, one, job) for one in (fire(named, 70), backfilled)] == [UNDER_WAY] * 2
    end(named, old)
    assert [why_not(named, one, job) for one in (fire(named, 70), backfilled)] == [UNDER_WAY] * 2
    end(named, later)
    assert goes(named, fire(named, 70), job)


@pytest.mark.parametrize("is_noted", [True, False], ids=["the change noted it", "the change died before"])
def test_what_was_let_through_before_its_job_became_allow_is_let_through_anew(is_noted: bool) -> None:
    named = overlapping()
    old = record(named, 20, State.FAILED, tried=1)
    assert goes(named, fire(named, 20))
    running = record(named, 30, State.RUNNING)
    job = since(named, 40)
    if is_noted:
        note_ended(named.clockwork.world, job, [running, old])
    assert why_not(named, fire(named, 20), job) == UNDER_WAY
    end(named, running)
    assert goes(named, fire(named, 20), job)


def test_the_row_of_before_a_change_drops_no_name_of_since() -> None:
    named = overlapping()
    job = since(named, 40)
    by_hand = run_of(job, named.start + 60_000, named.start + 60_000, "r1")
    assert goes(named, by_hand, job)
    running = record(named, 60, State.RUNNING, "r1")
    assert why_not(named, fire(named, 50)) == UNDER_WAY
    kept = stile(named)
    assert kept is not None
    assert (kept.last, kept.skips_from) == (running.execution_id, 2)
    end(named, running)
    assert goes(named, fire(named, 50))
    kept = stile(named)
    assert kept is not None
    assert kept.skips_from == 2


def test_what_began_by_a_clock_that_is_ahead_of_the_change_holds_back_what_is_due_before_it() -> None:
    named = overlapping()
    running = record(named, 43, State.RUNNING)
    job = since(named, 40)
    note_ended(named.clockwork.world, job, [running])
    assert why_not(named, fire(named, 41), job) == UNDER_WAY
    end(named, running)
    assert goes(named, fire(named, 41), job)


def test_of_two_that_wait_for_their_retries_the_one_that_is_due_first_goes() -> None:
    named = overlapping()
    record(named, 10, State.FAILED, tried=1)
    record(named, 20, State.FAILED, tried=1)
    job = since(named, 25)
    assert why_not(named, fire(named, 20), job) == UNDER_WAY
    assert goes(named, fire(named, 10), job)


def test_of_two_that_wait_the_one_that_has_begun_goes() -> None:
    named = overlapping()
    record(named, 10, State.PARKED)
    record(named, 20, State.FAILED, tried=1)
    job = since(named, 25)
    assert why_not(named, fire(named, 10), job) == UNDER_WAY
    assert goes(named, fire(named, 20), job)


def claimed(named: Named, second: int, at: int, *, tried: int = 0, as_it_was: bool = False) -> Execution:
    """A record with a live claim that was made in the second `at`."""
    running = record(named, second, State.RUNNING, tried=tried)
    started = changed(running, started_at=named.start + at * 1_000, source="record" if as_it_was else "job")
    assert named.clockwork.executions.save([(running, started)])[0].ok
    return started


@pytest.mark.parametrize(("tried_early", "tried_late"), [(1, 1), (0, 0), (1, 0)])
def test_of_two_claims_that_look_the_one_that_is_due_first_goes(tried_early: int, tried_late: int) -> None:
    named = overlapping()
    claimed(named, 10, CLAIMED_AFTER, tried=tried_early)
    claimed(named, 20, CLAIMED_AFTER, tried=tried_late)
    job = since(named, 40)
    assert why_not(named, fire(named, 20), job) == UNDER_WAY
    assert goes(named, fire(named, 10), job)
    assert why_not(named, fire(named, 20), job) == UNDER_WAY


def test_of_two_claims_that_look_the_one_that_has_begun_goes() -> None:
    named = overlapping()
    claimed(named, 10, CLAIMED_AFTER)
    claimed(named, 20, CLAIMED_AFTER, tried=1)
    job = since(named, 40)
    assert why_not(named, fire(named, 10), job) == UNDER_WAY
    assert goes(named, fire(named, 20), job)


def test_a_claim_of_about_the_change_may_run_and_stops_others() -> None:
    named = overlapping()
    claimed(named, 10, CLAIMED_AFTER, tried=1)
    before = claimed(named, 20, CLAIMED_ABOUT, tried=1)
    job = since(named, 40)
    assert why_not(named, fire(named, 10), job) == UNDER_WAY
    end(named, before)
    assert goes(named, fire(named, 10), job)


def test_a_claim_that_was_let_through_stops_those_that_are_due_before_it() -> None:
    named = overlapping()
    claimed(named, 20, CLAIMED_AFTER, tried=1)
    job = since(named, 40)
    assert goes(named, fire(named, 20), job)
    claimed(named, 10, CLAIMED_AFTER, tried=1)
    assert why_not(named, fire(named, 10), job) == UNDER_WAY


def test_a_redrive_of_the_record_as_it_was_does_not_look_so_its_claim_stops_others() -> None:
    named = overlapping()
    apart = claimed(named, 20, CLAIMED_AFTER, as_it_was=True)
    job = since(named, 40)
    assert why_not(named, fire(named, 10), job) == UNDER_WAY
    end(named, apart)
    assert goes(named, fire(named, 10), job)


def test_the_row_of_before_another_change_does_not_tell_which_claims_look() -> None:
    named = overlapping()
    running = claimed(named, 20, CLAIMED_AFTER)
    later = msgspec.structs.replace(since(named, 70), skips_from=4)
    note_ended(named.clockwork.world, later, [running])
    assert why_not(named, fire(named, 10), since(named, 40)) == UNDER_WAY


def test_what_is_noted_once_is_not_noted_again() -> None:
    named, job = overlapping(), since(overlapping(), 60)
    note_ended(named.clockwork.world, job, [])
    noted = stile(named)
    note_ended(named.clockwork.world, job, [record(named, 10, State.FAILED)])
    assert stile(named) is noted
    assert noted is not None
    assert goes(named, fire(named, 70), job)


def test_an_outage_of_the_table_leaves_it_to_the_looks(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    named = overlapping()
    old = record(named, 10, State.FAILED)
    job = since(named, 60)

    def unavailable(_: str) -> object:
        raise Unavailable("no answer")

    with monkeypatch.context() as out, caplog.at_level(logging.WARNING):
        out.setattr(named.clockwork.turnstiles, "get", unavailable)
        note_ended(named.clockwork.world, job, [old])
    assert "left to the looks" in caplog.text
    assert why_not(named, fire(named, 70), job) == UNDER_WAY


def test_a_turnstile_that_cannot_be_read_is_made_anew_of_all_records(monkeypatch: pytest.MonkeyPatch) -> None:
    named = overlapping()
    running = record(named, 50, State.RUNNING)
    monkeypatch.setattr(named.clockwork.turnstiles, "get", lambda _: (None, None if stile(named) is None else "odd"))
    monkeypatch.setitem(named.clockwork.turnstiles.stored, named.job.job_id, Turnstile(job_id="damaged"))
    monkeypatch.setattr(named.clockwork.turnstiles, "put", lambda found, after: found == "odd")
    # It may have named what is due later and runs, so that counts.
    assert why_not(named, fire(named, 20)) == UNDER_WAY
    end(named, running)
    assert why_not(named, fire(named, 20)) is None


def test_of_two_that_look_at_once_one_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    named = overlapping()
    put = named.clockwork.turnstiles.put
    other = record(named, 20, State.RUNNING)

    def overtaken(found: object, after: Turnstile) -> bool:
        monkeypatch.undo()
        assert put(found, turned(named.job, None, "", 0, through=other.execution_id))
        return put(found, after)

    monkeypatch.setattr(named.clockwork.turnstiles, "put", overtaken)
    assert why_not(named, fire(named, 10)) == UNDER_WAY


def test_a_job_that_gets_an_order_does_not_forget_what_runs_for_those_of_before_that_have_none() -> None:
    """One of an order waits for some alone. A release of before the order waits for all."""
    named = Named(overlap="skip", ordering_key="k", sequence=1)
    lost_at = named.clockwork.clock.at - 60_000
    lost = changed(execution_of(named.job, named.start, State.RUNNING), claim_until=lost_at)
    note_ended(named.clockwork.world, named.job, [lost])
    stile, _ = named.clockwork.turnstiles.get(named.job.job_id)
    assert stile is not None
    assert stile.ended_before == lost.execution_id
