"""Jobs of a day, slots, permits, circuits and parking notes in dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clockwork.domain.circuits import Circuit
from clockwork.domain.parking import Parked


class MemoryRegulation:
    """`ports.Regulation` in plain Python."""

    def __init__(self) -> None:
        self._created: dict[tuple[str, int], int] = {}
        self._next_slot: dict[str, int] = {}
        self._blocks: dict[tuple[str, int], tuple[str, int]] = {}
        self._circuits: dict[tuple[str, str], Circuit] = {}
        self._parked: dict[str, Parked] = {}

    def count_created(self, client_id: str, day: int, count: int, most: int) -> bool:
        created = self._created.get((client_id, day), 0) + count
        if created > most:
            return False
        self._created[client_id, day] = created
        return True

    def reserve(self, client_id: str, count: int, interval_ms: float, now: int) -> int:
        first_at = max(now, self._next_slot.get(client_id, 0))
        self._next_slot[client_id] = first_at + round(count * interval_ms)
        return first_at

    def lease(self, client_id: str, block: int, holder: str, now: int, until: int) -> bool:
        owner, ends_at = self._blocks.get((client_id, block), ("", 0))
        if owner != holder and ends_at >= now:
            return False
        self._blocks[client_id, block] = (holder, until)
        return True

    def circuits(self, client_id: str) -> Mapping[str, Circuit]:
        return {host: circuit for (c, host), circuit in self._circuits.items() if c == client_id}

    def save_circuit(self, before: Circuit | None, after: Circuit) -> bool:
        stored = self._circuits.get((after.client_id, after.host))
        if (stored and stored.revision) != (before and before.revision):
            return False
        self._circuits[after.client_id, after.host] = after
        return True

    def close_circuit(self, client_id: str, host: str) -> None:
        self._circuits.pop((client_id, host), None)

    def parked(self) -> Sequence[Parked]:
        return list(self._parked.values())

    def note_parked(self, parked: Parked) -> None:
        self._parked[parked.client_id] = parked

    def forget_parked(self, client_id: str) -> None:
        self._parked.pop(client_id, None)
