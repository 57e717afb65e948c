"""Note the counts of one environment, behind what an invocation was asked for.

How it fails. A note that fails is dropped with its counts, is logged, and the next one follows a minute later. A note
without an answer may be stored, and is not written again. The counts of an environment that is never called again are
lost: those of a minute at most. The store answers late: a note begins only with time enough for all
of its tries. The invocation ends in time then, and its work is not done once more. The counts wait meanwhile.
"""

from __future__ import annotations

import logging

from clockwork.domain.errors import Unavailable
from clockwork.flows.outages import tolerated
from clockwork.flows.world import World

log = logging.getLogger(__name__)


#: A note takes so long (ms) at the most: three tries of a second to connect and three to read, and their pauses.
NOTE_MS = 13_000


def note_counts(world: World, deadline_at: int) -> None:
    """Write the counts that are due to be noted, if any, before `deadline_at` (ms). It raises nothing."""
    latest_at = deadline_at - NOTE_MS
    if world.clock.now() > latest_at:
        return
    with tolerated(world, log, "counts are not noted: %s", {"action": "counts_not_noted"}):
        for counts in world.environment.counters.take(world.clock.now(), world.environment.name):
            if world.clock.now() > latest_at:
                raise Unavailable("the notes before took too long")
            world.activity.note(counts)
