"""Which jobs of one request share a row, so that writes are paid by the kilobyte and not by the job.

The answer depends on nothing but the request as it was sent and the instant at which it first came: neither on what
the client allows nor on which of its jobs are valid just now. So a repeat finds every job where it was put before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

#: The version of `groups_of` that new key rows are written for.
PACKING = 1
#: What every job had before there was packing: a row of its own.
NOT_PACKED = 0
#: Of a whole row (bytes). A cancel rewrites the row, so a larger one would save little and make cancels dear.
LARGEST_ROW = 8 * 1024
#: So that a poller knows how much it has in hand before it has decoded a row.
MOST_IN_ROW = 50
MINUTE_MS = 60_000
#: A row's keys, its attributes' names, its TTL and what frames the lists in it (bytes).
ROW_BYTES = 192
#: The place, the instant and the marks of one job beside its payload (bytes).
JOB_BYTES = 24
#: What jobs that are alike share beyond what the request says: mostly what its client has set for them (bytes).
ALIKE_BYTES = 1_200


class Outline(msgspec.Struct, frozen=True):
    """What a request says of one job, be it valid or not: enough to tell its place.

    `at` (ms), or `delay_ms` after the request first came. `payload_bytes` are those that will be delivered.
    `alike` is all else that was said of it: jobs with equal ones share it.
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
    """Jobs that share a row, by their index in the request; a job's place in the row is its place here.

    `at` (ms) is the earliest instant that is asked for: the row's key, whatever becomes of the job that asks for it.
    """

    at: int
    indexes: tuple[int, ...]


def groups_of(version: int, outlines: Iterable[Outline], created_at: int) -> list[Group]:
    """The jobs that share rows, minute by minute and in their order, two in a row at least. Others have their own."""
    if version == NOT_PACKED:
        return []
    minutes: dict[int, list[Outline]] = {}
    for outline in outlines:
        minutes.setdefault(outline.due_at(created_at) // MINUTE_MS, []).append(outline)
    rows = [row for minute in minutes.values() for row in _fill(minute)]
    return [
        Group(min(outline.due_at(created_at) for outline in row), tuple(outline.index for outline in row))
        for row in rows
        if len(row) > 1
    ]


def _fill(outlines: Sequence[Outline]) -> list[list[Outline]]:
    """Rows filled one after the other, each as far as its bytes reach."""
    rows: list[list[Outline]] = []
    room, known = 0, set[bytes]()
    for outline in outlines:
        own = JOB_BYTES + outline.payload_bytes
        shared = ALIKE_BYTES + len(outline.alike)
        if not rows or own + shared * (outline.alike not in known) > room or len(rows[-1]) == MOST_IN_ROW:
            rows.append([])
            room, known = LARGEST_ROW - ROW_BYTES, set()
        room -= own + shared * (outline.alike not in known)
        known.add(outline.alike)
        rows[-1].append(outline)
    return rows
