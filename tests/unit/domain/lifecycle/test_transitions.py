"""Transitions: the table allows each change that planners make, and each guard refuses what only that guard refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
import pytest

from clockwork.domain.executions import FINAL, WAITING, Attempt, Awaited, Execution, Report, State
from clockwork.domain.lifecycle import transitions
from clockwork.domain.lifecycle.awaiting import CLAIM_GRACE_MS
from clockwork.domain.lifecycle.transitions import TRANSITIONS, Guard, leading, refused
from clockwork.domain.waits import Held, Line
from tests.support.examples import NOW, changed, execution, like, occurrence

GUARDS = {name: one for name, one in vars(transitions).items() if isinstance(one, Guard)}
BEFORE = Attempt(1, State.FAILED, NOW - 100, NOW - 90)
#: A record that waits for its second attempt, one whose second attempt runs, and one that a pause has ended.
WAITS = execution(State.FAILED, attempt=1, attempts=(BEFORE,), next_attempt_at=NOW)
RUNS = execution(
    State.RUNNING, attempt=2, attempts=(BEFORE,), claimant="me", claim_until=NOW + 20_000, started_at=NOW, revision=5
)
AT_WORK = like(
    RUNS, awaited=Awaited(heartbeat_ms=9_000, deadline_at=NOW + 60_000, accepted_at=NOW), occurrence=occurrence()
)
OPEN = execution(State.SKIPPED, attempt=1, attempts=(BEFORE,), reason="its job is paused", ended_by=3)
DEAD = execution(State.DEAD, attempt=1, attempts=(BEFORE,), reason="it failed", occurrence=occurrence())
DONE = execution(State.SUCCEEDED, attempt=1, attempts=(Attempt(1, State.SUCCEEDED, NOW, NOW),))
REPORT = Report("me", State.FAILED, NOW)
CLAIM = {"claimant": "me", "claim_until": NOW + 1, "started_at": NOW}
CLAIMS = {"state": State.RUNNING, "attempt": 2, "next_attempt_at": None, **CLAIM}
LEFT: Mapping[str, Any] = {"claimant": None, "next_attempt_at": None, "reason": "a reason"}


class Case(NamedTuple):
    """A change that the table allows, and one field's other values with which a guard alone refuses it."""

    guard: str
    before: Execution | None
    after: Execution
    bad: Execution


def case(guard: str, before: Execution | None, good: Mapping[str, Any], **bad: object) -> Case:
    first = execution(State.PENDING, revision=0) if before is None else before
    after = changed(first, **good)
    return Case(guard, before, after, like(after, **bad))


def tried(state: State, number: int = 2) -> dict[str, Any]:
    """The change that ends the second attempt."""
    attempts = (BEFORE, Attempt(number, state, NOW, NOW + 1))
    return {**LEFT, "state": state, "attempts": attempts, "next_attempt_at": None if state in FINAL else NOW + 5}


