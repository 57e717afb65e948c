"""Claims and outcomes of attempts: the deliverer's plan for a release, given the record of its execution.

Every function takes the stored record and returns the record that is to replace it. The store's compare-and-set decides
which deliverer was first: it refuses a change that was made of anything but the latest revision.
"""

from __future__ import annotations

from enum import Enum, auto

import msgspec

from clockwork.domain.executions import (
    FINAL,
    NO_END,
    NOTHING_KEPT,
    WAITING,
    Attempt,
    Claimed,
    Execution,
    Kept,
    Outcome,
    State,
    kept_until,
    last_of,
)
from clockwork.domain.lifecycle.awaited import again_for, fenced, fences, following, goes_on, is_left_behind, reopened
from clockwork.domain.lifecycle.awaiting import (
    CLAIM_GRACE_MS,
    Worker,
    answered,
    asks_next_at,
    awaited_by,
    budget_after,
    ends_at,
    is_asked,
    is_claimed,
    renewed_until,
    reported,
    silence,
    watch_of,
)
from clockwork.domain.lifecycle.expiry import expired_execution, is_expired, reason_of
from clockwork.domain.lifecycle.retries import RetryPlan, meets_again_ms, plan_retry
from clockwork.domain.releases import Deliver, Release, Watch
from clockwork.domain.waits import NO_WAITING, Parking, Waiting, without
from clockwork.domain.workflows.definition import WorkflowTarget


class Action(Enum):
    """The next step of a deliverer with a release."""

    START = auto()  # start the attempt, once `execution` is saved: that is the claim
    ABSORB = auto()  # acknowledge: the work of the release is done
    DEFER = auto()  # another deliverer has the claim: send `release` for later, when that claim has ended at the latest
    FOLLOW_UP = auto()  # save `execution` if given, send `release`, acknowledge
    GO_ON = auto()  # its run has begun under this attempt: do what is left of it
    FINISH = auto()  # save `execution` if given, which is final; acknowledge
    PARK = auto()  # save `execution` if given, then park the release


class Plan(msgspec.Struct, frozen=True):
    """A deliverer's next step, and the reason for it.

    The deliverer saves `execution` first, and sends `release` after that; None: there is none to save, or to send.
    """

    action: Action
    reason: str
    execution: Execution | None = None
    release: Release | None = None


class Claim(msgspec.Struct, frozen=True):
    """A deliverer's claim to one attempt: a token (`claimant`) that no other claim has, valid until `until` (ms)."""

    claimant: str
    until: int
    now: int
    expires_at: int  # the record's TTL (ms)
    #: A waiting message is sent anew. In an ordered queue the message stays, and each receive counts.
    resends: bool = True
    jitter: float = 0.0  # 0 <= jitter < 1, for the wait after a failure that was reported
    #: The worker of a pool for which the api claims the attempt, if there is one.
    worker: Worker | None = None
    order: str | None = None  # in which the message lies


def plan_watch(watch: Watch, stored: Execution | None, claim: Claim) -> Plan:
    """The plan of a deliverer that holds a watch, which ends a claim or sends what follows, and starts nothing."""
    waits = stored is None or stored.state in WAITING or goes_on(stored, watch)
    if waits and fences(watch, stored):
        return Plan(Action.ABSORB, "nobody has claimed it, nor may by now", fenced(watch, stored, claim.expires_at))
    if stored is None:
        return Plan(Action.ABSORB, "what it watched is gone, and it starts nothing")
    # The watch of a run has no definition: a redriven run has a release of its own.
    if waits and not isinstance(watch.occurrence.target, WorkflowTarget):
        return _follow_up(watch, stored, claim)
    if stored.state is not State.RUNNING:
        return Plan(Action.ABSORB, f"already {stored.state}")
    if watch.attempt != stored.attempt:
        return Plan(Action.ABSORB, "another attempt runs, which has a watch of its own")
    return _plan_running(watch, stored, claim)


def plan_claim(release: Deliver, stored: Execution | None, claim: Claim) -> Plan:
    """The plan of a deliverer that holds `release`, given the stored record (None if there is none)."""
    late = is_expired(release.occurrence, max(claim.now, release.run_at))
    if stored is None:
        if late:
            return Plan(Action.FINISH, "too late", expired_execution(release, claim.now, claim.expires_at))
        first = release.first_record(State.PENDING, claim.expires_at, revision=0)
        return Plan(Action.START, "first claim", _claimed(first, release, claim))
    if goes_on(stored, release):
        stored = reopened(stored)
    if stored.state in FINAL or is_left_behind(release, stored):
        return Plan(Action.ABSORB, f"already {stored.state}")
    if stored.state is State.RUNNING:
        return _plan_running(release, stored, claim)
    # Whoever made the release, and whatever it waited for since: the attempt starts at its planned instant or later.
    if release.attempt != stored.attempt + 1 or release.run_at < (stored.waits.next_attempt_at or 0):
        return _follow_up(release, stored, claim)
    if late:
        ended = plan_unstarted(release, stored, State.EXPIRED, reason_of(release.occurrence), claim.now)
        return Plan(Action.FINISH, "too late", ended)
    return Plan(Action.START, "claims the retry", _claimed(stored, release, claim))


