"""Send retries and deferred releases: near ones through the queue, far ones through the timeline."""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain import ids
from clockwork.domain.errors import Unavailable
from clockwork.domain.releases import LONGEST_DELAY_SECONDS, Release
from clockwork.domain.storage.rows import row_of
from clockwork.flows.timeline.put import put_and_check
from clockwork.flows.world import World


def send_retries(world: World, releases: Sequence[Release]) -> Sequence[str | None]:
    """Release each again for its `run_at`. Returns for each None if it will surely come, otherwise why not."""
    results: list[str | None] = [None] * len(releases)
    now = world.clock.now()
    near = [i for i, release in enumerate(releases) if not _is_far(release, now)]
    refused = world.releases.send([releases[i] for i in near], now) if near else ()
    for refusal in refused:
        results[near[refusal.index]] = refusal.reason
    for i, release in enumerate(releases):
        if _is_far(release, now):
            results[i] = _keep(world, release)
    return results


def _is_far(release: Release, now: int) -> bool:
    return release.run_at - now > LONGEST_DELAY_SECONDS * 1000


def _keep(world: World, release: Release) -> str | None:
    """Put a far release on the timeline, in the shard of its job. Its key is derived: a repeat puts the same row."""
    key = ids.retry_row_key(release.execution_id, release.attempt, release.run_at)
    row = row_of(release.shard, key, [release], world.row_expires_at(release.run_at))
    try:
        put_and_check(world, [row], ids_are_new=False)
    except Unavailable as error:
        return str(error)
    return None
