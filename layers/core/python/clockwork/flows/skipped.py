"""Record skipped fires: one SKIPPED record for each stretch of them, under the executionId of its first fire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, Skipped
from clockwork.domain.fires.chains import fire_after
from clockwork.domain.fires.stretches import skipped_execution, stretch_between, without_first
from clockwork.domain.ids import ExecutionId, only_execution
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.recurrence import Fire
from clockwork.flows.containment import Faults, why
from clockwork.flows.world import World
from clockwork.ports import Saved

#: The most records of a job that are read, newest first, to find out which fires of a stretch have one.
LOOKED_AT = 1_000


class Stretch(msgspec.Struct, frozen=True):
    """Consecutive fires of a job that are skipped together, from `first` on.

    `run`: the last part of their executionIds if they are a backfill's, and not the schedule's. `ended_by`: a release
    of this revision or a later one delivers them all the same.
    """

    job: NamedJob
    first: Fire
    skipped: Skipped
    run: str | None = None
    ended_by: int | None = None


class Recorded(msgspec.Struct):
    """The result for stretches: how many fires were recorded now, and which stretches were not, by index, and why.

    `uncertain`: no store gave an answer, so they are to be recorded again. `refused`: they can never be recorded.
    """

    count: int = 0
    uncertain: dict[int, str] = {}
    refused: dict[int, str] = {}

    def fail(self, faults: Faults, index: int, error: Exception) -> None:
        """Note why a stretch is not recorded."""
        kind = self.uncertain if isinstance(error, Unavailable) else self.refused
        kind[index] = why(faults, error, "a stretch of skipped fires")


def record_skipped(world: World, stretches: Sequence[Stretch]) -> None:
    """Record stretches of one client. Raises Unavailable if it is not certain that every fire is recorded."""
    recorded = record_each_skipped(world, stretches)
    for reason in (*recorded.uncertain.values(), *recorded.refused.values()):
        raise Unavailable(reason)


def record_each_skipped(world: World, stretches: Sequence[Stretch]) -> Recorded:
    """Record stretches of skipped fires, each for itself: whatever one raises, the others are recorded.

    A chain that is read again may begin with fires that were sent before they were missed, or with a stretch that was
    recorded when it was shorter. The new record then begins at the first fire without a record.
    """
    recorded = Recorded()
    waiting = dict(enumerate(stretches))
    while waiting:
        waiting = _record(world, waiting, recorded)
    return recorded


def _record(world: World, stretches: Mapping[int, Stretch], recorded: Recorded) -> dict[int, Stretch]:
    """Save a record of each stretch; returns what is left of those that met another record, by the same indexes."""
    faults = world.environment.faults
    changes: dict[int, tuple[None, Execution]] = {}
    rests: dict[int, Stretch] = {}
    for index, stretch in stretches.items():
        try:
            changes[index] = (None, _record_of(world, stretch))
        except Exception as error:  # noqa: BLE001 - whatever one stretch raises, the others are recorded
            recorded.fail(faults, index, error)
    saves = world.executions.save(list(changes.values())) if changes else ()
    for index, saved in zip(changes, saves, strict=True):
        if saved.unavailable is not None:
            (recorded.refused if saved.is_defect else recorded.uncertain)[index] = saved.unavailable
            continue
        recorded.count += stretches[index].skipped.count * saved.ok
        try:
            if (rest := _behind(world, stretches[index], saved)) is not None:
                rests[index] = rest
        except Exception as error:  # noqa: BLE001 - whatever one stretch raises, the others are recorded
            recorded.fail(faults, index, error)
    return rests


def _behind(world: World, stretch: Stretch, saved: Saved) -> Stretch | None:
    """The fires of a stretch that have no record yet; None if there are none. `saved`: the answer to its save."""
    if saved.ok:
        return None
    stored = None if saved.actual is None else saved.actual.end.skipped
    if stretch.run is not None:
        return None if stored is not None else _a_moment_later(stretch)
    job, first, skipped = stretch.job, stretch.first, stretch.skipped
    if stored is not None:
        rest = stretch_between(job, stored.to_at, skipped.to_at, skipped.reason)
    else:
        rest = without_first(job, first, skipped, _fired(world, stretch))
    return None if rest is None else Stretch(stretch.job, *rest, stretch.run, stretch.ended_by)


def _a_moment_later(stretch: Stretch) -> Stretch | None:
    """The rest of a backfill whose first fire has a record of its own: told under the next millisecond."""
    if stretch.skipped.count == 1:
        return None
    first = msgspec.structs.replace(stretch.first, due_at=stretch.first.due_at + 1)
    skipped = msgspec.structs.replace(stretch.skipped, from_at=first.due_at, count=stretch.skipped.count - 1)
    return msgspec.structs.replace(stretch, first=first, skipped=skipped)


def _fired(world: World, stretch: Stretch) -> int:
    """How many fires in a row, from the stretch's first on, have records of their own."""
    job, last_at = stretch.job, stretch.skipped.to_at
    executions = world.executions.list(job.job_id, LOOKED_AT, str(ExecutionId(job.job_id, last_at + 1, "")))
    fired = {execution.execution_id for execution in executions if execution.end.skipped is None}
    count, fire = 1, fire_after(job, stretch.first.base_at, stretch.first.ordinal)
    while fire is not None and only_execution(job.job_id, fire.due_at) in fired:
        count, fire = count + 1, fire_after(job, fire.base_at, fire.ordinal)
    return count


def _record_of(world: World, stretch: Stretch) -> Execution:
    expires_at = world.execution_expires_at(world.clock.now(), stretch.job.definition.retention_days)
    first, skipped = stretch.first, stretch.skipped
    return skipped_execution(stretch.job, first, skipped, expires_at, stretch.run, stretch.ended_by)
