"""Put rows on the timeline, then check their shards, so that each row is surely released.

A poller publishes its horizon before it reads. Either the poller's read sees the row, or the check sees the poller's
horizon. The protocol needs no transaction and no trusted clock. A check before the put, or no check, would lose
occurrences.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import msgspec

from clockwork.domain import keys
from clockwork.domain.errors import RefusedForGood, Unavailable
from clockwork.domain.ordering import is_for_its_poller
from clockwork.domain.releases import Refused, Release
from clockwork.domain.storage.rows import releases_of
from clockwork.domain.timeline import Row, Shard
from clockwork.flows.outages import tolerated
from clockwork.flows.timeline.later import put_off
from clockwork.flows.timeline.shards import check_shards
from clockwork.flows.world import World

log = logging.getLogger(__name__)


def put_and_check(world: World, rows: Sequence[Row], *, ids_are_new: bool) -> set[str]:
    """Put rows and make sure that each is released; returns the keys of the rows that were released here.

    `ids_are_new`: nobody has used these ids before, so no row with the same key can be stored. Otherwise a stored row
    stays as it is. Raises Unavailable if it is not certain that every row will be released: then nothing may be
    promised, and the caller may repeat the same call.
    """
    # 1. Put.
    if ids_are_new:
        world.timeline.put(rows)
    else:
        world.timeline.put_new(rows)
    # 2. Check the shards, always after the put.
    shards = check_shards(world, sorted({row.partition_id for row in rows}))
    behind = [row for row in rows if shards[row.partition_id].horizon >= row.key]
    # 3. A poller may have missed a row at or before its horizon: release the occurrences that the row still holds.
    _release_again(world, behind, shards)
    # 4. Start a poller now for each row that no poller would read in time.
    wake_pollers(world, [(row.partition_id, row.key) for row in rows], shards)
    return {row.key for row in behind}


class Placed(msgspec.Struct, frozen=True):
    """The rows of several requests, by key: those that were released here, and those for which that is not certain."""

    released: set[str]
    refused: Mapping[str, Unavailable]


def put_and_check_each(world: World, rows: Sequence[Row]) -> Placed:
    """Put rows of requests that are repeated each by itself, and make sure that each row is released.

    A stored row stays unchanged. A release that the queue refuses is refused for its row alone, so that a repeat does
    not send the others again. Raises only before the first send.
    """
    world.timeline.put_new(rows)
    shards = check_shards(world, sorted({row.partition_id for row in rows}))
    behind = [row for row in rows if row.key <= shards[row.partition_id].horizon]
    held = _held_by(world, behind)
    refused: dict[str, Unavailable] = {}
    for number, error in _release_each(world, [release for _, release in held], shards).items():
        refused.setdefault(held[number][0], error)
    wake_pollers(world, [(row.partition_id, row.key) for row in rows], shards)
    return Placed({row.key for row in behind} - refused.keys(), refused)


def _held_by(world: World, rows: Sequence[Row]) -> list[tuple[str, Release]]:
    """The releases that the rows hold as they are stored, each behind its row's key."""
    found = world.timeline.find([(row.partition_id, row.key) for row in rows]) if rows else ()
    return [(row.key, release) for row in found if row is not None for release in releases_of(row)]


def _release_again(world: World, rows: Sequence[Row], shards: Mapping[str, Shard]) -> None:
    release_now(world, [release for _, release in _held_by(world, rows)], shards)


def release_now(world: World, releases: Sequence[Release], shards: Mapping[str, Shard]) -> None:
    """Release occurrences that lie at or before the horizon of their shard.

    `shards`: as read after the occurrences' rows were put. Releases that the queue refuses for now beside others are
    put off. Raises Unavailable if it took none, and its RefusedForGood if it refused one of them itself. Raises
    Unavailable also for an ordered occurrence that its shard's poller has yet to read in its turn. The caller may
    repeat the same call once that poller has passed it.
    """
    for release in releases:
        if is_for_its_poller(release, shards[release.shard].cursor):
            raise _in_its_turn(release)
    refused = world.releases.send(releases, world.clock.now()) if releases else ()
    if 0 < len(refused) < len(releases) and all(_may_come_later(releases, one) for one in refused):
        put_off(world, [releases[one.index] for one in refused])
    elif refused:
        kind = RefusedForGood if any(one.permanent for one in refused) else Unavailable
        raise kind(f"{len(refused)} of {len(releases)} releases were not taken: {refused[0].reason}")


def _may_come_later(releases: Sequence[Release], refused: Refused) -> bool:
    """Whether a release that was refused may be put off. An ordered one may not: others would pass it."""
    return not refused.permanent and releases[refused.index].occurrence.ordering_key is None


def _release_each(world: World, releases: Sequence[Release], shards: Mapping[str, Shard]) -> dict[int, Unavailable]:
    """As `release_now`, but each for itself: the errors of those that were not taken, by index."""
    refused: dict[int, Unavailable] = {}
    going: list[int] = []
    for index, release in enumerate(releases):
        if is_for_its_poller(release, shards[release.shard].cursor):
            refused[index] = _in_its_turn(release)
        else:
            going.append(index)
    for one in world.releases.send([releases[index] for index in going], world.clock.now()) if going else ():
        kind = RefusedForGood if one.permanent else Unavailable
        refused[going[one.index]] = kind(f"its release was not taken: {one.reason}")
    return refused


def _in_its_turn(release: Release) -> Unavailable:
    return Unavailable(f"shard {release.shard} is being read, in order: what is due there is not released apart")


def wake_pollers(world: World, row_refs: Sequence[tuple[str, str]], shards: Mapping[str, Shard]) -> None:
    """Start the pollers of shards in which a row is due before any poller would read it.

    `row_refs`: the (partition_id, key) of each row. A poller that cannot be started is logged, and never raised.
    """
    now = world.clock.now()
    soon = keys.edge_key(now + world.settings.poller_invoke_seconds * 1000)
    unseen = {partition_id for partition_id, key in row_refs if shards[partition_id].horizon < key <= soon}
    # The poller of an ordered shard stays while work is near, and reads once more after it has released its lease.
    unseen = {p for p in unseen if not (keys.is_ordered(p) and shards[p].lease_until >= now)}
    for partition_id in sorted(unseen):
        # Without that poller the row is kept, and the next tick starts one that finds it: late, not lost.
        with tolerated(
            world,
            log,
            "poller not started: %s",
            {"action": "poller_not_started", "shard": partition_id},
        ):
            world.invoker.poll(partition_id)
