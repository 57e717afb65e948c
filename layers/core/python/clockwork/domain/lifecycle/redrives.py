"""Redrives: a dead execution waits for delivery again, or is discarded, which puts it away for good."""

from __future__ import annotations

import msgspec

from clockwork.domain import ids
from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.jobs import Occurrence
from clockwork.domain.releases import Release


class RedrivePlan(msgspec.Struct, frozen=True):
    """The plan of a redrive: save `execution` first, if given, then release `release`.

    If both are None, the execution cannot be redriven, for this `reason`.
    """

    reason: str
    execution: Execution | None = None
    release: Release | None = None


def is_redrivable(stored: Execution) -> bool:
    """Whether a redrive makes an occurrence of this record that is delivered anew: it is DEAD, and not put away.

    One that was redriven before and not claimed since is none: it waits already.
    """
    return stored.state is State.DEAD and stored.occurrence is not None


def plan_redrive(stored: Execution, partition_id: str, now: int) -> RedrivePlan:
    """The plan by which a DEAD execution waits again, with a fresh budget of attempts under its old executionId.

    Its age and its relevancy window count from `now` (ms), and it is recorded whatever its record level was. If it was
    redriven before and not claimed since, the plan has the same release again: the first one may have been lost after
    the record was saved.
    """
    if stored.state is State.PENDING and stored.occurrence is not None:
        return RedrivePlan("it waits already", release=_release(stored, stored.occurrence, partition_id))
    if stored.state is not State.DEAD:
        return RedrivePlan(f"it is {stored.state}: only what is DEAD is redriven")
    if stored.occurrence is None:
        return RedrivePlan("it was discarded, or nobody could ever read it: there is nothing to deliver")
    occurrence = msgspec.structs.replace(stored.occurrence, created_at=now, record="full")
    waiting = stored.changed(
        state=State.PENDING,
        budget_from=stored.attempt,
        lost_workers=0,
        next_attempt_at=occurrence.due_since,
        cancel_noted_at=None,
        dead_at=None,
        dead_shard=None,
        waited=None,
        reason="redriven",
        occurrence=occurrence,
    )
    return RedrivePlan("redriven", waiting, _release(waiting, occurrence, partition_id))


def place_of(dead: Execution) -> tuple[int, int]:
    """The place of an execution among those that are redriven together: its due instant (ms), then its sequence."""
    return dead.due_at, 0 if dead.occurrence is None else dead.occurrence.sequence


def discarded(stored: Execution) -> Execution | None:
    """The dead execution as put away: DEAD, but without its occurrence and raw bytes.

    None if it is not DEAD, or was put away before.
    """
    if stored.state is not State.DEAD or not stored.needs_attention:
        return None
    return stored.changed(reason=f"discarded; {stored.reason}", occurrence=None, raw=None)


def _release(waiting: Execution, occurrence: Occurrence, partition_id: str) -> Release:
    return Release(
        job_id=waiting.job_id,
        occurrence=occurrence,
        run_at=waiting.next_attempt_at or occurrence.due_since,
        attempt=waiting.attempt + 1,
        run=ids.decode_execution(waiting.execution_id).run,
        partition_id=None if isinstance(ids.decode_job(waiting.job_id), AnonymousJob) else partition_id,
    )
