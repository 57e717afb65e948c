"""Cancels: the record of the execution decides whether the answer is cancelled, running or too late."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from clockwork.domain.executions import NOTHING_KEPT, Execution, State


class Verdict(StrEnum):
    """The answer to a cancel."""

    CANCELLED = "cancelled"  # no attempt will start
    RUNNING = "running"  # an attempt is under way; no other will follow
    TOO_LATE = "too_late"  # noted; it was or may still be delivered


class CancelPlan(msgspec.Struct, frozen=True):
    """The plan of a cancel: save `execution` first, if given, then answer. If the record has changed, plan anew."""

    verdict: Verdict
    reason: str
    execution: Execution | None = None


def cancel_record(
    job_id: str,
    execution_id: str,
    client_id: str,
    due_at: int,
    expires_at: int,
    now: int,
    created_at: int | None,
) -> Execution:
    """The record that a cancel makes if the execution has none, or has none any more; instants in ms."""
    return Execution(
        job_id=job_id,
        execution_id=execution_id,
        client_id=client_id,
        due_at=due_at,
        state=State.CANCELLED,
        revision=1,
        expires_at=expires_at,
        cancel_noted_at=now,
        reason="cancelled by its client",
        created_at=created_at,
    )


def plan_cancel(stored: Execution | None, cancelled: Execution) -> CancelPlan:
    """The plan of a cancel, given the stored record: only a claim or a final state is stronger than a cancel.

    `cancelled`: the record that the cancel makes if there is none. An execution at record level `none` has a record
    from its first failure on. A cancel ends it as well, but answers too late: the first attempt left no claim, and a
    duplicate of its message may start it once more.
    """
    plan = _plan_recorded(stored, cancelled)
    if stored is None or not stored.budget.unclaimed or plan.verdict is Verdict.TOO_LATE:
        return plan
    reason = f"{plan.reason}; a duplicate of its first message may still come, which record level none cannot tell"
    return msgspec.structs.replace(plan, verdict=Verdict.TOO_LATE, reason=reason)


def _plan_recorded(stored: Execution | None, cancelled: Execution) -> CancelPlan:
    if stored is None:
        return CancelPlan(Verdict.CANCELLED, "no attempt had started", cancelled)
    if stored.end.ended_by is not None:
        # Its pause, or a change of its job, had ended it for older releases only.
        return CancelPlan(Verdict.CANCELLED, "no attempt follows", _cancelled(stored, cancelled))
    if stored.state is State.CANCELLED:
        return CancelPlan(Verdict.CANCELLED, "it is cancelled already")
    if stored.is_final:
        return CancelPlan(Verdict.TOO_LATE, f"it ended {stored.state} before")
    if stored.state is State.RUNNING:
        reason = f"attempt {stored.attempt} is under way; no other follows"
        if stored.cancel_noted_at is not None:
            return CancelPlan(Verdict.RUNNING, reason)
        return CancelPlan(Verdict.RUNNING, reason, stored.changed(cancel_noted_at=cancelled.cancel_noted_at))
    return CancelPlan(Verdict.CANCELLED, "it was waiting for its next attempt", _cancelled(stored, cancelled))


def _cancelled(stored: Execution, cancelled: Execution) -> Execution:
    return stored.changed(
        state=State.CANCELLED,
        expires_at=cancelled.expires_at,
        cancel_noted_at=cancelled.cancel_noted_at,
        reason=cancelled.reason,
        waits=stored.waits.over(),
        end=msgspec.structs.replace(stored.end, ended_by=None),
        kept=NOTHING_KEPT,
    )


def plan_unrecorded_cancel(horizon: str, key: str) -> CancelPlan:
    """The answer to a cancel at record level `none`, from the row's key and its shard's horizon.

    The caller must read the horizon after it marked the row as cancelled.
    """
    if horizon < key:
        return CancelPlan(Verdict.CANCELLED, "nobody had it yet")
    return CancelPlan(Verdict.TOO_LATE, "it was released, and at record level none nobody can tell how far it got")
