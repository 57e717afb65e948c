"""The history of a run: the events in order, enough to repeat, compare and explain it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from clockwork.domain.executions import Execution
from clockwork.domain.releases import Delivery, Release
from clockwork.domain.timeline import Row, Shard
from clockwork.ports import Lease

Entry = tuple[int, str, str, object, tuple[object, ...]]


class History:
    """A list of entries: (true time, name of the actor, call or event, the fault that struck it, its objects)."""

    def __init__(self, began_at: int) -> None:
        self._began_at = began_at
        self.entries: list[Entry] = []

    def add(self, at: int, who: str, what: str, fault: object, about: tuple[object, ...]) -> None:
        """Adds an entry. The objects it is about must not change any more."""
        self.entries.append((at, who, what, fault, about))

    def lines(self, about: str = "") -> Iterator[str]:
        """Readable lines of the entries that mention `about`, and of all faults."""
        for at, who, what, fault, subject in self.entries:
            told = " ".join(_tell(part) for part in subject)
            if about in told or fault is not None:
                struck = f"  !! {fault}" if fault is not None else ""
                yield f"{(at - self._began_at) / 1000:10.3f}  {who:<22} {what:<20} {told}{struck}"

    def digest(self) -> str:
        """A digest: equal for two runs if and only if they went the same way."""
        sha = hashlib.sha256()
        for entry in self.entries:
            sha.update(repr(entry).encode())
        return sha.hexdigest()


def _tell(part: object) -> str:
    if isinstance(part, Row):
        return f"{part.partition_id}/{part.key}{'(cancelled)' if part.cancelled else ''}"
    if isinstance(part, Release | Delivery):
        return f"{part.job_id}@{part.occurrence.due_at}#{part.attempt}"
    if isinstance(part, Execution):
        return f"{part.job_id}@{part.due_at}#{part.attempt}={part.state}r{part.revision}"
    if isinstance(part, Shard | Lease):
        return f"{part.partition_id} epoch {part.epoch} cursor {part.cursor[:14]} horizon {part.horizon[:14]}"
    if isinstance(part, str) or not isinstance(part, Sequence):
        return str(part)
    return "[" + " ".join(_tell(inner) for inner in part) + "]"
