"""`overlap: skip`: the executions of a job are let through one at a time, each if no other one is under way.

An execution is under way from its first attempt until it has ended, the waits between its attempts included. It has to
be let through before its first attempt. A job's *turnstile* holds two things: the execution that was let through last,
and the executionId before which all others have ended. The name tells of the executions that have begun since the job
became `overlap: skip`. The records from `ended_before` on tell of those that had begun before. These may be many: each
look reads a bounded number of them, oldest first, and the turnstile keeps how far it came.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clockwork.domain.executions import Execution, State
from clockwork.domain.lifecycle.awaiting import CLAIM_GRACE_MS, is_claimed
from clockwork.domain.named_jobs import NamedJob, Turnstile
from clockwork.domain.releases import Release

#: The reason in the record of a backfilled fire that waits for another execution of its job to end.
WAITS = "it waits until no other execution of its job is under way"
#: Why an execution is not let through.
UNDER_WAY = "another execution of its job has not ended"
NOT_KNOWN = "it is not known yet whether an older execution of its job has not ended"


class Entrant(msgspec.Struct, frozen=True):
    """An execution that asks to be let through. `has_begun`: an attempt of it was made before.

    `order`: in which its message lies (`domain/ordering.py: order_of`).
    """

    execution_id: str
    has_begun: bool
    order: str | None = None

    def may_wait_for(self, other: Execution, now: int) -> bool:
        """Whether another execution is under way, and may go on to its end although this one waits, at `now` (ms).

        In its own order only a live claim counts. Anything else lies behind the head, since the head of an order keeps
        its place until it has ended. Nor does this one wait for what has not begun in another order: that may lie
        behind a head that waits.
        """
        if self.order is None:
            return is_under_way(other)
        if other.waits.order == self.order:
            return is_claimed(other, now)
        return is_under_way(other) and has_begun(other)

    def yields_to(self, other: Execution, now: int, *, may_run: bool) -> bool:
        """Whether it is not let through because of another execution, at `now` (ms).

        A live claim stops it if its attempt `may_run`. Of two that wait, or that are claimed and look, the one that has
        begun goes first, then the one that is due first.
        """
        if other.execution_id == self.execution_id or not self.may_wait_for(other, now):
            return False
        began = has_begun(other) if may_run else _was_tried(other)
        is_first = (not began, other.execution_id) < (not self.has_begun, self.execution_id)
        return is_first or (may_run and is_claimed(other, now))


def may_run(other: Execution, job: NamedJob, stile: Turnstile | None, *, is_lost: bool) -> bool:
    """Whether the attempt of a claimed execution may run; if not, its claimant has yet to look, as the caller does.

    A deliverer claims before it looks. It looks at its job as `overlap: skip` if it claims later than the change, as
    far as clocks differ. It is then named before it starts. A redrive of a record as it was does not look. `is_lost`:
    the turnstile cannot be read, so nobody knows the name. A row of before another change tells nothing.
    """
    is_outdated = stile is not None and stile.skips_from > job.skips_from
    if is_lost or is_outdated or other.kept.source == "record":
        return True
    started_at = 0 if other.claim is None else other.claim.started_at
    looked_before = job.skips_from > 0 and started_at <= job.skips_from_at + CLAIM_GRACE_MS
    return looked_before or was_let_through(other.execution_id, job, stile)


def entrant_of(
    release: Release, stored: Execution | None, order: str | None = None, *, is_claimed: bool = True
) -> Entrant:
    """The execution of a release. `is_claimed`: the claim on its record is the caller's own.

    An attempt may have begun under any other claim, as the looks of others have it. The next claim notes that attempt
    as lost.
    """
    began = stored is not None and (_was_tried(stored) if is_claimed else has_begun(stored))
    return Entrant(release.execution_id, began, order)


def has_begun(stored: Execution) -> bool:
    """Whether an attempt of the execution may have begun, since it was made or redriven."""
    return stored.state is State.RUNNING or _was_tried(stored)


def _was_tried(stored: Execution) -> bool:
    return any(attempt.number > stored.budget.start for attempt in stored.attempts[-1:])


def is_under_way(other: Execution) -> bool:
    """Whether an execution has not ended, as far as others of its job may have to wait for it.

    A backfilled one that waits for others and has not begun was not let through.
    """
    waits_for_others = other.state is State.PENDING and other.reason == WAITS
    return not other.is_final and (has_begun(other) or not waits_for_others)


class Stretch(msgspec.Struct, frozen=True):
    """The executionIds, both included, between which a look reads the records that it does not know to have ended."""

    first: str
    last: str

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read."""
        return self.first > self.last


def stretch_of(execution_id: str, job: NamedJob, stile: Turnstile | None, *, is_lost: bool) -> Stretch:
    """The stretch of a look: what is due before the execution, and what may have begun before the job became `skip`.

    `is_lost`: the turnstile cannot be read. Then an execution that is due later may have been let through, too.
    """
    first = stile.ended_before if stile is not None and _knows(stile, job) else ""
    last = f"{job.job_id}.~" if is_lost else max(execution_id, begun_by(job))
    return Stretch(first or f"{job.job_id}.", last)


def begun_by(job: NamedJob) -> str:
    """A key behind all executions that had begun before the job became `overlap: skip`; the least if it was made so.

    A deliverer's clock may be ahead of the clock of the change, as far as clocks differ.
    """
    return f"{job.job_id}.{job.skips_from_at + CLAIM_GRACE_MS if job.skips_from else 0:013d}.~"


def ended_before(found: Sequence[Execution], own_id: str, otherwise: str) -> str:
    """Before which executionId nothing is under way but `own_id`, given the records that were found, oldest first.

    A job that has an order by now may have releases of before, which wait for all that is under way.
    """
    stays = (one.execution_id for one in found if is_under_way(one))
    return next((execution_id for execution_id in stays if execution_id != own_id), otherwise)


def was_let_through(execution_id: str, job: NamedJob, stile: Turnstile | None) -> bool:
    """Whether the execution was let through, and no other one since, nor has the job been `overlap: allow` since."""
    return stile is not None and stile.last == execution_id and _knows(stile, job)


def turned(
    job: NamedJob, stile: Turnstile | None, ended: str, expires_at: int, through: str | None = None
) -> Turnstile:
    """The turnstile in place of the one before (None: there is none). `through`: who is let through, if anybody is.

    The name of before the job became `overlap: skip` is dropped: others may have begun since.
    """
    before = Turnstile(job_id=job.job_id, revision=0) if stile is None else stile
    return msgspec.structs.replace(
        before,
        last=through or (before.last if _knows(before, job) else None),
        ended_before=ended,
        skips_from=max(before.skips_from, job.skips_from),
        revision=before.revision + 1,
        expires_at=expires_at,
    )


def _knows(stile: Turnstile, job: NamedJob) -> bool:
    """Whether the turnstile was written since the job became `overlap: skip`, as this row of it tells."""
    return stile.skips_from >= job.skips_from


def is_backfilled(release: Release) -> bool:
    """Whether the release is one of a backfill. It waits for others instead of being skipped, as for a permit."""
    return release.of.run.startswith("b")
