"""Changes of an attempt that ends by callback: by its target's answer, by heartbeats, and by reports.

All are changes of the record under the claim that the token belongs to. A token whose claim does not stand any more is
stale, and changes nothing. A repeat of the report that ended the attempt is recognised.
"""

from __future__ import annotations

import msgspec

from clockwork.domain.executions import Awaited, End, Execution, Outcome, Report, State
from clockwork.domain.fires.hints import hint_of
from clockwork.domain.lifecycle.attempts import Action, Plan, plan_outcome
from clockwork.domain.lifecycle.awaited import following
from clockwork.domain.lifecycle.awaiting import (
    CLAIM_GRACE_MS,
    MOST_HANDBACKS,
    asks_next_at,
    is_asked,
    is_grace_over,
    release_of,
    renewed_until,
    reported,
    silence,
    watch_of,
)
from clockwork.domain.lifecycle.tokens import Token
from clockwork.domain.releases import Deliver, Release, Watch

#: A heartbeat without news is written once less than this share of its interval is left.
WRITTEN_BELOW = 2 / 3
#: News alone are written no more often than this (ms): each write costs a unit for each KB of the record.
NEWS_MS = 10_000


class Heartbeat(msgspec.Struct, frozen=True):
    """A sign of life at `now` (ms), perhaps with a progress (0 to 1) and a message."""

    now: int
    progress: float | None = None
    message: str | None = None


class ReportPlan(msgspec.Struct, frozen=True):
    """The plan for a call of a token's holder: save `execution` first, if given; then send the watch `release`.

    `is_stale`: the token's claim does not stand, and nothing changes.
    """

    reason: str
    execution: Execution | None = None
    release: Release | None = None
    is_stale: bool = False


def plan_answer(release: Release, running: Execution, outcome: Outcome, now: int, jitter: float) -> Plan:
    """The plan after the target's answer to an attempt that ends by callback.

    `running`: the record as last seen, with this deliverer's claim. A success means that the target accepted: the claim
    becomes the receiver's, and the release is sent again as its watch.
    """
    if running.end.report is not None:
        return plan_outcome(release, running, reported(running, running.end.report), now, jitter)
    if outcome.state is not State.SUCCEEDED:
        return plan_outcome(release, running, outcome, now, jitter)
    assert running.awaited is not None and running.claim is not None
    awaited = msgspec.structs.replace(running.awaited, accepted_at=running.awaited.accepted_at or now)
    claim = msgspec.structs.replace(
        running.claim, until=renewed_until(running, now), started_at=outcome.started_at, awaited=awaited
    )
    kept = msgspec.structs.replace(running.kept, occurrence=release.occurrence)
    accepted = running.changed(claim=claim, kept=kept)
    if is_asked(accepted):
        watch = watch_of(release, accepted, asks_next_at(accepted, now))
        return Plan(Action.FOLLOW_UP, "accepted: its service tells its end", accepted, watch)
    return Plan(Action.FOLLOW_UP, "accepted: its receiver reports", accepted, watch_of(release, accepted))


def plan_heartbeat(stored: Execution | None, token: Token, beat: Heartbeat) -> ReportPlan:
    """The plan for a heartbeat. A heartbeat without news writes only when the claim needs to be renewed.

    News within NEWS_MS of the last ones are dropped, unless the claim is renewed with them.

    After the grace of a cancel the heartbeat is stale and ends the execution, so that nobody has to wait for the watch.
    """
    if stored is None or not _stands(stored, token) or stored.end.report is not None:
        return _STALE
    assert stored.claim is not None and stored.awaited is not None, "the claim of a token that stands"
    if is_grace_over(stored, beat.now):
        release = release_of(stored)
        forced = plan_outcome(release, stored, silence(release, stored, beat.now), beat.now, 0.0).execution
        watch = None if stored.kept.node is None else _watch_of_end(stored, beat.now)
        return msgspec.structs.replace(_STALE, execution=forced, release=watch)
    if beat.now >= stored.awaited.deadline_at + CLAIM_GRACE_MS:
        return _STALE  # Its watch is late, and ends it.
    if stored.awaited.permit is not None and beat.now >= stored.claim.until + CLAIM_GRACE_MS:
        return _STALE  # Its watch is late, and its permit may be another attempt's by now.
    renewed = renewed_until(stored, beat.now)
    is_long = stored.claim.until - beat.now >= stored.awaited.heartbeat_ms * WRITTEN_BELOW
    # A claim that reaches to its deadline gets no longer.
    is_fresh = stored.is_accepted and (is_long or renewed <= stored.claim.until)
    awaited = _told(stored.awaited, beat)
    is_told_late = beat.now >= (stored.awaited.told_at or 0) + NEWS_MS
    if is_fresh and (awaited == stored.awaited or not is_told_late):
        return ReportPlan("its claim is fresh enough")
    awaited = msgspec.structs.replace(awaited, accepted_at=awaited.accepted_at or beat.now)
    return ReportPlan("it is at work", stored.renewed(renewed, awaited))


