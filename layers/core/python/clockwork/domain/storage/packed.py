"""Packed rows: many occurrences in one row, which holds their common fields once.

Of each occurrence it holds only the place, the instant and the payload besides.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from clockwork.domain.jobs import Occurrence
from clockwork.targets.message import Payload

_NOTHING = Payload(b"")
_encoder = msgspec.msgpack.Encoder()


class PackedJob(msgspec.Struct, frozen=True, array_like=True):
    """One occurrence: its place in the row, and its differences from entry `like` of the row's `alike`."""

    place: int
    later_ms: int
    like: int
    body: bytes
    is_text: bool


class Packed(msgspec.Struct, frozen=True):
    """A packed row. `alike` holds occurrences without payload, each due at the earliest instant of the row."""

    alike: tuple[Occurrence, ...]
    jobs: tuple[PackedJob, ...]


def pack(occurrences: Mapping[int, Occurrence]) -> Packed:
    """Pack occurrences, given by their place in the row."""
    earliest_at = min(occurrence.due_at for occurrence in occurrences.values())
    alike: dict[bytes, int] = {}
    kinds: list[Occurrence] = []
    jobs = []
    for place, occurrence in occurrences.items():
        kind = msgspec.structs.replace(occurrence, due_at=earliest_at, payload=_NOTHING)
        like = alike.setdefault(_encoder.encode(kind), len(kinds))
        if like == len(kinds):
            kinds.append(kind)
        payload = occurrence.payload
        jobs.append(PackedJob(place, occurrence.due_at - earliest_at, like, payload.body, payload.is_text))
    return Packed(tuple(kinds), tuple(jobs))


def unpack(packed: Packed) -> dict[int, Occurrence]:
    """The occurrences as they were, by their place in the row. Raises ValueError if a job refers to a missing entry."""
    return {job.place: _unpack_one(packed, job) for job in packed.jobs}


def _unpack_one(packed: Packed, job: PackedJob) -> Occurrence:
    if not 0 <= job.like < len(packed.alike) or job.place < 0:
        raise ValueError(f"the job at place {job.place} is like entry {job.like} of {len(packed.alike)}")
    kind = packed.alike[job.like]
    return msgspec.structs.replace(kind, due_at=kind.due_at + job.later_ms, payload=Payload(job.body, job.is_text))
