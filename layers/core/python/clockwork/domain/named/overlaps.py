"""`overlap: skip`: the executions of a job are let through one at a time, each if no other one is under way.

A job's *turnstile* is what is kept of that: the execution that was let through last, and how far back all have ended.
An execution that is let through is named there first. The name thus tells of the executions that have begun since the
job became `overlap: skip`. The records from `ended_before` on tell of those that had begun before. These may be many.
Each look therefore reads a bounded number of them, oldest first, and the turnstile keeps how far it came.
"""

from __future__ import annotations

import msgspec

from clockwork.domain.executions import Execution, State
from clockwork.domain.named_jobs import NamedJob, Turnstile
from clockwork.domain.releases import Release

#: The reason in the record of a backfilled fire that waits for another execution of its job to end.
WAITS = "it waits until no other execution of its job is under way"
#: Why an execution is not let through.
UNDER_WAY = "another execution of its job has not ended"
NOT_KNOWN = "it is not known yet whether an older execution of its job has not ended"


class Stretch(msgspec.Struct, frozen=True):
    """The executionIds, both included, between which a look reads what it does not know to have ended."""

    first: str
    last: str

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read."""
        return self.first > self.last


def stretch_of(execution_id: str, job: NamedJob, stile: Turnstile | None, *, is_lost: bool) -> Stretch:
    """The stretch of a look: what is due before the execution, and what may have begun before the job became `skip`.

    `is_lost`: the turnstile cannot be read, so what is due later may have been let through, too.
    """
    is_of_now = stile is not None and stile.skips_from == job.skips_from
    first = stile.ended_before if stile is not None and is_of_now else ""
    last = f"{job.job_id}.~" if is_lost else max(execution_id, begun_by(job))
    return Stretch(first or f"{job.job_id}.", last)


def begun_by(job: NamedJob) -> str:
    """A key behind all executions that had begun before the job became `overlap: skip`; the least if it was made so."""
    return f"{job.job_id}.{job.skips_from_at:013d}.~"


def turned(
    job: NamedJob, stile: Turnstile | None, ended: str, expires_at: int, through: str | None = None
) -> Turnstile:
    """The turnstile in place of the one before (None: there is none). `through`: who is let through, if anybody is."""
    before = Turnstile(job_id=job.job_id, revision=0) if stile is None else stile
    return msgspec.structs.replace(
        before,
        last=through or before.last,
        ended_before=ended,
        skips_from=job.skips_from,
        revision=before.revision + 1,
        expires_at=expires_at,
    )


def is_backfilled(release: Release) -> bool:
    """Whether the release is one of a backfill. It waits for others instead of being skipped, as for a permit."""
    return release.run.startswith("b")


def waits_for_others(execution: Execution) -> bool:
    """Whether an execution waits, and was not let through: so nobody has to wait for it."""
    return execution.state is State.PENDING and execution.reason == WAITS