DROPPED = {**LEFT, "state": State.SKIPPED}
BURIED = {**LEFT, "state": State.DEAD, "dead_at": NOW + 20_000 + CLAIM_GRACE_MS}
CASES = (
    case("IS_NEXT", WAITS, CLAIMS, attempt=1),
    case("IS_NEXT", WAITS, CLAIMS, attempt=3),
    case("IS_NEXT", OPEN, {**CLAIMS, "ended_by": None}, attempt=1),
    case("IS_SAME", RUNS, tried(State.SUCCEEDED), attempt=3, attempts=tried(State.SUCCEEDED, 3)["attempts"]),
    case("IS_SAME", WAITS, {"state": State.PARKED, "reason": "paused"}, attempt=2),
    case("IS_UNCOUNTED", RUNS, {**LEFT, "state": State.PENDING, "attempt": 1, "next_attempt_at": NOW}, attempt=2),
    case("IS_UNCOUNTED_IF_OPEN", RUNS, {**DROPPED, "attempt": 1, "ended_by": 3}, attempt=2),
    case("IS_UNCOUNTED_IF_OPEN", RUNS, DROPPED, attempt=1),
    case("ENDS_ATTEMPT", RUNS, tried(State.FAILED), attempts=(BEFORE,)),
    case("ENDS_ATTEMPT", RUNS, tried(State.FAILED), attempts=tried(State.FAILED, 3)["attempts"]),
    case("ENDS_ATTEMPT", RUNS, tried(State.SUCCEEDED), attempts=()),
    case("ENDS_NO_ATTEMPT", RUNS, DROPPED, attempts=()),
    case("ENDS_NO_ATTEMPT", None, {"state": State.EXPIRED, "reason": "too late"}, attempts=(BEFORE,)),
    case("HAS_CLAIM", None, {**CLAIMS, "attempt": 1}, claimant=None),
    case("HAS_CLAIM", WAITS, CLAIMS, claimant=None),
    case("HAS_NO_CLAIM", RUNS, tried(State.SUCCEEDED), **CLAIM),
    case("HAS_NO_CLAIM", RUNS, tried(State.FAILED), **CLAIM),
    case("HAS_NO_CLAIM", WAITS, {"state": State.PARKED, "reason": "paused"}, **CLAIM),
    case("HAS_NO_PLAN", WAITS, CLAIMS, next_attempt_at=NOW),
    case("HAS_NO_PLAN", WAITS, {**LEFT, "state": State.EXPIRED}, held=Held("cap", NOW)),
    case("HAS_NO_PLAN", WAITS, {**LEFT, "state": State.DEAD}, line=Line(NOW, NOW)),
    case("HAS_NO_PLAN", RUNS, tried(State.SUCCEEDED), next_attempt_at=NOW),
    case("HAS_NO_PLAN", None, DROPPED, paced=True),
    case("HAS_NO_RELEASE", AT_WORK, {**tried(State.SUCCEEDED), "occurrence": None}, occurrence=occurrence()),
    case("HAS_NO_RELEASE", WAITS, {**LEFT, "state": State.CANCELLED}, raw=b"raw"),
    case("HAS_NO_RELEASE", RUNS, tried(State.EXPIRED), source="record"),
    case("HAS_NO_RELEASE", AT_WORK, {**tried(State.FAILED), "occurrence": None}, occurrence=occurrence()),
    case("HAS_NO_RELEASE", RUNS, {**LEFT, "state": State.PENDING, "attempt": 1, "next_attempt_at": NOW}, raw=b"raw"),
    case("HAS_NO_END", WAITS, CLAIMS, report=REPORT),
    case("HAS_NO_END", OPEN, {**CLAIMS, "ended_by": None}, ended_by=3),
    case("HAS_NO_END", None, {**CLAIMS, "attempt": 1}, dead_at=NOW),
    case("IS_SAME_CLAIMANT", RUNS, {"claim_until": NOW + 30_000}, claimant="another"),
    case("IS_CLAIM_KEPT", AT_WORK, {"cancel_noted_at": NOW}, claim_until=NOW + 20_001),
    case("IS_CLAIM_KEPT", AT_WORK, {"cancel_noted_at": NOW}, started_at=NOW + 1),
    case("IS_CLAIM_KEPT", AT_WORK, {"report": REPORT}, awaited=None),
    case("IS_LEASE_LONGER", AT_WORK, {"claim_until": NOW + 30_000}, claim_until=NOW + 19_999),
    case("IS_LEASE_LONGER", AT_WORK, {"claim_until": NOW + 60_000}, claim_until=NOW + 60_001),
    case("IS_NEWS_KEPT", changed(AT_WORK, cancel_noted_at=NOW), {"report": REPORT}, cancel_noted_at=None),
    case("IS_NEWS_KEPT", changed(AT_WORK, report=REPORT), {"cancel_noted_at": NOW}, report=None),
    case("IS_NO_NEWS", AT_WORK, {"claim_until": NOW + 30_000}, cancel_noted_at=NOW),
    case("IS_NO_NEWS", AT_WORK, {"claim_until": NOW + 30_000}, report=REPORT),
    case("IS_NOT_EARLY", WAITS, CLAIMS, started_at=NOW - 1),
    case("IS_PLANNED", RUNS, tried(State.TIMED_OUT), next_attempt_at=None),
    case("IS_PLANNED", None, {"next_attempt_at": NOW}, next_attempt_at=None),
    case("IS_CANCELLED", RUNS, {**tried(State.CANCELLED), "cancel_noted_at": NOW}, cancel_noted_at=None),
    case("IS_CLOSED", WAITS, {**LEFT, "state": State.EXPIRED}, ended_by=3),
    case("IS_CLOSED", OPEN, {"state": State.PARKED, "ended_by": None}, ended_by=3),
    case("IS_CLOSED", OPEN, {**LEFT, "state": State.EXPIRED, "ended_by": None}, ended_by=3),
    case("IS_CLOSED", OPEN, {**LEFT, "state": State.DEAD, "ended_by": None}, ended_by=3),
    case("HAS_REASON", WAITS, {**LEFT, "state": State.CANCELLED}, reason=None),
    case("HAS_REASON", RUNS, tried(State.DEAD), reason=""),
    case("IS_UNCLAIMED", None, {**tried(State.FAILED), "attempt": 2, "unclaimed": True}, unclaimed=False),
    case("IS_BUDGET_NEW", DEAD, {"state": State.PENDING, "budget_from": 1, "next_attempt_at": NOW}, budget_from=0),
    case("IS_CLAIM_OVER", RUNS, BURIED, dead_at=NOW + 20_000 + CLAIM_GRACE_MS - 1),
    case("IS_PUT_AWAY", DEAD, {"occurrence": None}, occurrence=occurrence()),
    case("IS_PUT_AWAY", DEAD, {"occurrence": None}, raw=b"raw"),
    case("IS_ALL_KEPT", WAITS, {"expires_at": NOW + 9}, next_attempt_at=NOW + 1),
    case("IS_ALL_KEPT", OPEN, {}, state=State.CANCELLED),
    case("IS_ALL_KEPT", OPEN, {"expires_at": NOW + 9}, reason="another"),
    case("IS_ALL_KEPT", DONE, {"expires_at": DONE.expires_at + 1}, reason="another"),
    case("IS_ALL_KEPT", DONE, {"expires_at": DONE.expires_at + 1}, report=REPORT),
    case("IS_LONGER", DONE, {"expires_at": DONE.expires_at + 1}, expires_at=DONE.expires_at),
)
#: The guards of the record before: the same change of another record is refused.
OTHERS = (
    Case("IS_NOT_CANCELLED", RUNS, *[changed(RUNS, **tried(State.FAILED))] * 2),
    Case("IS_NOT_CANCELLED", RUNS, *[changed(RUNS, **tried(State.DEAD))] * 2),
    Case("IS_OPEN", OPEN, *[changed(OPEN, **CLAIMS, ended_by=None)] * 2),
    Case("IS_OPEN", OPEN, *[changed(OPEN, **LEFT, state=State.EXPIRED, ended_by=None)] * 2),
    Case("IS_OPEN", OPEN, *[changed(OPEN, **LEFT, state=State.DEAD, ended_by=None)] * 2),
    Case("IS_REDRIVABLE", DEAD, *[changed(DEAD, state=State.PENDING, budget_from=1, next_attempt_at=NOW)] * 2),
)
WITHOUT: Mapping[str, Mapping[str, Any]] = {
    "IS_NOT_CANCELLED": {"cancel_noted_at": NOW},
    "IS_OPEN": {"ended_by": None},
    "IS_REDRIVABLE": {"occurrence": None},
}


