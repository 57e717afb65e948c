"""Packing: jobs of one request share rows, so that writes are paid by the kilobyte and not by the job.

The answer depends only on the request as it was sent and on the instant at which it first came. It depends neither on
the client's settings nor on the validity of the request's jobs just now. A repeat therefore finds every job in its
first place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

#: The most bytes of a whole row. A cancel rewrites the row, so larger rows would save little and make cancels costly.
LARGEST_ROW = 8 * 1024
#: The most jobs in a row, so that a poller knows how much it may hold before it has decoded the row.
MOST_IN_ROW = 50
MINUTE_MS = 60_000
#: The bytes of a row's keys, attribute names and TTL, and of the framing of its lists.
ROW_BYTES = 192
#: The bytes of a row that its jobs may take.
ROOM = LARGEST_ROW - ROW_BYTES
#: The bytes of one job's place, instant and marks, beside its payload.
JOB_BYTES = 24
#: The bytes that alike jobs share beyond the contents of the request: mostly their client's settings.
ALIKE_BYTES = 1_200


class Outline(msgspec.Struct, frozen=True):
    """The outline of one job in a request, valid or not: enough to decide its row and its place in it.

    The job is due `at` (ms), or `delay_ms` after the request first came. `payload_bytes` counts the bytes that will be
    delivered. `alike` is all else that the request says of the job; jobs with an equal `alike` share it in a row.
    """

    index: int
    at: int | None
    delay_ms: int
    payload_bytes: int
    alike: bytes

    def due_at(self, created_at: int) -> int:
        """When it is due (ms)."""
        return created_at + self.delay_ms if self.at is None else self.at


class Group(msgspec.Struct, frozen=True):
    """Jobs that share a row, by their index in the request. A job's place in the row is its position in `indexes`.

    `at` (ms) is the earliest instant that any of them asks for. It makes the row's key, even if that job is refused.
    """

    at: int
    indexes: tuple[int, ...]


def groups_of(outlines: Iterable[Outline], created_at: int) -> list[Group]:
    """The groups of jobs that share rows, minute by minute and in their order, of two jobs at least.

    Every other job has a row of its own.
    """
    minutes: dict[int, list[Outline]] = {}
    for outline in outlines:
        minutes.setdefault(outline.due_at(created_at) // MINUTE_MS, []).append(outline)
    rows = [row for minute in minutes.values() if len(minute) > 1 for row in _fill(minute)]
    return [
        Group(min(outline.due_at(created_at) for outline in row), tuple(outline.index for outline in row))
        for row in rows
        if len(row) > 1
    ]


def _fill(outlines: Sequence[Outline]) -> list[list[Outline]]:
    """Fill rows one after the other, each up to its most bytes or its most jobs."""
    rows: list[list[Outline]] = []
    room, known = ROOM, set[bytes]()
    for outline in outlines:
        own = JOB_BYTES + outline.payload_bytes
        shared = ALIKE_BYTES + len(outline.alike)
        if not rows or own + shared * (outline.alike not in known) > room or len(rows[-1]) == MOST_IN_ROW:
            rows.append([])
            room, known = ROOM, set()
        room -= own + shared * (outline.alike not in known)
        known.add(outline.alike)
        rows[-1].append(outline)
    return rows
