"""Dead executions: what makes one wait for delivery again, and what puts it away for good."""

from __future__ import annotations

import msgspec

from clockwork.domain import ids
from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.jobs import Occurrence
from clockwork.domain.releases import Release


class RedrivePlan(msgspec.Struct, frozen=True):
    """Save `execution` first, if given, then release `release`. Neither: it cannot be redriven, for this `reason`."""

    reason: str
    execution: Execution | None = None
    release: Release | None = None


def plan_redrive(stored: Execution, partition_id: str, now: int) -> RedrivePlan:
    """DEAD waits again, with a fresh budget of attempts under its old executionId.

    Its age and its relevancy window count from now, and it is recorded whatever its level was. One that was redriven
    and not claimed since gets the same release again: the first may have been lost between record and release.
    """
    if stored.occurrence is None:
        if stored.state is State.DEAD:
            return RedrivePlan("it was discarded, or nobody could ever read it: there is nothing to deliver")
        return RedrivePlan(f"it is {stored.state}: only what is DEAD is redriven")
    if stored.state is State.PENDING:
        return RedrivePlan("it waits already", release=_release(stored, stored.occurrence, partition_id))
    if stored.state is not State.DEAD:
        return RedrivePlan(f"it is {stored.state}: only what is DEAD is redriven")
    occurrence = msgspec.structs.replace(stored.occurrence, created_at=now, record="full")
    waiting = msgspec.structs.replace(
        stored,
        state=State.PENDING,
        revision=stored.revision + 1,
        budget_from=stored.attempt,
        lost_workers=0,
        next_attempt_at=occurrence.due_since,
        cancel_noted_at=None,
        dead_at=None,
        dead_shard=None,
        reason="redriven",
        occurrence=occurrence,
    )
    return RedrivePlan("redriven", waiting, _release(waiting, occurrence, partition_id))


def discarded(stored: Execution) -> Execution | None:
    """A dead execution that is put away, without what it would have delivered; None for any other."""
    if stored.state is not State.DEAD or not stored.needs_attention:
        return None
    reason = f"discarded; {stored.reason}"
    return msgspec.structs.replace(stored, revision=stored.revision + 1, reason=reason, occurrence=None, raw=None)


def _release(waiting: Execution, occurrence: Occurrence, partition_id: str) -> Release:
    return Release(
        job_id=waiting.job_id,
        occurrence=occurrence,
        run_at=waiting.next_attempt_at or occurrence.due_since,
        attempt=waiting.attempt + 1,
        run=ids.decode_execution(waiting.execution_id).run,
        partition_id=None if isinstance(ids.decode_job(waiting.job_id), AnonymousJob) else partition_id,
    )
