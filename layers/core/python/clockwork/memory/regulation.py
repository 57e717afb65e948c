"""Jobs of a day, slots, permits, circuits and parking notes in dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from clockwork.domain.lifecycle.parking import Parked
from clockwork.domain.limits.circuits import Circuit
from clockwork.domain.limits.slots import Reach, Reserved, slots_until
from clockwork.ports import Clock


class MemoryRegulation:
    """`ports.Regulation` in plain Python."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._created: dict[tuple[str, int], int] = {}
        self._next_slot_us: dict[str, int] = {}
        self._line_us: dict[str, int] = {}
        self._blocks: dict[tuple[str, int], tuple[str, int]] = {}
        self._circuits: dict[tuple[str, str], Circuit] = {}
        self._parked: dict[str, Parked] = {}

    def count_created(self, client_id: str, day: int, count: int, most: int) -> bool:
        created = self._created.get((client_id, day), 0) + count
        if created > most:
            return False
        self._created[client_id, day] = created
        return True

    def created(self, client_id: str, day: int) -> int:
        return self._created.get((client_id, day), 0)

    def reserve(self, client_id: str, count: int, interval_ms: float, now: int, reach: Reach | None = None) -> Reserved:
        next_us = self._next_slot_us.get(client_id, 0)
        if next_us < now * 1000:
            self._line_us.pop(client_id, None)
        first_us, line_until = max(now * 1000, next_us), self._line_us.get(client_id, 0) // 1000
        latest = None if reach is None else max(now, reach.latest(line_until, now))
        count = slots_until(first_us, count, interval_ms, latest)
        if count:
            self._next_slot_us[client_id] = first_us + round(count * interval_ms * 1000)
        return Reserved(first_us // 1000, count, line_until)

    def line_up(self, client_id: str, count: int, interval_ms: float, now: int) -> int:
        ends = self._line_us.get(client_id, 0), self._next_slot_us.get(client_id, 0), now * 1000
        self._line_us[client_id] = max(ends) + round(count * interval_ms * 1000)
        return max(ends) // 1000

    def lease(self, client_id: str, block: int, holder: str, now: int, until: int) -> bool:
        owner, ends_at = self._blocks.get((client_id, block), ("", 0))
        if owner != holder and ends_at >= now:
            return False
        self._blocks[client_id, block] = (holder, until)
        return True

    def taken(self, client_id: str, now: int) -> frozenset[int]:
        leases = self._blocks.items()
        return frozenset(block for (client, block), (_, until) in leases if client == client_id and until >= now)

    def give_back(self, client_id: str, block: int, holder: str, until: int | None = None) -> None:
        owner, ends_at = self._blocks.get((client_id, block), ("", 0))
        if owner == holder and until in (None, ends_at):
            del self._blocks[client_id, block]

    def circuits(self, client_id: str) -> Mapping[str, Circuit]:
        now, found = self._clock.now(), self._circuits.items()
        return {host: circuit for (c, host), circuit in found if c == client_id and now < circuit.ends_at}

    def save_circuit(self, before: Circuit | None, after: Circuit) -> bool:
        stored = self.circuits(after.client_id).get(after.host)
        if (stored and stored.revision) != (before and before.revision):
            return False
        self._circuits[after.client_id, after.host] = after
        return True

    def close_circuit(self, client_id: str, host: str) -> None:
        self._circuits.pop((client_id, host), None)

    def parked(self) -> Sequence[Parked]:
        return list(self._parked.values())

    def note_parked(self, client_id: str, now: int) -> None:
        parked = self._parked.get(client_id, Parked(client_id))
        self._parked[client_id] = msgspec.structs.replace(parked, noted_at=max(parked.noted_at, now))

    def direct_parked(self, parked: Parked, before: Parked | None = None) -> bool:
        stored = self._parked.get(parked.client_id)
        if before is not None and (
            stored is None or not stored.goes_like(before) or stored.swept_until != before.swept_until
        ):
            return False
        stored = stored or Parked(parked.client_id)
        swept_until = stored.swept_until if before is None else parked.swept_until
        self._parked[parked.client_id] = msgspec.structs.replace(
            parked, noted_at=stored.noted_at, swept_until=swept_until
        )
        return True

    def forget_parked(self, parked: Parked) -> None:
        stored = self._parked.get(parked.client_id)
        if stored is not None and stored.noted_at == parked.noted_at:
            del self._parked[parked.client_id]
