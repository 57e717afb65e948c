"""Changes of a named job as decisions: what a pause holds back, what its end decides, and what a closing covers."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.domain.clients import Pause
from clockwork.domain.closings import EVER, MOST_CLOSINGS, NEVER_ENDS, Closing, with_closing
from clockwork.domain.executions import Awaited, Execution, State
from clockwork.domain.fires.chains import release_at, run_of
from clockwork.domain.ids import ExecutionId, NamedJobId
from clockwork.domain.lifecycle.transitions import refused
from clockwork.domain.named.changes import (
    Change,
    begins_chain,
    cancelled,
    catches_up,
    changed,
    delivers,
    has_cancelled_waiting,
    paused,
    replaced,
    resumed,
    skipped_until,
)
from clockwork.domain.named.endings import ended_at_once
from clockwork.domain.named.held_back import is_unwanted_after, pause_over
from clockwork.domain.named.look import objection_of_schedule, objection_to, was_started
from clockwork.domain.named_jobs import Definition, JobState, NamedJob
from clockwork.domain.recurrence import Every, Recurrence
from clockwork.targets.message import Payload
from tests.support.examples import NOW, TARGET, execution, like, occurrence

SECOND = 1_000
REF = NamedJobId("acme", "tick", 1)


def definition(**changes: Any) -> Definition:
    """A job that fires every 10 s since NOW."""
    every = Recurrence(every=Every(10 * SECOND, NOW))
    return Definition(**{"target": TARGET, "payload": Payload(b"1"), "recurrence": every, **changes})


def job(**changes: Any) -> NamedJob:
    values: dict[str, Any] = {
        "client_id": "acme",
        "job_key": "tick",
        "incarnation": 1,
        "revision": 1,
        "state": JobState.ACTIVE,
        "partition_id": "p000",
        "definition": changes.pop("wanted", definition()),
        "as_sent": b"{}",
        "created_at": NOW,
        "changed_at": NOW,
        "chain_after_at": NOW,
        "asked_at": NOW,
        "series": "s",
    }
    return NamedJob(**{**values, **changes})


def after(before: NamedJob, second: float, change: Change) -> NamedJob:
    at = NOW + int(second * SECOND)
    return changed(before, at, at, change, lambda _: before.partition_id)


def fires_wanted(stands: NamedJob, revision: int, seconds: range) -> list[int]:
    """The seconds whose fires, as released by a row of that revision, are to start."""
    return [s for s in seconds if objection_of_schedule(stands, revision, NOW + s * SECOND, is_started=False) is None]


def test_a_pause_holds_back_what_is_due_after_it_and_not_what_is_due_at_its_instant() -> None:
    held = after(job(), 20, paused("p"))
    assert held.paused_at == NOW + 20 * SECOND
    assert fires_wanted(held, 1, range(10, 50, 10)) == [10, 20]
    objection = objection_of_schedule(held, 1, NOW + 30 * SECOND, is_started=False)
    assert objection is not None
    # It is final for releases of the pause and before alone: the resume writes the next revision.
    assert (objection.state, objection.reason, objection.ended_by) == (State.SKIPPED, "its job is paused", 3)
    assert objection_of_schedule(held, 1, NOW + 30 * SECOND, is_started=True) is None


@pytest.mark.parametrize(
    ("catch_up", "window", "wanted"),
    [
        ("none", 86_400, [10, 20, 60, 70]),
        ("latest", 86_400, [10, 20, 50, 60, 70]),
        ("all", 86_400, [10, 20, 30, 40, 50, 60, 70]),
        ("all", 15, [10, 20, 40, 50, 60, 70]),
        ("latest", 4, [10, 20, 60, 70]),
        ("latest", 5, [10, 20, 50, 60, 70]),
    ],
)
def test_the_end_of_a_pause_decides_once_and_for_all_about_what_was_due_in_it(
    catch_up: str, window: float, wanted: list[int]
) -> None:
    before = job(wanted=definition(catch_up=catch_up, catch_up_window_seconds=window))
    again = after(after(before, 20, paused(None)), 55, resumed(None))
    assert (again.state, again.paused_at, again.revision, again.asked_at) == (
        JobState.ACTIVE,
        None,
        3,
        NOW + 55 * SECOND,
    )
    assert fires_wanted(again, 1, range(10, 80, 10)) == wanted
    # The chain goes on behind the last fire before the pause.
    assert again.chain_after_at == NOW + 20 * SECOND


def test_a_resume_of_a_job_that_is_not_paused_changes_its_reason_alone() -> None:
    again = after(job(), 5, resumed("never mind"))
    assert (again.state, again.reason, again.closings, again.skips_until) == (JobState.ACTIVE, "never mind", (), 0)


def test_a_pause_without_a_fire_in_it_skips_nothing() -> None:
    once = job(wanted=definition(recurrence=None, at=NOW + 30 * SECOND))
    assert skipped_until(once, NOW, NOW + 10**9) == NOW + 1
    again = after(after(once, 20, paused(None)), 55, resumed(None))
    assert (again.closings, again.skips_until, again.chain_after_at) == ((), 0, NOW + 20 * SECOND)
    short = job(wanted=definition(catch_up="all"))
    again = after(after(short, 20, paused(None)), 55, resumed(None))
    assert (again.closings, again.skips_until) == ((), 0)


def test_a_pause_that_cancels_ends_what_waits_up_to_its_instant_and_a_resume_may_do_so_later() -> None:
    held = after(job(), 20, paused(None, cancels=True))
    assert [(one.after, one.before, one.state) for one in held.closings] == [
        (EVER, NOW + 20 * SECOND + 1, State.CANCELLED)
    ]
    assert has_cancelled_waiting(held)
    assert not has_cancelled_waiting(after(job(), 20, paused(None)))
    again = after(after(job(), 20, paused(None)), 55, resumed(None, cancels=True))
    assert (again.closings[-1].before, again.closings[-1].revision) == (NOW + 20 * SECOND + 1, 3)
    assert not has_cancelled_waiting(again)


@pytest.mark.parametrize(
    ("revision", "second", "is_started", "state", "covered"),
    [
        (4, 10, False, State.SKIPPED, True),
        (5, 10, False, State.SKIPPED, False),
        (4, 0, False, State.SKIPPED, False),
        (4, 20, False, State.SKIPPED, False),
        (4, 10, True, State.SKIPPED, False),
        (4, 10, True, State.CANCELLED, True),
        (5, 10, True, State.CANCELLED, False),
    ],
)
def test_a_closing_ends_older_releases_between_its_instants_and_leaves_alone_what_a_skip_finds_started(
    revision: int, second: int, is_started: bool, state: State, covered: bool
) -> None:
    closing = Closing(5, NOW, NOW + 20 * SECOND, state, "why")
    assert closing.covers(revision, NOW + second * SECOND, is_started=is_started) is covered


def test_a_row_keeps_so_many_closings_and_the_two_oldest_become_the_hull_of_both() -> None:
    closings: tuple[Closing, ...] = ()
    for number in range(MOST_CLOSINGS):
        closings = with_closing(closings, Closing(number + 2, 10 * number, 10 * number + 5, State.SKIPPED, "why"))
    assert len(closings) == MOST_CLOSINGS
    more = with_closing(closings, Closing(99, 900, 905, State.CANCELLED, "last"))
    assert len(more) == MOST_CLOSINGS
    assert more[0] == Closing(3, 0, 15, State.SKIPPED, "its job was changed many times since")
    assert more[1:] == (*closings[2:], Closing(99, 900, 905, State.CANCELLED, "last"))
    first = (Closing(2, 5, NEVER_ENDS, State.CANCELLED, "why"), *closings[1:])
    assert with_closing(first, closings[0])[0] == Closing(
        3, 5, NEVER_ENDS, State.CANCELLED, "its job was changed many times since"
    )


def test_another_beat_begins_behind_the_change_and_what_is_due_by_then_goes_on() -> None:
    other = definition(recurrence=Recurrence(every=Every(7 * SECOND, NOW)))
    stands = after(job(), 25, replaced(other, b"{}"))
    assert stands.series != "s"
    # Not behind its last base of before: other rules of its zone might bring one that is due before the change.
    assert (stands.chain_after_at, stands.chain_ordinal) == (NOW + 25 * SECOND, 0)
    assert fires_wanted(stands, 1, range(10, 50, 10)) == [10, 20]
    assert delivers(stands, NOW + 28 * SECOND)
    assert not delivers(stands, NOW + 21 * SECOND)


def test_a_change_that_keeps_the_timing_keeps_chain_and_series() -> None:
    stands = after(job(chain_ordinal=4), 25, replaced(definition(payload=Payload(b"2")), b"{}"))
    assert (stands.series, stands.chain_after_at, stands.chain_ordinal, stands.closings) == ("s", NOW, 4, ())
    assert stands.definition.payload.body == b"2"


def test_a_job_that_fires_once_and_is_moved_fires_at_its_new_instant_alone() -> None:
    once = job(wanted=definition(recurrence=None, at=NOW + 30 * SECOND), chain_after_at=NOW)
    moved = after(once, 5, replaced(definition(recurrence=None, at=NOW + 40 * SECOND), b"{}"))
    assert moved.chain_after_at == NOW + 40 * SECOND - 1
    assert fires_wanted(moved, 1, range(30, 50, 10)) == [40]
    assert delivers(moved, NOW + 40 * SECOND)
    held = after(after(once, 5, paused(None)), 50, replaced(definition(recurrence=None, at=NOW + 3 * SECOND), b"{}"))
    assert held.paused_at == NOW + 3 * SECOND - 1
    later = after(after(once, 5, paused(None)), 50, replaced(definition(recurrence=None, at=NOW + 90 * SECOND), b"{}"))
    assert later.paused_at == NOW + 5 * SECOND


def test_only_what_takes_the_schedule_from_an_active_job_has_to_catch_up_before() -> None:
    active, held = job(), after(job(), 20, paused(None))
    other = replaced(definition(recurrence=Recurrence(every=Every(7 * SECOND, NOW))), b"{}")
    assert catches_up(active, held)
    assert catches_up(active, after(active, 25, other))
    assert not catches_up(active, after(active, 25, replaced(definition(payload=Payload(b"2")), b"{}")))
    assert not catches_up(active, after(active, 25, cancelled(None)))
    assert not catches_up(held, after(held, 25, resumed(None)))
    assert begins_chain(held, after(held, 25, resumed(None)))
    assert begins_chain(active, after(active, 25, other))
    assert not begins_chain(active, held)
    assert not begins_chain(active, after(active, 25, replaced(definition(payload=Payload(b"2")), b"{}")))


@pytest.mark.parametrize(
    ("due_s", "began_s"), [(9, None), (10, None), (11, 10), (20, 10), (21, None), (30, None), (31, 30), (40, 30)]
)
def test_a_fire_was_due_in_the_pause_that_began_before_it_and_ended_with_it_or_after(
    due_s: int, began_s: int | None
) -> None:
    pauses = [Pause(NOW + 10 * SECOND, NOW + 20 * SECOND), Pause(NOW + 30 * SECOND, NOW + 40 * SECOND)]
    found = pause_over(pauses, NOW + due_s * SECOND)
    assert (None if found is None else (found.began_at - NOW) // SECOND) == began_s


@pytest.mark.parametrize(
    ("catch_up", "window", "unwanted"),
    [
        ("none", 86_400, [30, 40, 50]),
        ("latest", 86_400, [30, 40]),
        ("all", 86_400, []),
        ("all", 15, [30]),
        ("latest", 4, [30, 40, 50]),
    ],
)
def test_what_a_pause_of_the_client_held_back_is_decided_as_after_a_pause_of_the_job(
    catch_up: str, window: float, unwanted: list[int]
) -> None:
    stands = job(wanted=definition(catch_up=catch_up, catch_up_window_seconds=window))
    pause = Pause(NOW + 20 * SECOND, NOW + 55 * SECOND)
    seconds = range(30, 60, 10)
    assert [s for s in seconds if is_unwanted_after(stands, pause, NOW + s * SECOND)] == unwanted
    once = job(wanted=definition(recurrence=None, at=NOW + 30 * SECOND, catch_up=catch_up))
    assert not is_unwanted_after(once, pause, NOW + 30 * SECOND)
    started = [release_at(stands, NOW + s * SECOND) for s in seconds]
    assert [one for one in started if objection_to(one, REF, stands, [pause], is_started=True)] == []
    objections = [objection_to(one, REF, stands, [pause], is_started=False) for one in started]
    assert [s for s, one in zip(seconds, objections, strict=True) if one is not None] == unwanted


@pytest.mark.parametrize(("second", "unwanted"), [(39, True), (40, False), (41, False)])
def test_if_the_schedule_was_replaced_since_a_pause_of_the_client_its_window_alone_decides(
    second: int, unwanted: bool
) -> None:
    other = Recurrence(every=Every(7 * SECOND, NOW))
    wanted = definition(recurrence=other, catch_up="latest", catch_up_window_seconds=15)
    replaced_since = after(job(), 60, replaced(wanted, b"{}"))
    pause = Pause(NOW + 20 * SECOND, NOW + 55 * SECOND)
    assert is_unwanted_after(replaced_since, pause, NOW + second * SECOND) is unwanted


def test_a_release_of_a_job_that_is_gone_does_not_start_and_one_by_hand_goes_by_no_pause() -> None:
    held = after(job(), 20, paused(None, cancels=True))
    by_hand = run_of(held, NOW + 30 * SECOND, NOW + 30 * SECOND, "r1")
    assert objection_to(by_hand, REF, held, is_started=False) is None
    fire = release_at(job(), NOW + 30 * SECOND)
    gone = (None, after(job(), 5, cancelled(None)), job(incarnation=2))
    for stands in gone:
        for one in (by_hand, fire):
            objection = objection_to(one, REF, stands, is_started=True)
            assert objection is not None
            assert (objection.state, objection.reason) == (State.CANCELLED, "its job was deleted")
    as_it_was = fire.of_its(source="record")
    assert objection_to(as_it_was, REF, None, is_started=False) is None


def test_an_attempt_has_surely_begun_unless_its_deliverer_was_lost() -> None:
    assert not was_started(None)
    assert not was_started(execution(State.PENDING))


def waiting(second: int, run: str = "0") -> Execution:
    due_at = NOW + second * SECOND
    return execution(
        State.FAILED, job_id=REF.job_id, execution_id=str(ExecutionId(REF.job_id, due_at, run)), due_at=due_at
    )


def test_only_what_somebody_asked_to_end_ends_before_it_comes_due() -> None:
    deleted = after(job(), 20, cancelled(None))
    for run in ("0", "r1"):
        ending = ended_at_once(deleted, waiting(10, run), NOW)
        assert ending.execution is not None
        assert (ending.execution.state, ending.reason, ending.execution.end.ended_by) == (
            State.CANCELLED,
            "its job was deleted",
            None,
        )
    held = after(job(), 20, paused(None, cancels=True))
    ending = ended_at_once(held, waiting(10), NOW)
    assert ending.execution is not None
    assert (ending.execution.end.ended_by, ending.execution.revision) == (2, 2)
    assert ended_at_once(held, waiting(10, "r1"), NOW).reason == "it was asked for by hand"
    assert ended_at_once(held, waiting(21), NOW).execution is None
    assert ended_at_once(after(job(), 20, paused(None)), waiting(10), NOW).reason == "it goes on"
    # A later change asks for nothing: the closing is of the one before.
    assert ended_at_once(after(held, 30, paused("again")), waiting(10), NOW).reason == "it goes on"
    for stored in (None, execution(State.RUNNING), execution(State.SUCCEEDED)):
        assert ended_at_once(held, stored, NOW).reason == "it does not wait"


@pytest.mark.parametrize(
    ("state", "after_it", "is_noted"),
    [(State.HANDED_BACK, State.CANCELLED, False), (State.RUNNING, State.RUNNING, True)],
    ids=["it was handed back", "it is at work"],
)
def test_only_an_attempt_at_work_hears_of_the_end_of_its_job(state: State, after_it: State, is_noted: bool) -> None:
    deleted = after(job(), 20, cancelled(None))
    # What a worker hands back keeps its occurrence, since a repeat makes the next release of it.
    stored = like(waiting(10), state=state, occurrence=occurrence())
    if is_noted:
        stored = like(stored, awaited=Awaited(heartbeat_ms=1, deadline_at=NOW))
    ended = ended_at_once(deleted, stored, NOW).execution
    assert ended is not None
    assert (ended.state, ended.cancel_noted_at is not None) == (after_it, is_noted)
    assert (ended.kept.occurrence is not None) is is_noted
    assert refused(stored, ended) is None


def test_what_a_moved_job_still_fires_at_the_same_instant_does_not_end() -> None:
    once = job(wanted=definition(recurrence=None, at=NOW + 30 * SECOND))
    moved = after(once, 5, replaced(definition(recurrence=None, at=NOW + 40 * SECOND), b"{}"))
    assert ended_at_once(moved, waiting(30), NOW).execution is not None
    assert ended_at_once(moved, waiting(40), NOW).reason == "its job still has this instant"