def _follow_up(release: Release, stored: Execution, claim: Claim) -> Plan:
    again = following(release, stored, stored.waits.next_attempt_at or claim.now)
    return Plan(Action.FOLLOW_UP, f"attempt {again.attempt} waits and this is not it", release=again)


def _plan_running(release: Release, stored: Execution, claim: Claim) -> Plan:
    """The plan for a release that meets a claim: wait for the claim's end, or do the claimant's remaining steps."""
    if stored.claim is not None and stored.claim.awaited is not None and stored.claim.awaited.is_run:
        return Plan(Action.GO_ON if release.attempt == stored.attempt else Action.ABSORB, "its run has begun")
    if stored.end.report is not None:
        return plan_outcome(release, stored, reported(stored, stored.end.report), claim.now, claim.jitter)
    if claim.worker is not None and stored.attempt == release.attempt and stored.claimant == claim.claimant:
        return _plan_repeat(release, stored, claim)
    if stored.is_accepted and is_asked(stored):
        watch = watch_of(release, stored, asks_next_at(stored, claim.now))
        return Plan(Action.DEFER, "its service is asked how it goes", release=watch)
    if not is_claimed(stored, claim.now):
        return _plan_lost_worker(release, stored, claim)
    if stored.is_accepted:
        if claim.worker is not None:
            return Plan(Action.ABSORB, "another worker has it, whose watch finds the end of its claim")
        return Plan(Action.DEFER, "its receiver is at work", release=watch_of(release, stored))
    # Queues round delays down to whole seconds. An attempt never starts before its slot, which may lie further on.
    over_at = max(ends_at(stored) + CLAIM_GRACE_MS, claim.now + 1_000)
    meets = release.for_attempt(release.attempt).waits.meets
    back_at = max(release.run_at, min(claim.now + meets_again_ms(meets), over_at)) if claim.resends else over_at
    again = again_for(release, release.attempt, back_at, meets + 1)
    return Plan(Action.DEFER, "another deliverer's claim is live", release=again)


def _plan_repeat(release: Release, stored: Execution, claim: Claim) -> Plan:
    """The plan for a worker that repeats its claim: the worker got no answer, or this call has stalled.

    The plan writes before it goes on, so that an earlier, stalled call under the same claim cannot end the claim
    unseen. The plan ends nothing, since another call may have started the worker.
    """
    if stored.cancel_noted_at is not None:
        return Plan(Action.ABSORB, "a cancel is noted: who works is told, and the watch finds it if nobody does")
    if stored.awaited is None or claim.now >= stored.awaited.deadline_at:
        return _plan_lost_worker(release, stored, claim)
    return Plan(Action.START, "its worker asks again", stored.renewed(renewed_until(stored, claim.now)))


def plan_outcome(release: Release, running: Execution, outcome: Outcome, now: int, jitter: float) -> Plan:
    """The plan after an attempt of this deliverer. `running`: the record as last seen, with this deliverer's claim."""
    lateness_ms = release.lateness_ms(outcome.started_at) if running.is_first_attempt else 0
    attempt = outcome.as_attempt(running.attempt, lateness_ms)
    ended = _unclaimed(running, outcome.state, (*running.attempts, attempt))
    ended = msgspec.structs.replace(ended, budget=budget_after(running, outcome))
    if outcome.state is State.SUCCEEDED:
        if release.of.node is not None and ended.end.report is None:
            ended = msgspec.structs.replace(ended, end=answered(running, outcome))
        return Plan(Action.FINISH, "delivered", _final(release, ended, State.SUCCEEDED, ended.reason, now))
    if running.cancel_noted_at is not None:
        cancelled = _final(release, ended, State.CANCELLED, "cancelled while an attempt was running", now)
        return Plan(Action.FINISH, "cancelled", cancelled)
    retry = plan_retry(release.occurrence, running.spent, running.budget.lost_workers, outcome, now, jitter)
    return _plan_following(release, ended, retry, now)


def plan_unclaimed_outcome(release: Deliver, outcome: Outcome, now: int, jitter: float, expires_at: int) -> Plan:
    """The plan after a first attempt at record level `none`, which has no claim. A success leaves no record."""
    if outcome.state is State.SUCCEEDED:
        return Plan(Action.FINISH, "delivered")
    running = release.first_record(
        State.RUNNING,
        expires_at,
        revision=0,
        attempt=release.attempt,
        waits=NO_WAITING.over(release.waited_by(outcome.started_at)),
        parking=Parking(release.travels.parkings),
    )
    return plan_outcome(release, running, outcome, now, jitter)


