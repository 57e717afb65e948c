"""Record the stretches of fires that are not delivered: one record each, under its first fire."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clockwork.domain.chains import skipped_execution, without_first
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, Skipped
from clockwork.domain.named import NamedJob
from clockwork.domain.recurrence import Fire
from clockwork.flows.world import World
from clockwork.ports import Saved


class Stretch(msgspec.Struct, frozen=True):
    """Fires of a job that are skipped together, from `first` on."""

    job: NamedJob
    first: Fire
    skipped: Skipped


def record_skipped(world: World, stretches: Sequence[Stretch]) -> int:
    """Record stretches once all that fires with them is sent; how many fires are recorded now.

    A chain that is read again may begin with fires that were sent before they were missed, or with a stretch that was
    recorded when it was shorter: what is recorded begins at the first fire without a record. Raises Unavailable if it
    is not certain that all is recorded.
    """
    count = 0
    while stretches:
        saved = world.executions.save([(None, _record(world, stretch)) for stretch in stretches])
        for one in saved:
            if one.unavailable is not None:
                raise Unavailable(one.unavailable)
        count += sum(stretch.skipped.count for stretch, one in zip(stretches, saved, strict=True) if one.ok)
        stretches = [
            Stretch(stretch.job, *rest)
            for stretch, one in zip(stretches, saved, strict=True)
            if not one.ok and (rest := without_first(stretch.job, stretch.first, stretch.skipped, _recorded(one)))
        ]
    return count


def _recorded(saved: Saved) -> int:
    """How many fires what is stored in a stretch's place stands for: those of a stretch, or its first fire alone."""
    return saved.actual.skipped.count if saved.actual is not None and saved.actual.skipped is not None else 1


def _record(world: World, stretch: Stretch) -> Execution:
    expires_at = world.execution_expires_at(world.clock.now(), stretch.job.definition.retention_days)
    return skipped_execution(stretch.job, stretch.skipped, expires_at)
