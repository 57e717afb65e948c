"""The trails and the operations of clients in dictionaries."""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.errors import Unreadable
from clockwork.domain.requests.operations import Open, Operation
from clockwork.domain.requests.trail import Entry, TrailPage


class MemoryTrail:
    """`ports.Trail` in plain Python."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[str, Entry]] = {}

    def note(self, entry: Entry) -> None:
        self._entries.setdefault(entry.client_id, {})[entry.key] = entry

    def list(self, client_id: str, limit: int, before: str | None) -> TrailPage:
        entries = self._entries.get(client_id, {})
        keys = sorted((key for key in entries if before is None or key < before), reverse=True)[:limit]
        return TrailPage([entries[key] for key in keys], keys[-1] if len(keys) == limit else None)


class MemoryOperations:
    """`ports.Operations` in plain Python."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], Operation] = {}
        self._open: dict[str, Open] = {}

    def find(self, client_id: str, operation_id: str) -> Operation | Unreadable | None:
        return self._records.get((client_id, operation_id))

    def save(self, before: Operation | None, after: Operation) -> bool:
        place = (after.client_id, after.operation_id)
        stored = self._records.get(place)
        if stored != after and (stored and stored.revision) != (before and before.revision):
            return False
        self._records[place] = after
        return True

    def list(self, client_id: str, limit: int, before: str | None) -> Sequence[tuple[str, Operation | Unreadable]]:
        own = {one: record for (client, one), record in self._records.items() if client == client_id}
        ids = sorted((one for one in own if before is None or one < before), reverse=True)[:limit]
        return [(one, own[one]) for one in ids]

    def open(self) -> Sequence[Open]:
        return list(self._open.values())

    def open_of(self, client_id: str) -> Open:
        return self._open.get(client_id, Open(client_id))

    def put_open(self, before: Open, after: Open) -> bool:
        if self.open_of(after.client_id) not in (before, after):
            return False
        self._open.pop(after.client_id, None)
        if after.since:
            self._open[after.client_id] = after
        return True
