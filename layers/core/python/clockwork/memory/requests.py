"""The trails and the operations of clients in dictionaries, and the notes about their activity."""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.errors import Unreadable
from clockwork.domain.requests.activity import KEPT_MS, Counts
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


class MemoryActivity:
    """`ports.Activity` in plain Python. Hours that have expired are dropped as a later one begins."""

    def __init__(self) -> None:
        self._hours: dict[int, dict[tuple[int, str], Counts]] = {}

    def note(self, counts: Counts) -> None:
        if counts.hour_at not in self._hours:
            for hour_at in [one for one in self._hours if one + KEPT_MS < counts.hour_at]:
                del self._hours[hour_at]
        self._hours.setdefault(counts.hour_at, {})[counts.part, counts.name] = counts

    def list(self, part: int, hour_at: int, from_at: int, limit: int) -> Sequence[Counts | Unreadable]:
        notes = self._hours.get(hour_at, {}).values()
        own = [one for one in notes if one.part == part and one.minute_at >= from_at]
        return sorted(own, key=lambda one: one.name, reverse=True)[:limit]
