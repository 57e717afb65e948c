"""The end of a run: a function of the marks of its nodes, written by compare-and-set on the run's attempt."""

from __future__ import annotations

import msgspec

from clockwork.domain.executions import Execution, Kept, Outcome, State
from clockwork.domain.lifecycle.attempts import plan_outcome
from clockwork.domain.lifecycle.awaiting import release_of
from clockwork.domain.lifecycle.redrives import names_of
from clockwork.domain.runs.beginning import is_run, occurrence_of
from clockwork.domain.workflows.graph import counted, succeeds
from clockwork.domain.workflows.progress import Sets

#: Names in the reason of a run that failed.
MOST_NAMES = 5
GONE = "its progress was lost: redrive it, and all of it runs again"


class Ending(msgspec.Struct, frozen=True):
    """The plan for the end of a run: save `execution`; None: there is nothing to end."""

    execution: Execution | None = None


def plan_ending(stored: Execution | None, sets: Sets, now: int) -> Ending:
    """The plan for a run of which all nodes have ended, as the sets tell. Only the attempt that they are of ends.

    It is CANCELLED if a cancel was noted and a node did not succeed.
    """
    if stored is None or not is_run(stored) or stored.attempt != sets.generation:
        return Ending()
    return _ended(stored, outcome_of(stored, sets, now))


def plan_lost(stored: Execution | None, now: int) -> Ending:
    """The plan for a run whose sets are gone."""
    if stored is None or not is_run(stored):
        return Ending()
    return _ended(stored, _failed(stored, State.FAILED, GONE, now))


def outcome_of(run: Execution, sets: Sets, now: int) -> Outcome:
    """The outcome of the attempt of a run of which all nodes have ended."""
    assert run.claim is not None
    marks = sets.outcomes()
    if succeeds(sets.nodes, marks, is_stopped=sets.is_stopped):
        return Outcome(State.SUCCEEDED, run.claim.started_at, now)
    count = marks if sets.is_stopped else counted(sets.nodes, marks)
    names = [name for index, name in enumerate(occurrence_of(run)[1].nodes) if count[index] == "bad"]
    told = ", ".join(names[:MOST_NAMES]) + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")
    if run.cancel_noted_at is not None:
        return _failed(run, State.CANCELLED, f"a cancel kept from succeeding: {told}", now)
    if sets.is_stopped:
        seconds = occurrence_of(run)[1].timeout_seconds
        return _failed(run, State.TIMED_OUT, f"its timeoutSeconds {seconds:g} were over for: {told}", now)
    return _failed(run, State.FAILED, f"{len(names)} of its {len(marks)} nodes failed or were not reached: {told}", now)


def _failed(run: Execution, state: State, error: str, now: int) -> Outcome:
    started_at = now if run.claim is None else run.claim.started_at
    return Outcome(state, started_at, now, permanent=True, error=error)


def _ended(run: Execution, outcome: Outcome) -> Ending:
    ended = plan_outcome(release_of(run), run, outcome, outcome.ended_at, 0.0).execution
    assert ended is not None, "an end is recorded"
    if ended.kept.occurrence is None:
        ended = msgspec.structs.replace(ended, kept=Kept(nodes=names_of(run)))
    return Ending(ended)
