"""The pacing of clients in the clients table: one row for each, with its next free slot and the end of its line."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from clockwork.aws.errors import ConditionFailed
from clockwork.aws.stores.table import Item, Table
from clockwork.domain.errors import Unavailable
from clockwork.domain.limits.slots import TURN_MS, Reach, Reserved, slots_until

_ROW = "pacing"
#: An instant later than any slot (ms), for a reservation that has no latest instant.
LAST_MS = 10**15
#: Tries of one reservation. Each that fails lost against a reservation of another worker, or against a clock that is
#: behind the others'.
MOST_TRIES = 20


class _Row(NamedTuple):
    """The next free slot of a client and the end of its line (µs; 0: none)."""

    next_us: int
    line_us: int

    @classmethod
    def of(cls, item: Item | None) -> _Row:
        return cls(*(int(item[name]["N"]) if item and name in item else 0 for name in ("nextSlotUs", "lineUs")))


class Pacing:
    """The slots and the line of `ports.Regulation`, on a table with the key `clientId` / `item`."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def reserve(self, client_id: str, count: int, interval_ms: float, now: int, reach: Reach | None = None) -> Reserved:
        """One conditional update in a busy time; two after a pause, or if fewer slots than `count` are of use.

        Raises Unavailable if others changed the row between each of many reads and the write that followed.
        """
        reach = Reach(LAST_MS, LAST_MS) if reach is None else Reach(max(now, reach.free), max(now, reach.beside))
        for _ in range(MOST_TRIES):
            try:
                return self._reserve_next(client_id, count, interval_ms, now, reach)
            except ConditionFailed as refused:
                row = _Row.of(refused.item)
            is_idle = row.next_us < now * 1000
            line_until = 0 if is_idle else row.line_us // 1000
            first_us = max(now * 1000, row.next_us)
            count = slots_until(first_us, count, interval_ms, reach.latest(line_until, now))
            if count == 0:
                return Reserved(first_us // 1000, 0, line_until)
            if is_idle:
                # If another reservation came between there is a slot to follow now.
                with suppress(ConditionFailed):
                    return self._reserve_idle(client_id, count, interval_ms, now)
        raise Unavailable(f"the slots of {client_id} kept changing: nothing was reserved")

    def _reserve_next(self, client_id: str, count: int, interval_ms: float, now: int, reach: Reach) -> Reserved:
        """Reserve `count` slots if all are within reach. Raises ConditionFailed."""
        # All slots are of use if the first one is no later than this.
        span, before_last_us = _span_us(count, interval_ms), _span_us(count - 1, interval_ms)
        row = self._change(
            client_id,
            "SET #nextSlotUs = #nextSlotUs + :span",
            "#nextSlotUs >= :now AND (#nextSlotUs <= :beside OR (#nextSlotUs <= :free"
            " AND (attribute_not_exists(#lineUs) OR #lineUs < :line)))",
            span=span,
            now=now * 1000,
            free=reach.free * 1000 - before_last_us,
            beside=reach.beside * 1000 - before_last_us,
            line=(now + TURN_MS + 1) * 1000,
        )
        return Reserved((row.next_us - span) // 1000, count, row.line_us // 1000)

    def _reserve_idle(self, client_id: str, count: int, interval_ms: float, now: int) -> Reserved:
        """Reserve slots from now on where slots have passed unused; then the line is forgotten. May raise."""
        idle = "attribute_not_exists(#nextSlotUs) OR #nextSlotUs < :now"
        change, following = "SET #nextSlotUs = :following, #lineUs = :none", now * 1000 + _span_us(count, interval_ms)
        self._change(client_id, change, idle, following=following, now=now * 1000, none=0)
        return Reserved(now, count)

    def line_up(self, client_id: str, count: int, interval_ms: float, now: int) -> int:
        """One update where a line goes on; two where one begins. Raises Unavailable like `reserve`."""
        span, now_us = _span_us(count, interval_ms), now * 1000
        goes_on = "#lineUs >= :now AND #lineUs >= #nextSlotUs"
        for _ in range(MOST_TRIES):
            try:
                change = "SET #lineUs = #lineUs + :span"
                return (self._change(client_id, change, goes_on, span=span, now=now_us).line_us - span) // 1000
            except ConditionFailed as refused:
                row = _Row.of(refused.item)
            start = max(now_us, row.next_us, row.line_us)
            same = "attribute_not_exists(#lineUs) OR #lineUs = :before"
            with suppress(ConditionFailed):
                self._change(client_id, "SET #lineUs = :end", same, end=start + span, before=row.line_us)
                return start // 1000
        raise Unavailable(f"the line of {client_id} kept changing: no place was given")

    def _change(self, client_id: str, change: str, condition: str, **values: int) -> _Row:
        return _Row.of(self._table.update_and_read((client_id, _ROW), change, condition, **values))


def _span_us(count: int, interval_ms: float) -> int:
    return round(count * interval_ms * 1000)
