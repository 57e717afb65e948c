"""Stretches: consecutive fires of a chain that are not delivered and share one record."""

from __future__ import annotations

import msgspec

from clockwork.domain.executions import End, Execution, Skipped, State
from clockwork.domain.fires.chains import fire_after, fires_by, last_fire, ordinal_at, release_of
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.recurrence import Fire


def skipped_execution(
    job: NamedJob, first: Fire, skipped: Skipped, expires_at: int, run: str | None = None, ended_by: int | None = None
) -> Execution:
    """The one record for a stretch of fires that are not delivered, under the executionId of the `first`."""
    release = release_of(job, first)
    release = release if run is None else release.of_its(run=run)
    end = End(skipped=skipped, ended_by=ended_by)
    return release.first_record(State.SKIPPED, expires_at, reason=skipped.reason, end=end)


def stretch_between(job: NamedJob, after_at: int, until_at: int, reason: str) -> tuple[Fire, Skipped] | None:
    """The stretch of the chain's fires due after `after_at` and by `until_at` (ms), and its first; None without one."""
    last = last_fire(job, until_at)
    before = last_fire(job, after_at)
    base_at = job.chain_after_at if before is None else before.base_at
    first = fire_after(job, base_at, ordinal_at(job, base_at))
    if last is None or first is None or first.due_at > until_at:
        return None
    count = fires_by(job, last.base_at) - fires_by(job, base_at) if job.definition.recurrence is not None else 1
    return first, Skipped(first.due_at, last.due_at, count, reason)


def without_first(job: NamedJob, first: Fire, skipped: Skipped, count: int) -> tuple[Fire, Skipped] | None:
    """The fire behind the first `count` of a stretch, and the rest of the stretch from it on; None if none is left.

    The fires are counted one by one: `count` is the number of fires with records of their own, of which few are read at
    once.
    """
    if count >= skipped.count:
        return None
    fire: Fire | None = first
    for _ in range(count):
        fire = fire and fire_after(job, fire.base_at, fire.ordinal)
    if fire is None:
        return None
    return fire, msgspec.structs.replace(skipped, from_at=fire.due_at, count=skipped.count - count)
