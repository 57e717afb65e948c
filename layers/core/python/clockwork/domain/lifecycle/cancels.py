"""Cancel tells the truth: what the record says decides between cancelled, running and too late."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from clockwork.domain.executions import Execution, State


class Verdict(StrEnum):
    """The answer to a cancel."""

    CANCELLED = "cancelled"  # no attempt will start
    RUNNING = "running"  # an attempt is under way; no other will follow
    TOO_LATE = "too_late"  # noted; it was or may still be delivered


class CancelPlan(msgspec.Struct, frozen=True):
    """Save `execution` first, if given; if the record has changed meanwhile, plan anew. Then answer."""

    verdict: Verdict
    reason: str
    execution: Execution | None = None


class Cancelled(msgspec.Struct, frozen=True):
    """What the record of a cancelled execution holds if there was none."""

    job_id: str
    execution_id: str
    client_id: str
    due_at: int
    expires_at: int
    now: int


def plan_cancel(stored: Execution | None, cancelled: Cancelled) -> CancelPlan:
    """What a cancel does, given the record: only a claim or an end is stronger than it.

    What was redriven at record level `none` is recorded from then on. It ends all the same, but attempts that left no
    claim may not have been the last ones.
    """
    plan = _plan_recorded(stored, cancelled)
    if stored is None or not stored.unclaimed or plan.verdict is Verdict.TOO_LATE:
        return plan
    reason = f"{plan.reason}; a duplicate from before its redrive may still come, which record level none cannot tell"
    return msgspec.structs.replace(plan, verdict=Verdict.TOO_LATE, reason=reason)


def _plan_recorded(stored: Execution | None, cancelled: Cancelled) -> CancelPlan:
    if stored is None:
        return CancelPlan(Verdict.CANCELLED, "no attempt had started", _new(cancelled))
    if stored.state is State.CANCELLED:
        return CancelPlan(Verdict.CANCELLED, "it is cancelled already")
    if stored.is_final:
        return CancelPlan(Verdict.TOO_LATE, f"it ended {stored.state} before")
    if stored.state is State.RUNNING:
        reason = f"attempt {stored.attempt} is under way; no other follows"
        if stored.cancel_noted_at is not None:
            return CancelPlan(Verdict.RUNNING, reason)
        noted = msgspec.structs.replace(stored, revision=stored.revision + 1, cancel_noted_at=cancelled.now)
        return CancelPlan(Verdict.RUNNING, reason, noted)
    ended = msgspec.structs.replace(
        stored,
        state=State.CANCELLED,
        revision=stored.revision + 1,
        expires_at=cancelled.expires_at,
        next_attempt_at=None,
        cancel_noted_at=cancelled.now,
        reason="cancelled by its client",
    )
    return CancelPlan(Verdict.CANCELLED, "it was waiting for its next attempt", ended)


def plan_unrecorded_cancel(horizon: str, key: str) -> CancelPlan:
    """What a cancel at record level `none` may say, given the shard's horizon read after the row was marked."""
    if horizon < key:
        return CancelPlan(Verdict.CANCELLED, "nobody had it yet")
    return CancelPlan(Verdict.TOO_LATE, "it was released, and at record level none nobody can tell how far it got")


def _new(cancelled: Cancelled) -> Execution:
    return Execution(
        job_id=cancelled.job_id,
        execution_id=cancelled.execution_id,
        client_id=cancelled.client_id,
        due_at=cancelled.due_at,
        state=State.CANCELLED,
        revision=1,
        expires_at=cancelled.expires_at,
        cancel_noted_at=cancelled.now,
        reason="cancelled by its client",
    )
