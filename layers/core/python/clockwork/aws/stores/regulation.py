"""The regulation of clients in the clients table: jobs of a day, slots, permits, circuits and parking notes as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from clockwork.aws.errors import ConditionFailed
from clockwork.aws.session import Aws
from clockwork.aws.stores.pacing import Pacing
from clockwork.aws.stores.table import Item, Table, seconds, written
from clockwork.domain.errors import Unreadable
from clockwork.domain.executions import DAY_MS
from clockwork.domain.lifecycle.parking import Parked
from clockwork.domain.limits.circuits import KNOWN_WITHIN_MS, Circuit
from clockwork.domain.limits.slots import Reach, Reserved
from clockwork.ports import Clock

_CREATED = "created#"
#: For how many days a day's count is kept, from the beginning of that day.
CREATED_DAYS = 2
_PERMITS = "permits#"
_CIRCUIT = "circuit#"
#: The partition of all parking notes, in place of a clientId; no clientId begins with `#`.
_PARKED = "#parked"
#: The most leases of a client that are read at once, so that it is one page. A block beyond them may be free.
LEASES_READ = 500
#: The most clients whose circuits are cached; the one read longest ago makes room.
CAPACITY = 1_000


class AwsRegulation:
    """`ports.Regulation` on a table with the key `clientId` / `item`."""

    def __init__(self, aws: Aws, table: str, clock: Clock) -> None:
        self._table = Table(aws, table, "clientId", "item")
        self._pacing = Pacing(self._table)
        self._clock = clock
        self._read: dict[str, tuple[int, Mapping[str, Circuit]]] = {}

    def count_created(self, client_id: str, day: int, count: int, most: int) -> bool:
        """One conditional update.

        A repeat after a lost answer counts the jobs twice: the client may then create fewer jobs than are allowed,
        never more.
        """
        if count > most:
            return False
        return self._table.update(
            (client_id, f"{_CREATED}{day}"),
            "ADD #created :count SET #expiresAt = :expires",
            "attribute_not_exists(#created) OR #created <= :most_before",
            count=count,
            most_before=most - count,
            expires=seconds((day + CREATED_DAYS) * DAY_MS),
        )

    def created(self, client_id: str, day: int) -> int:
        item = self._table.get(client_id, f"{_CREATED}{day}")
        return 0 if item is None else int(item["created"]["N"])

    def reserve(self, client_id: str, count: int, interval_ms: float, now: int, reach: Reach | None = None) -> Reserved:
        return self._pacing.reserve(client_id, count, interval_ms, now, reach)

    def line_up(self, client_id: str, count: int, interval_ms: float, now: int) -> int:
        return self._pacing.line_up(client_id, count, interval_ms, now)

    def lease(self, client_id: str, block: int, holder: str, now: int, until: int) -> bool:
        return self._table.update(
            (client_id, f"{_PERMITS}{block}"),
            "SET #holder = :holder, #until = :until",
            "attribute_not_exists(#until) OR #until < :now OR #holder = :holder",
            holder=holder,
            now=now,
            until=until,
        )

    def taken(self, client_id: str, now: int) -> frozenset[int]:
        # "~" sorts behind every digit.
        rows = self._table.query_all(client_id, LEASES_READ, between=(_PERMITS, _PERMITS + "~"))
        leased = {row["item"]["S"]: self._table.apart(_leased_until, row) for row in rows}
        # Nobody can lease a block whose row cannot be read.
        taken = (item for item, until in leased.items() if isinstance(until, Unreadable) or until >= now)
        return frozenset(int(item.removeprefix(_PERMITS)) for item in taken)

    def give_back(self, client_id: str, block: int, holder: str, until: int | None = None) -> None:
        permits = (client_id, f"{_PERMITS}{block}")
        is_mine, values = "#holder = :holder", {"holder": holder, "never": 0}
        if until is not None:
            is_mine, values = f"{is_mine} AND #until = :until", {**values, "until": until}
        self._table.update(permits, "SET #until = :never", is_mine, **values)

    def circuits(self, client_id: str) -> Mapping[str, Circuit]:
        now = self._clock.now()
        read_at, circuits = self._read.get(client_id, (0, {}))
        if 0 <= now - read_at < KNOWN_WITHIN_MS:
            return circuits
        # "~" sorts behind every host, since hosts are ASCII.
        items = self._table.query_all(client_id, between=(_CIRCUIT, _CIRCUIT + "~"))
        # TTL deletes what is over, sooner or later.
        circuits = {circuit.host: circuit for circuit in self._table.readable(_circuit, items) if now < circuit.ends_at}
        self._read.pop(client_id, None)
        self._read[client_id] = (now, circuits)
        if len(self._read) > CAPACITY:
            del self._read[next(iter(self._read))]
        return circuits

    def save_circuit(self, before: Circuit | None, after: Circuit) -> bool:
        item = written(
            clientId=after.client_id,
            item=_CIRCUIT + after.host,
            revision=after.revision,
            circuit=msgspec.msgpack.encode(after),
            expiresAt=seconds(after.ends_at),
        )
        self._read.pop(after.client_id, None)
        try:
            if before is None:
                over = "attribute_not_exists(#clientId) OR #expiresAt <= :now"
                self._table.put(item, over, now=seconds(self._clock.now()))
            else:
                self._table.replace(item, "revision", before.revision)
        except ConditionFailed as refused:
            if refused.item is None or not isinstance(self._table.apart(_circuit, refused.item), Unreadable):
                return False
            self._table.store(item)
        return True

    def close_circuit(self, client_id: str, host: str) -> None:
        self._read.pop(client_id, None)
        self._table.delete(client_id, _CIRCUIT + host)

    def parked(self) -> Sequence[Parked]:
        return self._table.readable(_parked, self._table.query_all(_PARKED))

    def note_parked(self, client_id: str, now: int) -> None:
        """A note of this instant or a later one stays as it is."""
        change = "SET #notedAt = :now, #parked = if_not_exists(#parked, :parked)"
        condition = "attribute_not_exists(#notedAt) OR #notedAt < :now"
        self._table.update((_PARKED, client_id), change, condition, now=now, parked=_how(Parked(client_id)))

    def direct_parked(self, parked: Parked, before: Parked | None = None) -> bool:
        change = "SET #parked = :parked, #notedAt = if_not_exists(#notedAt, :never)"
        condition = "attribute_not_exists(#notedAt) OR #notedAt >= :never"  # holds whatever is stored
        values: Item = {"parked": _how(parked), "never": 0}
        if before is not None:
            change += ", #sweptUntil = :sweptUntil"
            is_as_seen = "#sweptUntil = :seen" if before.swept_until else "attribute_not_exists(#sweptUntil)"
            condition = f"#parked = :before AND {is_as_seen}"
            values = {**values, "before": _how(before), "sweptUntil": parked.swept_until}
            values = {**values, "seen": before.swept_until} if before.swept_until else values
        return self._table.update((_PARKED, parked.client_id), change, condition, **values)

    def forget_parked(self, parked: Parked) -> None:
        self._table.delete_if((_PARKED, parked.client_id), "#notedAt = :noted", noted=parked.noted_at)


def _leased_until(row: Item) -> int:
    return int(row["until"]["N"])


def _circuit(item: Item) -> Circuit:
    return msgspec.msgpack.decode(item["circuit"]["B"], type=Circuit)


def _how(parked: Parked) -> bytes:
    return msgspec.msgpack.encode(parked.directions())


def _parked(item: Item) -> Parked:
    parked = msgspec.msgpack.decode(item["parked"]["B"], type=Parked)
    swept_until = int(item["sweptUntil"]["N"]) if "sweptUntil" in item else 0
    return msgspec.structs.replace(parked, noted_at=int(item["notedAt"]["N"]), swept_until=swept_until)
