"""What comes too late to be of use ends EXPIRED, wherever it was waiting: recorded at every level, never delivered."""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.releases import Release
from clockwork.domain.relevancy import expired_execution, is_expired
from clockwork.flows.batch import Batch, Item
from clockwork.flows.claim import claim
from clockwork.flows.world import World


def expire_releases(world: World, releases: Sequence[Release]) -> tuple[list[Release], int]:
    """A poller's releases less those that end EXPIRED instead, and how many these are.

    One that has a record already, or could not get one, is released all the same: its claim will decide.
    """
    now = world.clock.now()
    late = [release for release in releases if is_expired(release.occurrence, now)]
    if not late:
        return list(releases), 0
    expires_at = world.execution_expires_at(now)
    saves = world.executions.save([(None, expired_execution(release, now, expires_at)) for release in late])
    ended = {id(release) for release, saved in zip(late, saves, strict=True) if saved.ok}
    return [release for release in releases if id(release) not in ended], len(ended)


def unexpired(batch: Batch, items: Sequence[Item]) -> list[Item]:
    """The items that can still start in time. The others end EXPIRED, as far as their records let them."""
    now = batch.world.clock.now()
    late = [item for item in items if is_expired(item.release.occurrence, max(now, item.release.run_at))]
    if late:
        claim(batch, late)
    return [item for item in items if item not in late]
