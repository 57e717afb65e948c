"""List what has ended of a client, from the index of its runs: of jobs with a key and of those without one.

The index has keys and states. A page looks through them, and reads only the records that it shows.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clockwork.domain import instants
from clockwork.domain.clients import Client
from clockwork.domain.executions import Execution
from clockwork.domain.ids import key_of
from clockwork.domain.lifecycle.ownership import is_of_client_since
from clockwork.domain.storage.runs_index import Place, seen_down_to
from clockwork.flows.activity.budget import Budget
from clockwork.flows.world import World

#: Places looked at together, first and then, and records that are read together.
FIRST_PLACES, PLACES, RECORDS = 100, 1_000, 100


class Sought(msgspec.Struct, frozen=True):
    """The runs that were due between two instants (ms, both included), perhaps of one state or of keys with a prefix.

    A job without a key has no prefix.
    """

    from_at: int
    to_at: int
    state: str | None = None
    prefix: str | None = None

    def may_be(self, place: Place) -> bool:
        """Whether the run at a place of the index may be one of them. Its record decides."""
        if self.state is not None and place.state not in ("", self.state):
            return False
        return self.prefix is None or (key_of(place.job_id) or "").startswith(self.prefix)


class IndexedPage(msgspec.Struct, frozen=True):
    """Runs that have ended, the latest due first. `next_before` asks for those behind them.

    `read`: places of the index that were looked at. `complete_from` (ms): none that was due then or later is missing,
    if it ended once the client had the option.
    """

    runs: Sequence[Execution]
    next_before: str | None
    complete_from: int
    read: int


def list_indexed(
    world: World, client: Client, sought: Sought, before: str | None, limit: int, budget: Budget
) -> IndexedPage:
    """Up to `limit` of the runs that are sought. A page may be short and not the last.

    It ends with its Budget; one call of the index was made by then, and one of records. A run that ended in the last
    moments may be missing, and so may a record that cannot be read. Raises Unavailable.
    """
    page = _Page(world, client, sought, limit, budget)
    # No key of this instant sorts behind this text.
    behind: str | None = before or f"{sought.to_at:013d}~"
    read, at_once = 0, FIRST_PLACES
    while behind is not None and (not read or page.note_read()):
        listed = world.executions.indexed(client.client_id, at_once, behind)
        within = [place for place in listed.places if place.key >= f"{sought.from_at:013d}"]
        behind = listed.next_before if len(within) == len(listed.places) else None
        behind = page.add(within) or behind
        read, at_once = read + len(within), PLACES
    seen_from = 0 if behind is None else min(seen_down_to(behind), instants.LAST)
    complete_from = max(sought.from_at, client.runs_indexed_from or 0, seen_from)
    return IndexedPage(page.runs, behind, complete_from, read)


class _Page:
    """A page of runs as it fills."""

    def __init__(self, world: World, client: Client, sought: Sought, limit: int, budget: Budget) -> None:
        self._world, self._client, self._sought, self._limit, self._budget = world, client, sought, limit, budget
        self.runs: list[Execution] = []

    def note_read(self) -> bool:
        """Note that a read has ended; True if the page may read once more."""
        return len(self.runs) < self._limit and self._budget.note_read()

    def add(self, places: Sequence[Place]) -> str | None:
        """Read the records at these places. Once the page is full, the key behind which the others are left.

        Each further call reads twice as many: a page of one would else make a call for each record that is none of its.
        """
        wanted = [place for place in places if self._sought.may_be(place)]
        count, begin = self._limit - len(self.runs), 0
        while begin < len(wanted):
            some = wanted[begin : begin + min(RECORDS, count)]
            begin, count = begin + len(some), 2 * count
            last = self._fill(some)
            if not self.note_read() and last is not wanted[-1]:
                return last.key
        return None

    def _fill(self, places: Sequence[Place]) -> Place:
        """Take the runs at these places, up to the limit. The last place that was looked at."""
        found = self._world.executions.get([(one.job_id, one.execution_id) for one in places])
        for place, run in zip(places, found, strict=True):
            if isinstance(run, Execution) and self._is_meant(run):
                self.runs.append(run)
            if len(self.runs) >= self._limit:
                return place
        return places[-1]

    def _is_meant(self, run: Execution) -> bool:
        """Whether its reader may see it and asked for it. Its place does not tell that, and may be damaged."""
        is_own = run.client_id == self._client.client_id and is_of_client_since(self._client.since_at, run)
        return is_own and self._sought.state in (None, run.state)
