"""The parked rows of one client, read page by page.

A row that this version cannot read stays, and holds nothing else up.
"""

from __future__ import annotations

import logging

from clockwork.domain import keys
from clockwork.domain.errors import Undecodable
from clockwork.domain.lifecycle.parking import parking_of
from clockwork.domain.releases import Release
from clockwork.domain.storage.codec import decode_row
from clockwork.domain.timeline import Row
from clockwork.flows.containment import why
from clockwork.flows.world import World

log = logging.getLogger(__name__)


class ParkedRows:
    """One reading of a client's parked rows, up to the key `last`.

    `is_over`: all rows were read. `finds_any`: there were rows. `leaves_any`: some rows stay, as they cannot be read or
    released.
    """

    def __init__(self, world: World, client_id: str, last: str = keys.END) -> None:
        self._world, self.client_id, self._last = world, client_id, last
        self._after = keys.BEGINNING
        self.is_over = self.finds_any = self.leaves_any = False

    def page(self, limit: int) -> list[tuple[Row, Release]]:
        """Read the next `limit` rows, by due instant; returns those that can be decoded, each with its release."""
        page = self._world.timeline.read(parking_of(self.client_id), self._after, self._last, limit)
        self.is_over = not page.more
        if page.rows:
            self.finds_any, self._after = True, page.rows[-1].key
        return [(row, release) for row in page.rows if (release := self._release(row)) is not None]

    def leave(self, row: Row, fault: str) -> None:
        """Let a row stay where it is. Only the first one's fault is logged: there may be any number of them."""
        if not self.leaves_any:
            extra = {"action": "unreadable_parked_row", "clientId": self.client_id, "key": row.key}
            log.error("parked rows stay: %s", fault, extra=extra)
        self.leaves_any = True

    def _release(self, row: Row) -> Release | None:
        try:
            return _release_in(row)
        except Exception as error:  # noqa: BLE001 - whatever one row raises, the others are unparked
            self.leave(row, why(self._world.environment.faults, error, row.key))
            return None


def _release_in(row: Row) -> Release:
    match list(decode_row(row.blob).values()):
        case [Release() as release]:
            return release
        case elements:
            raise Undecodable(f"a parked row holds one release, and not {len(elements)} elements of any kind")
