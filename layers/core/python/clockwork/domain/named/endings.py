"""Endings at once: which waiting executions a change of their job ends before they come due, and how.

Of those that run, a receiver that reports later has to hear of the end of its job.
"""

from __future__ import annotations

import msgspec

from clockwork.domain.executions import NOTHING_KEPT, WAITING, Execution, State
from clockwork.domain.ids import ONLY_RUN, decode_execution
from clockwork.domain.named.changes import delivers
from clockwork.domain.named_jobs import NamedJob


class Ending(msgspec.Struct, frozen=True):
    """The record that ends an execution at once; None if it goes on. `reason` says why either way."""

    reason: str
    execution: Execution | None = None


def ended_at_once(job: NamedJob, stored: Execution | None, now: int) -> Ending:
    """The ending of an execution of the job by the job's row as it was just written, at `now` (ms).

    The release that it waits for was made of an earlier row. Only an ending that somebody asked for happens. A running
    attempt that ends by callback goes on, with a cancel noted, as if it had been cancelled itself.
    """
    if stored is None:
        return Ending("it does not wait")
    if stored.awaited is not None and stored.cancel_noted_at is None and not job.is_alive:
        return Ending("its receiver is to hear of the cancel", _noted(stored, now))
    is_run = stored.awaited is not None and stored.awaited.is_run
    if stored.state not in WAITING and not is_run:
        return Ending("it does not wait")
    if not job.is_alive and not is_run:
        return Ending("its job was deleted", _ended(stored, "its job was deleted", None))
    if decode_execution(stored.execution_id).run != ONLY_RUN:
        return Ending("it was asked for by hand")
    for closing in job.closings:
        is_asked = closing.revision == job.revision and closing.state is State.CANCELLED
        if is_asked and closing.covers(job.revision - 1, stored.due_at, is_started=True):
            if delivers(job, stored.due_at):
                return Ending("its job still has this instant")
            if is_run:
                # The nodes of a run wait, though it runs itself.
                return Ending(closing.reason, _noted(stored, now) if stored.cancel_noted_at is None else None)
            return Ending(closing.reason, _ended(stored, closing.reason, closing.revision))
    return Ending("it goes on")


def _noted(stored: Execution, now: int) -> Execution:
    return stored.changed(cancel_noted_at=now)


def _ended(stored: Execution, reason: str, ended_by: int | None) -> Execution:
    return stored.changed(
        state=State.CANCELLED,
        reason=reason,
        waits=stored.waits.over(),
        end=msgspec.structs.replace(stored.end, ended_by=ended_by),
        kept=NOTHING_KEPT,
    )
