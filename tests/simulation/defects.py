"""Defects: calls and decisions about the work of one client that raise what nobody foresees."""

from __future__ import annotations

import random
from collections.abc import Callable
from enum import Enum

import msgspec

from clockwork.domain.ids import AnonymousJob, InvalidId, NamedJobId, NodeJob, decode_job
from clockwork.domain.jobs import Occurrence
from clockwork.domain.lifecycle.parking import parking_of
from clockwork.domain.releases import Release
from clockwork.domain.timeline import Row
from clockwork.ports import Timeline
from tests.simulation.rows import elements_of

#: The clients whose work meets defects, one in each such seed: with caps and pauses, with a target that is down, and
#: without anything of its own.
DEFECTIVE = ("client-0", "regulated", "downcast", "regulated", "client-1", "narrow")
#: The calls that raise each time for minutes in every second seed with defects: one of each group.
STUCK = (
    ("executions.save", "executions.save", "executions.find", "clients.get"),
    ("releases.send", "releases.send", "jobs.get"),
    ("timeline.put_new", "targets.begin", "regulation.", "timeline.read", "timeline.forget"),
)
#: The shortest and the longest time (ms), and how often.
SHORTEST_MS, LONGEST_MS, TIMES = 30_000, 200_000, 4


class Defect(ValueError):
    """Raised by a call about the work of one client, as a defect of an adapter or a library would be."""


class Meets(Enum):
    """The effect on a call: it may raise, or it does each time."""

    PERHAPS = "perhaps"
    SURELY = "surely"


class Defects:
    """The defects of one run: whose work they are met in, and which calls raise each time, and when."""

    def __init__(self, client_id: str, timeline: Timeline, began_at: int, busy_ms: int, rng: random.Random) -> None:
        self.client_id = client_id
        self._timeline = timeline
        self._stuck: list[tuple[int, int, str]] = []
        if rng.random() < 0.5:
            for _ in range(TIMES):
                start = began_at + rng.randrange(busy_ms)
                for group in STUCK:
                    self._stuck.append((start, start + rng.randrange(SHORTEST_MS, LONGEST_MS), rng.choice(group)))

    def at(self, now: int, call: str, about: object) -> Meets | None:
        """The effect on a call at `now` (ms)."""
        if not self.mentions(about):
            return None
        is_stuck = any(start <= now < end and call.startswith(stuck) for start, end, stuck in self._stuck)
        return Meets.SURELY if is_stuck else Meets.PERHAPS

    def mentions(self, value: object) -> bool:
        """Whether a call or a decision is about the work of the client, as far as its arguments tell."""
        if isinstance(value, str):
            return value in (self.client_id, parking_of(self.client_id)) or self._owns(value)
        if isinstance(value, Row):
            return value.partition_id == parking_of(self.client_id) or self.mentions(list(elements_of(value).values()))
        if isinstance(value, msgspec.Struct):
            named = getattr(value, "client_id", None) or getattr(getattr(value, "occurrence", None), "client_id", None)
            return named == self.client_id
        if isinstance(value, dict):
            return any(map(self.mentions, value.values()))
        return isinstance(value, list | tuple) and any(map(self.mentions, value))

    def _owns(self, text: str) -> bool:
        """Whether a text is the id of a job of the client, or of an execution."""
        try:
            job = decode_job(text.split(".")[0])
        except InvalidId:
            return False
        if isinstance(job, NodeJob):
            return False
        if isinstance(job, NamedJobId):
            return job.client_id == self.client_id
        return self._owner_of(job) == self.client_id

    def _owner_of(self, job: AnonymousJob) -> str | None:
        (row,) = self._timeline.find([(job.partition_id, job.key)])
        element = None if row is None else elements_of(row).get(job.element)
        if isinstance(element, Release):
            return element.occurrence.client_id
        return element.client_id if isinstance(element, Occurrence) else None


#: Told the name of a decision and its arguments, whether it raises now.
Strikes = Callable[[str, object], bool]
