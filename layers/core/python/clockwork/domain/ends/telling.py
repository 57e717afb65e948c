"""Ends of attempts by the word of the service that began them: asked by a watch, or told by an event.

The thing that an attempt began has a name of its own: of the executionId, and of the number of those that ended
before. An event tells of such a name. The executionId in it only says which record to read. An event that somebody
made up, of another name or of an earlier attempt, therefore changes nothing.

How it fails. The event comes before the target's answer: it counts, as a report does. It comes twice: the record has
the report, and the repeat sends what follows once more. It never comes, or cannot name its execution: the watch asks.
It comes after our timeout or after a cancel: until the record has ended it counts, and then it is stale. The process
dies behind the record: the event comes back, or the watch finds the report. The service gives no answer: the watch
is sent again, and ends the attempt GIVE_UP_MS after it was to stop.
"""

from __future__ import annotations

import msgspec

from clockwork.domain.executions import End, Execution, Outcome, Report, State
from clockwork.domain.lifecycle.attempts import Action, Claim, Plan, plan_outcome, plan_watch
from clockwork.domain.lifecycle.awaiting import (
    GIVE_UP_MS,
    UNKNOWN_FOR_MS,
    asks_next_at,
    is_asked,
    reported,
    silence,
    stops_since,
    watch_of,
)
from clockwork.domain.lifecycle.reports import ReportPlan, plan_first, watch_now
from clockwork.domain.releases import Watch
from clockwork.targets.message import Errand, Told

_ENDS = {"succeeded": State.SUCCEEDED, "failed": State.FAILED}
STALE = ReportPlan("nothing that runs has this name", is_stale=True)


def asks(watch: Watch, stored: Execution | None) -> bool:
    """Whether the watch asks the service, before anything is decided about the record."""
    if stored is None or stored.state is not State.RUNNING or stored.end.report is not None:
        return False
    return watch.attempt == stored.attempt and stored.is_accepted and is_asked(stored)


def errand_of(running: Execution, now: int) -> Errand:
    """The call to the service about the attempt that runs: how it goes, or to stop as well."""
    return Errand.ASK if stops_since(running, now) is None else Errand.STOP


def plan_asked(watch: Watch, stored: Execution | None, answer: Outcome, claim: Claim) -> Plan:
    """The plan of a deliverer that has asked the service, for the record as it is stored now."""
    if stored is None or not asks(watch, stored):
        return plan_watch(watch, stored, claim)
    assert stored.claim is not None
    if answer.told and answer.state in (State.SUCCEEDED, State.FAILED):
        report = Report(stored.claim.claimant, answer.state, claim.now, answer.answer, answer.error)
        told = msgspec.structs.replace(stored, end=End(report=report))
        return plan_outcome(watch, told, reported(told, report), claim.now, claim.jitter)
    is_unknown = answer.told and answer.state is State.WORKER_LOST
    if is_unknown and claim.now >= stored.claim.started_at + UNKNOWN_FOR_MS:
        lost = Outcome(State.WORKER_LOST, stored.claim.started_at, claim.now, error=answer.error)
        return plan_outcome(watch, stored, lost, claim.now, claim.jitter)
    since = stops_since(stored, claim.now)
    if since is not None and claim.now >= since + GIVE_UP_MS:
        return plan_outcome(watch, stored, silence(watch, stored, claim.now), claim.now, claim.jitter)
    again = watch_of(watch, stored, asks_next_at(stored, claim.now))
    return Plan(Action.DEFER, answer.error or "it runs", release=again)


def plan_told(stored: Execution | None, told: Told, now: int) -> ReportPlan:
    """The plan for an event of the service."""
    if told.status not in _ENDS or stored is None or stored.state is not State.RUNNING or not is_asked(stored):
        return STALE
    occurrence = stored.kept.occurrence
    assert stored.claim is not None and occurrence is not None, "what is asked about has both"
    if not occurrence.target.began(told.name, stored.execution_id, stored.budget.begun):
        return STALE
    if stored.end.report is not None:
        # Whoever noted the failure may have died before the watch was sent.
        return ReportPlan("it was told before", release=watch_now(stored, now))
    return plan_first(stored, Report(stored.claim.claimant, _ENDS[told.status], now, told.result, told.error))
