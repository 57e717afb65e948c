"""Fires of a recurring job that a pause of its client held back.

`catchUp` decides about them, as after a pause of the job.

A pause of a client changes no job. A fire that is due in the pause is parked, and is judged when it is unparked. The
judgement takes the job's row at that moment, and the begin and end of the pause in the client's row.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from clockwork.domain.clients import Pause
from clockwork.domain.closings import NEVER_ENDS
from clockwork.domain.executions import State
from clockwork.domain.fires.chains import last_fire, ordinal_at
from clockwork.domain.named.changes import skipped_until
from clockwork.domain.named_jobs import NamedJob


def pause_over(pauses: Iterable[Pause], due_at: int) -> Pause | None:
    """The pause, of those that have ended, in which a fire was due; None if it was due in none."""
    return next((one for one in pauses if one.began_at < due_at <= one.ended_at), None)


def is_unwanted_after(job: NamedJob, pause: Pause, due_at: int) -> bool:
    """Whether a fire that was due in the pause of its client stays undelivered, as the job's `catchUp` says."""
    definition = job.definition
    if definition.recurrence is None:
        return False
    job = _from_before(job, pause)
    last = last_fire(job, pause.ended_at) if definition.catch_up == "latest" else None
    if definition.catch_up == "latest" and last is None:
        # The schedule was replaced since, so which of its fires was the last one is not known any more.
        return due_at < pause.ended_at - definition.catch_up_window_seconds * 1000
    return due_at < skipped_until(job, pause.began_at, pause.ended_at)


def _from_before(job: NamedJob, pause: Pause) -> NamedJob:
    """The job with its chain from before the pause on, if it has had its timing for so long.

    A pause of the job itself has moved the chain on behind it, and the fires of the pause were the job's all the same.
    """
    recurrence = job.definition.recurrence
    assert recurrence is not None
    before_at = pause.began_at - recurrence.jitter_seconds * 1000
    is_retimed = any(
        one.before == NEVER_ENDS and one.state is State.SKIPPED and one.after > pause.began_at for one in job.closings
    )
    if is_retimed or job.chain_after_at <= before_at:
        return job
    return msgspec.structs.replace(job, chain_after_at=before_at, chain_ordinal=ordinal_at(job, before_at))
