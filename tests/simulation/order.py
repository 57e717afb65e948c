"""The watcher of ordered jobs (I11): nothing of a key starts before what is ahead of it has ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clockwork.domain.jobs import Occurrence

#: Who asks for an ordered job so long before it is due (ms) is sure of its place, whatever clocks and calls take.
IN_TIME_MS = 2_000


@dataclass(frozen=True)
class Placed:
    """An execution that has its place: by its due instant (ms), then by its sequence."""

    job_id: str
    execution_id: str
    due_at: int
    sequence: int

    @property
    def place(self) -> tuple[int, int]:
        """What is sorted by."""
        return self.due_at, self.sequence


class Order:
    """The places of ordered jobs that were accepted in time."""

    def __init__(self) -> None:
        self._placed: defaultdict[tuple[str, str], dict[str, Placed]] = defaultdict(dict)
        self._lost: set[str] = set()

    def accepted(self, client_id: str, ordering_key: str | None, placed: Placed, at: int) -> None:
        """A job that fires once was acknowledged at `at` (ms)."""
        if ordering_key is not None and at <= placed.due_at - IN_TIME_MS:
            self._placed[client_id, ordering_key].setdefault(placed.execution_id, placed)

    def loses(self, execution_ids: Iterable[str]) -> None:
        """These lose their places: received too often, they are sent anew by the sweeper, behind their followers."""
        self._lost.update(execution_ids)

    def ahead_of(self, execution_id: str, occurrence: Occurrence) -> Iterator[Placed]:
        """What has to end before this one starts."""
        if occurrence.ordering_key is None:
            return
        placed = self._placed[occurrence.client_id, occurrence.ordering_key]
        mine = placed.get(execution_id)
        ahead = (other for other in placed.values() if mine is not None and other.place < mine.place)
        yield from (other for other in ahead if other.execution_id not in self._lost)