def check_alone_refuses(name: str, before: Execution | None, after: Execution) -> None:
    """The change is refused, and would not be without this guard."""
    alone, was = GUARDS[name], before or execution(State.PENDING, revision=0)
    reason = refused(before, after)
    assert reason is not None
    assert alone.says in reason
    arrows = [arrow for _, arrow in leading(None if before is None else before.state, after.state)]
    assert any(all(one is alone or one.holds(was, after) for one in arrow.guards) for arrow in arrows)


@pytest.mark.parametrize("one", CASES, ids=lambda one: one.guard)
def test_a_guard_refuses_what_the_table_allows_without_it(one: Case) -> None:
    assert refused(one.before, one.after) is None
    check_alone_refuses(one.guard, one.before, one.bad)


@pytest.mark.parametrize("one", OTHERS, ids=lambda one: one.guard)
def test_a_guard_refuses_a_change_of_a_record_that_may_not_make_it(one: Case) -> None:
    assert one.before is not None
    assert refused(one.before, one.after) is None
    check_alone_refuses(one.guard, like(one.before, **WITHOUT[one.guard]), one.after)


def test_every_guard_of_the_table_has_a_case_and_every_one_is_used() -> None:
    used = {guard for one in TRANSITIONS for arrow in one.arrows for guard in arrow.guards}
    assert {name for name, guard in GUARDS.items() if guard in used} == GUARDS.keys()
    assert {one.guard for one in (*CASES, *OTHERS)} == GUARDS.keys()


def test_what_has_succeeded_or_expired_stays_so() -> None:
    led = [(state, after) for state in (State.SUCCEEDED, State.EXPIRED) for after in State if leading(state, after)]
    assert led == [(State.SUCCEEDED, State.SUCCEEDED)]
    assert [event for event, _ in leading(State.SUCCEEDED, State.SUCCEEDED)] == ["fence"]


def test_only_a_first_attempt_that_runs_succeeds() -> None:
    assert [before for before in (None, *State) if leading(before, State.SUCCEEDED)] == [State.RUNNING, State.SUCCEEDED]
    assert refused(None, DONE) == "no record -> SUCCEEDED: no such event"


def test_each_event_leads_from_somewhere_to_somewhere() -> None:
    pairs = {(before, after) for before in (None, *State) for after in State if leading(before, after)}
    assert {after for _, after in pairs} == set(State)
    assert {before for before, _ in pairs} == {None, *State} - {State.EXPIRED}
    assert all((state, State.RUNNING) in pairs for state in WAITING)
    assert {before for before, after in pairs if after is State.PENDING} & FINAL == {State.DEAD}


@pytest.mark.parametrize("revision", [0, 1, 3])
def test_a_change_is_of_the_latest_revision(revision: int) -> None:
    after = WAITS.changed(state=State.PARKED, reason="paused")
    assert refused(WAITS, after) is None
    assert refused(WAITS, msgspec.structs.replace(after, revision=revision)) is not None


@pytest.mark.parametrize("field", ["execution_id", "client_id"])
def test_a_record_stays_that_of_its_execution(field: str) -> None:
    after = WAITS.changed(state=State.PARKED, reason="paused")
    assert refused(WAITS, msgspec.structs.replace(after, **{field: "another"})) is not None
