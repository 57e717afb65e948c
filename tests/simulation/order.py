"""Watches ordered jobs (I11): no job of a key starts before the jobs ahead of it have ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clockwork.domain.jobs import JobTarget, Occurrence
from clockwork.domain.ordering import IN_TIME_MS
from clockwork.targets.kafka.target import KafkaTarget


@dataclass(frozen=True)
class Placed:
    """An execution with its position in the order: by due instant (ms), then by sequence."""

    job_id: str
    execution_id: str
    due_at: int
    sequence: int

    @property
    def place(self) -> tuple[int, int]:
        """The sort key."""
        return self.due_at, self.sequence


class Order:
    """The positions of ordered jobs that were accepted in time."""

    def __init__(self, clocks_apart_ms: int = 0) -> None:
        #: A job that is acknowledged at least this long (ms) before it is due is sure of its position.
        self._in_time_ms = IN_TIME_MS + clocks_apart_ms
        #: By client, key, and whether they are bound for Kafka, which has a queue and so an order of its own.
        self._placed: defaultdict[tuple[str, str, bool], dict[str, Placed]] = defaultdict(dict)
        self._lost: set[str] = set()

    def accepted(self, client_id: str, ordering_key: str | None, target: JobTarget, placed: Placed, at: int) -> None:
        """Notes a job with one fire that was acknowledged at `at` (ms)."""
        if ordering_key is not None and at <= placed.due_at - self._in_time_ms:
            order = client_id, ordering_key, isinstance(target, KafkaTarget)
            self._placed[order].setdefault(placed.execution_id, placed)

    def loses(self, execution_ids: Iterable[str]) -> None:
        """Notes executions that lose their position: received too often, the sweeper sends them anew, at the end."""
        self._lost.update(execution_ids)

    def forget(self, execution_id: str) -> None:
        """Notes that an execution has no position any more: its job was changed."""
        for placed in self._placed.values():
            placed.pop(execution_id, None)

    def ahead_of(self, execution_id: str, occurrence: Occurrence) -> Iterator[Placed]:
        """The executions that have to end before this one starts."""
        if occurrence.ordering_key is None:
            return
        is_for_kafka = isinstance(occurrence.target, KafkaTarget)
        placed = self._placed[occurrence.client_id, occurrence.ordering_key, is_for_kafka]
        mine = placed.get(execution_id)
        ahead = (other for other in placed.values() if mine is not None and other.place < mine.place)
        yield from (other for other in ahead if other.execution_id not in self._lost)
