"""Shards with many rows, to be polled in memory: nearly all rows are far ahead, or all of them are due."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator

import msgspec

from bench.stubbed.canned import MINUTE_MS, NOW, PARTITION, due_rows
from clockwork.domain import keys
from clockwork.domain.timeline import Page, Row
from clockwork.flows.hardening import hardened_releases
from clockwork.flows.poll.shard import poll_shard
from clockwork.flows.poll.visit import PollReport
from clockwork.memory.release_queue import MemoryReleaseQueue
from clockwork.memory.shards import MemoryShards
from clockwork.memory.timeline import MemoryTimeline
from clockwork.memory.world import MemoryClockwork

_HOUR_MS = 3_600_000


class Sink(MemoryReleaseQueue):
    """A release queue that keeps nothing: each message is made and dropped."""

    def put(self, body: str, delay: int = 0) -> str:
        """Drop a message."""
        return f"{len(body)} bytes in {delay} s"


class AllDue(MemoryTimeline):
    """A timeline of `count` rows that are due within a minute; each row is made when it is read."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count
        (self._row,) = due_rows(1)

    def read(self, partition_id: str, after: str, until: str, limit: int) -> Page:
        """Make the first rows after `after`, up to and with `until`, at most `limit`."""
        first = bisect_right(range(self._count), after, key=self._key)
        last = min(first + limit, bisect_right(range(self._count), until, key=self._key))
        rows = [Row(partition_id, self._key(n), self._row.blob, self._row.expires_at) for n in range(first, last)]
        return Page(tuple(rows), more=last < self._count)

    def _key(self, place: int) -> str:
        return keys.row_key(NOW + place * MINUTE_MS // self._count, f"{place:022d}")


def polls(timeline: MemoryTimeline) -> Callable[[], PollReport]:
    """A function that polls the shard of this timeline to its end; every call does so as if for the first time."""
    clockwork = MemoryClockwork()
    clockwork.clock.at = NOW
    releases = hardened_releases(clockwork.world, Sink(clockwork.clock))
    world = clockwork.world.with_(timeline=timeline, releases=releases)

    def poll() -> PollReport:
        shards = MemoryShards()
        shards.register(PARTITION)
        return poll_shard(world.with_(shards=shards), PARTITION, NOW + _HOUR_MS)

    return poll


def pending(count: int, due: int) -> MemoryTimeline:
    """A timeline of `count` rows, of which `due` are due and the others far ahead."""
    timeline = MemoryTimeline()
    timeline.put(due_rows(due))
    timeline.put(list(_far_ahead(count - due)))
    return timeline


def _far_ahead(count: int) -> Iterator[Row]:
    (row,) = due_rows(1)
    for place in range(count):
        yield msgspec.structs.replace(row, key=keys.row_key(NOW + _HOUR_MS + place, f"{place:022d}"))
