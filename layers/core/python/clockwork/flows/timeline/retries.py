"""Send releases again for a later instant: by the queue, or by a row of the timeline if that is far away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from clockwork.domain.releases import LONGEST_DELAY_SECONDS, Release
from clockwork.domain.storage.rows import row_of_retry
from clockwork.flows.containment import contained
from clockwork.flows.timeline.put import put_and_check
from clockwork.flows.world import World


def send_retries(world: World, releases: Sequence[Release]) -> Mapping[int, str]:
    """Release each again for its `run_at`. Returns, by the index of each release that may not come, why not."""
    now = world.clock.now()
    near = [i for i, release in enumerate(releases) if not _is_far(release, now)]
    refused = world.releases.send([releases[i] for i in near], now) if near else ()
    faults = {near[refusal.index]: refusal.reason for refusal in refused}
    for i, release in enumerate(releases):
        if _is_far(release, now):
            with contained(world.environment.faults, partial(faults.__setitem__, i), release.execution_id):
                _keep(world, release)
    return faults


def _is_far(release: Release, now: int) -> bool:
    return release.run_at - now > LONGEST_DELAY_SECONDS * 1000


def _keep(world: World, release: Release) -> None:
    """Put a far release on the timeline, in the shard of its job. Raises Unavailable."""
    put_and_check(world, [row_of_retry(release, world.row_expires_at(release.run_at))], ids_are_new=False)
