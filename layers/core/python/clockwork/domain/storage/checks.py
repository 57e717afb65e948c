"""Checks of tickets: rows that name the sent tickets of a pool, so that lost tickets are made again.

A check has the execution and attempt of its ticket. It lies in a row of the timeline, due days later, many to a row. A
check reaches a deliverer as every row does, and the deliverer reads the record. A check starts no attempt. If the
execution still waits for the check's attempt, its ticket is sent to the pool again, with a check of its own. A series
of checks therefore ends with the attempt and not before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clockwork.domain import ids, keys
from clockwork.domain.executions import Execution
from clockwork.domain.releases import Check, Deliver, Release, Travels
from clockwork.domain.storage.codec import encode_pressed
from clockwork.domain.timeline import Row

#: A row holds so many checks, and payloads of so many bytes, at the most; one check may be more.
MOST_IN_ROW = 100
MOST_BYTES_IN_ROW = 200_000
#: The instants of checks have a grain of so much of their wait (a 72nd): an hour of three days.
GRAINS_OF_WAIT = 72


def check_of(release: Release, attempt: int, at: int) -> Check:
    """The check of the ticket of an attempt, for the instant `at` (ms)."""
    return Check(release.of, release.occurrence, at, attempt)


def check_rows(releases: Sequence[Release], at: int, grain_ms: int, kept_ms: int) -> list[Row]:
    """The rows of the checks of tickets that are sent together, all in the shard of the first one.

    They are due by `at` (ms), up to twice `grain_ms` before it, and are kept for `kept_ms` past that. The instant of a
    row is the same for all `at` of one grain, and its key derives from its content. A repeated send of the same tickets
    within a grain therefore writes the same rows. The instants of different rows are spread over a grain.
    """
    rows = []
    for some in _portions(releases):
        first = some[0]
        due_at = at - at % grain_ms - grain_ms + ids.spread(grain_ms, "checks", first.execution_id, first.attempt)
        blob = encode_pressed([check_of(release, release.attempt, due_at) for release in some])
        key = keys.row_key(due_at, ids.derive("checks", ids.digest_of([blob])))
        rows.append(Row(releases[0].shard, key, blob, due_at + kept_ms))
    return rows


def _portions(releases: Sequence[Release]) -> Iterator[list[Release]]:
    some: list[Release] = []
    size = 0
    for release in releases:
        more = len(release.occurrence.payload.body)
        if some and (len(some) == MOST_IN_ROW or size + more > MOST_BYTES_IN_ROW):
            yield some
            some, size = [], 0
        some.append(release)
        size += more
    if some:
        yield some


def ticket_of(check: Check, stored: Execution | None) -> Deliver:
    """The release as which a check is sent again. Nothing checks that yet.

    It was parked no less often than its record `stored` says: so it is not taken for a duplicate from before.
    """
    parkings = 0 if stored is None else stored.parking.number + 1
    return Deliver(check.of, check.occurrence, check.run_at, check.attempt, travels=Travels(parkings))
