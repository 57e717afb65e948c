"""The watcher of ordered jobs (I11): nothing of a key starts before what is ahead of it has ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from clockwork.domain.jobs import Occurrence

#: Who asks for an ordered job so long before it is due (ms) is sure of its place, whatever clocks and calls take.
IN_TIME_MS = 2_000
Place = tuple[int, int]


class Order:
    """The places of ordered jobs that were accepted in time."""

    def __init__(self) -> None:
        self._places: defaultdict[tuple[str, str], dict[str, Place]] = defaultdict(dict)

    def accepted(self, job_id: str, occurrence: Occurrence, at: int) -> None:
        """A job was acknowledged at `at` (ms)."""
        if occurrence.ordering_key is not None and at <= occurrence.due_at - IN_TIME_MS:
            key = occurrence.client_id, occurrence.ordering_key
            self._places[key][job_id] = occurrence.due_at, occurrence.sequence

    def ahead_of(self, job_id: str, occurrence: Occurrence) -> Iterator[str]:
        """The jobs that have to end before this one starts."""
        if occurrence.ordering_key is None:
            return
        places = self._places[occurrence.client_id, occurrence.ordering_key]
        mine = places.get(job_id)
        yield from (other for other, place in places.items() if mine is not None and place < mine)