def plan_unstarted(
    release: Release, stored: Execution, state: State, reason: str, now: int, ended_by: int | None = None
) -> Execution:
    """The final record, with the reason, of an execution that was claimed or waited and is not started after all.

    With `ended_by`, a claim for an attempt that never began leaves no trace in the count of attempts.
    """
    is_claimed_now = stored.state is State.RUNNING
    # A claim has noted the waits of its release.
    waits = stored.waits.over(None if is_claimed_now else release.waited_by(now))
    ended = msgspec.structs.replace(_unclaimed(stored, state, stored.attempts), waits=waits)
    attempt = stored.attempt - 1 if is_claimed_now and ended_by is not None else stored.attempt
    end = msgspec.structs.replace(stored.end, ended_by=ended_by)
    return _final(release, msgspec.structs.replace(ended, attempt=attempt, end=end), state, reason, now)


def plan_return(release: Release, stored: Execution, reason: str, planned_at: int) -> Execution:
    """The record of a claimed execution that waits again until `planned_at` (ms), with no attempt used up.

    A duplicate of the message starts it. The release, and its message, still carry their waits. The record
    therefore drops the waits that its claim had noted.
    """
    waiting = _unclaimed(stored, State.PENDING, stored.attempts)
    started_at = release.run_at if stored.claim is None else stored.claim.started_at
    waited = without(stored.waits.waited, release.waited_by(started_at))
    waits = Waiting(planned_at, waited, order=stored.waits.order)
    return msgspec.structs.replace(waiting, attempt=stored.attempt - 1, reason=reason, waits=waits)


def plan_death(release: Release, stored: Execution | None, reason: str, now: int, expires_at: int) -> Execution:
    """The DEAD record of an occurrence that the poller or the sweeper gives up.

    `stored` is its record, which is not final, or None. The DEAD record holds all that a redrive needs.
    """
    if stored is None:
        waits = NO_WAITING.over(release.waited_by(now))
        parking = Parking(release.for_attempt(release.attempt).travels.parkings)
        first = release.first_record(State.DEAD, expires_at, waits=waits, parking=parking)
        return _final(release, first, State.DEAD, reason, now)
    dead = plan_unstarted(release, stored, State.DEAD, reason, now)
    return msgspec.structs.replace(dead, expires_at=expires_at)


def _plan_lost_worker(release: Release, stored: Execution, claim: Claim) -> Plan:
    if stored.is_accepted:
        return plan_outcome(release, stored, silence(release, stored, claim.now), claim.now, 1.0)
    started_at = claim.now if stored.claim is None else stored.claim.started_at
    lost = Outcome(State.WORKER_LOST, started_at, claim.now, error="its deliverer was lost")
    budget = msgspec.structs.replace(stored.budget, lost_workers=stored.budget.lost_workers + 1)
    return plan_outcome(release, msgspec.structs.replace(stored, budget=budget), lost, claim.now, 0.0)


def _plan_following(release: Release, ended: Execution, retry: RetryPlan, now: int) -> Plan:
    if retry.retry_at is None:
        return Plan(Action.FINISH, retry.reason, _final(release, ended, retry.ends, retry.reason, now))
    waits = msgspec.structs.replace(ended.waits, next_attempt_at=retry.retry_at)
    waiting = msgspec.structs.replace(ended, waits=waits)
    return Plan(Action.FOLLOW_UP, retry.reason, waiting, following(release, ended, retry.retry_at))


def _claimed(execution: Execution, release: Deliver, claim: Claim) -> Execution:
    started_at = max(claim.now, release.run_at)
    awaited = awaited_by(release, started_at, claim.worker)
    until = claim.until if claim.worker is None or awaited is None else min(claim.until, awaited.deadline_at)
    of = release.of
    # Other executions of its job learn from `source` that this one does not ask its job (`overlap: skip`).
    kept = Kept(source=of.source, node=of.node)
    if awaited is not None:
        kept = Kept(release.occurrence, None, of.partition_id, of.revision, of.source, of.node)
    is_told = awaited is None and release.attempt == execution.budget.start + 1
    late_ms = max(0, release.lateness_ms(started_at)) if is_told else None
    return execution.changed(
        state=State.RUNNING,
        attempt=release.attempt,
        reason=None,
        expires_at=claim.expires_at,
        claim=Claimed(claim.claimant, until, started_at, awaited, late_ms),
        waits=execution.waits.over(release.waited_by(started_at), claim.order),
        end=NO_END,
        kept=kept,
    )


def _unclaimed(execution: Execution, state: State, attempts: tuple[Attempt, ...]) -> Execution:
    return execution.changed(state=state, attempts=last_of(attempts), claim=None, kept=NOTHING_KEPT)


def _final(release: Release, execution: Execution, state: State, reason: str | None, now: int) -> Execution:
    """The record as it ends; a DEAD one has all that redrive and callback need, of which a node needs nothing."""
    expires_at = kept_until(now, release.occurrence.retention_days, execution.expires_at)
    final = msgspec.structs.replace(execution, state=state, reason=reason, expires_at=expires_at)
    if state is not State.DEAD:
        return final
    is_node = release.of.node is not None
    end = msgspec.structs.replace(final.end, dead_at=now, dead_shard=None if is_node else release.shard)
    return msgspec.structs.replace(final, end=end, kept=final.kept if is_node else Kept(release.occurrence))
