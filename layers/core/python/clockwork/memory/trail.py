"""The trails of clients in dictionaries."""

from __future__ import annotations

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
