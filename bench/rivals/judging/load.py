"""The jobs that every system gets. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

#: How many numbers one turn of a system has; so no two jobs of a run share a number.
NUMBERS = 1_000_000


class Job(NamedTuple):
    """One job: post to the receiver's path for this number when it is due (epoch ms)."""

    number: int
    due_at: int
    is_long: bool = False


@dataclass(frozen=True, kw_only=True)
class Load:
    """The load of a run of the benchmark."""

    rounds: int = 3
    #: From the first create to the first job: the same for all.
    lead_seconds: int = 20
    #: Jobs that come first and are not counted.
    warm_up: int = 20
    #: A steady rate, then a herd on one second.
    per_second: int = 20
    seconds: int = 10
    pause_seconds: int = 3
    herd: int = 100
    #: A kill finds so many jobs in the middle, and so many that are not due yet.
    killed_running: int = 10
    killed_pending: int = 60
    #: Jobs that a store holds when memory is measured. 0: it is not.
    pending: int = 20_000
    #: How long a job may be missing before it is called lost: after it was due, and after a kill.
    straggler_seconds: int = 20
    watch_seconds: int = 100

    @property
    def lasts_seconds(self) -> int:
        """From the first steady job to the herd."""
        return self.seconds + self.pause_seconds

    def before(self, begins_at: int, first: int) -> list[Job]:
        """The jobs that warm everything up, due two seconds before the load."""
        return [Job(first + n, begins_at - 2_000) for n in range(self.warm_up)]

    def steady(self, begins_at: int, first: int) -> list[Job]:
        """The jobs at a steady rate, the first of which is due at `begins_at`."""
        first += self.warm_up
        step_ms = 1_000 / self.per_second
        return [Job(first + n, begins_at + round(n * step_ms)) for n in range(self.per_second * self.seconds)]

    def on_one_second(self, begins_at: int, first: int) -> list[Job]:
        """The herd that follows."""
        first += self.warm_up + self.per_second * self.seconds
        return [Job(first + n, begins_at + self.lasts_seconds * 1_000) for n in range(self.herd)]

    def far_ahead(self, now: int, first: int) -> list[Job]:
        """The jobs on which memory is measured; none is due before the system has ended."""
        first += self.warm_up + self.per_second * self.seconds + self.herd
        return [Job(first + n, now + 3_600_000 + n) for n in range(self.pending)]

    def in_the_middle(self, due_at: int, first: int) -> list[Job]:
        """The jobs that are under way at a kill: the receiver takes its time with them."""
        return [Job(first + n, due_at, is_long=True) for n in range(self.killed_running)]

    def not_due_yet(self, due_at: int, first: int) -> list[Job]:
        """The jobs that wait at a kill: some are due while nothing runs, the others later."""
        first += self.killed_running
        return [Job(first + n, due_at + 2_500 + n * 333) for n in range(self.killed_pending)]


def due_at(jobs: Sequence[Job]) -> Mapping[int, int]:
    """When each job is due, by number."""
    return {job.number: job.due_at for job in jobs}
