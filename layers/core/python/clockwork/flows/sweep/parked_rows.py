"""The parked rows of one client, read page by page, without those of hosts that are still shut.

A row that this version cannot read stays, and holds nothing else up.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable
from typing import Self

import msgspec

from clockwork.domain import keys
from clockwork.domain.errors import Undecodable
from clockwork.domain.lifecycle.parking import host_prefix, parking_of
from clockwork.domain.releases import Deliver
from clockwork.domain.storage.codec import decode_row
from clockwork.domain.timeline import Row
from clockwork.flows.containment import why
from clockwork.flows.world import World

log = logging.getLogger(__name__)


class Range(msgspec.Struct):
    """Keys behind `after`, up to `until`. `once`: only one page of them is read."""

    after: str
    until: str
    once: bool = False


class ParkedRows:
    """One reading of a client's parked rows.

    `shut`: hosts whose rows are not read. `probed`: hosts of whose rows one page is read. `is_over`: all other rows
    were read. `finds_any`: there were rows, or there may be some that were not read. `leaves_any`: some rows stay, as
    they cannot be read or released; `left`: those of the last page.
    """

    def __init__(
        self,
        world: World,
        client_id: str,
        shut: Iterable[str] = (),
        probed: Iterable[str] = (),
    ) -> None:
        self._world, self.client_id = world, client_id
        passed, once = set(map(host_prefix, shut)), set(map(host_prefix, probed))
        self._ranges = deque(_ranges(passed, once))
        self.is_over = self.leaves_any = False
        self.finds_any = bool(passed)
        self.left: list[Row] = []

    @classmethod
    def within(cls, world: World, client_id: str, ranges: Iterable[Range]) -> Self:
        """A reading of the rows in some ranges of keys alone."""
        reading = cls(world, client_id)
        reading._ranges = deque(ranges)
        return reading

    def page(self, limit: int) -> list[tuple[Row, Deliver]]:
        """Read at most `limit` of the next rows, by due instant; behind a circuit by host and attempt first.

        Returns those that can be decoded, each with its release. There may be none, although it is not over yet.
        """
        self.left = []
        part = self._ranges[0]
        page = self._world.timeline.read(parking_of(self.client_id), part.after, part.until, limit)
        if page.rows:
            self.finds_any, part.after = True, page.rows[-1].key
        if part.once or not page.more:
            self._ranges.popleft()
        self.is_over = not self._ranges
        return [(row, release) for row in page.rows if (release := self._release(row)) is not None]

    def leave(self, row: Row, fault: str) -> None:
        """Let a row stay where it is. Only the first one's fault is logged: there may be any number of them."""
        if not self.leaves_any:
            extra = {"action": "unreadable_parked_row", "clientId": self.client_id, "key": row.key}
            log.error("parked rows stay: %s", fault, extra=extra)
        self.leaves_any = True
        self.left.append(row)

    def _release(self, row: Row) -> Deliver | None:
        try:
            return _release_in(row)
        except Exception as error:  # noqa: BLE001 - whatever one row raises, the others are unparked
            self.leave(row, why(self._world.environment.faults, error, row.key))
            return None


def _ranges(passed: set[str], once: set[str]) -> list[Range]:
    ranges, after = [], keys.BEGINNING
    for prefix in sorted(passed | once):
        ranges.append(Range(after, prefix))
        after = prefix + keys.END
        if prefix in once:
            ranges.append(Range(prefix, after, once=True))
    return [*ranges, Range(after, keys.END)]


def _release_in(row: Row) -> Deliver:
    match list(decode_row(row.blob).values()):
        case [Deliver() as release]:
            return release
        case elements:
            raise Undecodable(f"a parked row holds one release, and not {len(elements)} elements of any kind")