def _told(awaited: Awaited, beat: Heartbeat) -> Awaited:
    """The state of an attempt after a heartbeat; unchanged without news."""
    progress = awaited.progress if beat.progress is None else beat.progress
    message = awaited.message if beat.message is None else beat.message
    if (progress, message) == (awaited.progress, awaited.message):
        return awaited
    return msgspec.structs.replace(awaited, progress=progress, message=message, told_at=beat.now)


def plan_report(stored: Execution | None, token: Token, report: Report) -> ReportPlan:
    """The plan for a report. An end is recorded at once; a failure is noted, and its watch acts on it.

    An end is a success, or a stop after a noted cancel. The deliverer takes care of every failure, reported or not: the
    retry, the death, its notice and its callback. A report counts while its claim is in the record, even after the
    claim's end.
    """
    if stored is None or stored.execution_id != token.execution_id or stored.attempt != token.attempt:
        return _STALE
    if stored.end.report is not None:
        return _plan_repeat(stored, token, report)
    if not _stands(stored, token):
        return _STALE
    if report.state is State.CANCELLED and stored.cancel_noted_at is None:
        return ReportPlan("nobody has asked for a cancel", is_stale=True)
    if report.state is State.HANDED_BACK:
        return _plan_handback(stored, report)
    return plan_first(stored, report)


def plan_first(stored: Execution, report: Report) -> ReportPlan:
    """The plan for the first report of the attempt that runs, a success, a failure or a stop that counts."""
    if report.state is State.FAILED:
        noted = stored.changed(end=End(report=report))
        return ReportPlan("it failed, as is reported", noted, watch_now(noted, report.at))
    ended = _ended(stored, report).execution
    watch = None if stored.kept.node is None else _watch_of_end(stored, report.at)
    return ReportPlan("it has ended, as is reported", ended, watch)


def _plan_repeat(stored: Execution, token: Token, report: Report) -> ReportPlan:
    """The plan for a report of an attempt that was reported before: the same one is right, another one is stale."""
    earlier = stored.end.report
    assert earlier is not None
    if not token.belongs_to(earlier.claimant) or earlier.state is not report.state:
        return _STALE
    if stored.state is State.RUNNING:
        # Whoever noted the failure may have died before the watch was sent.
        return ReportPlan("it was reported before", release=watch_now(stored, report.at))
    if stored.state is State.HANDED_BACK:
        # Nor may the next attempt's release have been sent.
        return ReportPlan("it was handed back before", release=_next_of(stored, report.at))
    return ReportPlan("it was reported before")


def _plan_handback(running: Execution, report: Report) -> ReportPlan:
    """The plan for an attempt that its worker gives back. One too many is a failure, and left to its watch."""
    if running.awaited is None or running.awaited.pool is None:
        return ReportPlan("only a worker of a pool gives an attempt back", is_stale=True)
    if running.budget.handbacks >= MOST_HANDBACKS and running.cancel_noted_at is None:
        noted = running.changed(end=End(report=report))
        return ReportPlan("it was handed back too often", noted, watch_now(noted, report.at))
    plan = _ended(running, report)
    ended = plan.execution
    if ended is not None and plan.release is not None:
        # A repeat sends the next attempt's release again, which is made of this.
        ended = msgspec.structs.replace(ended, kept=running.kept)
    return ReportPlan(plan.reason, ended, plan.release)


def _next_of(handed_back: Execution, now: int) -> Deliver:
    """The release of the attempt after one that was given back."""
    return following(release_of(handed_back), handed_back, handed_back.waits.next_attempt_at or now)


def _stands(stored: Execution | None, token: Token) -> bool:
    """Whether the claim of the token stands: the attempt runs under it."""
    if stored is None or stored.claim is None or stored.claim.awaited is None:
        return False
    is_its_attempt = stored.execution_id == token.execution_id and stored.attempt == token.attempt
    return is_its_attempt and token.belongs_to(stored.claim.claimant)


def watch_now(running: Execution, now: int) -> Watch:
    """The watch of the attempt that runs, which acts on its report."""
    return watch_of(release_of(running), running, now)


def _watch_of_end(running: Execution, now: int) -> Watch:
    """The watch by which a deliverer goes on with the run of a node that ends: its message stays until that is done."""
    watch = watch_now(running, now)
    return msgspec.structs.replace(watch, occurrence=hint_of(watch.occurrence))


def _ended(running: Execution, report: Report) -> Plan:
    told = msgspec.structs.replace(running, end=End(report=report))
    return plan_outcome(release_of(running), told, reported(running, report), report.at, 0.0)


_STALE = ReportPlan("the token is not that of an attempt that runs", is_stale=True)
