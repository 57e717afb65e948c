"""The jobs that `bench.lateness` gives to every system, and the figures that it counts from their arrivals. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bench.arrivals.percentiles import percentile

#: Parts of the load. Warm-up jobs fill pools, environments and connections; lone jobs calibrate `bench.capacity`.
#: The results count neither.
WARM_UP, LONE, STEADY, HERD = "warm-up", "lone", "steady", "herd"
#: A herd of more batches than the local event source takes at once: for Clockwork alone, to calibrate `bench.capacity`.
BEYOND = "herd beyond ten batches"
#: Jobs that are due when they are created, likewise.
LATE = "late"
COUNTED = (STEADY, HERD)
#: A job is on time if it starts at most so long after its instant: a later one waited for a core, a batch or a call.
ON_TIME_MS = 10.0


class Job(NamedTuple):
    """One job: how long after the beginning of the load it is due (ms, negative for the warm-up), and its part."""

    number: int
    part: str
    offset_ms: int


@dataclass(frozen=True, kw_only=True)
class Load:
    """The load: `per_second` jobs a second for `seconds`, then `herd` jobs on one millisecond."""

    per_second: int = 20
    seconds: int = 25
    herd: int = 100
    #: The warm-up: two herds before the load begins.
    warm_up_offsets_ms: tuple[int, ...] = (-15_000, -11_500)
    #: Lone jobs come one after the other, each with the machine to itself.
    lone: int = 20
    lone_step_ms: int = 400
    #: The pause between the last steady job and the herd.
    pause_ms: int = 3_000

    #: The herd that calibrates, and the pause before it; then the late creates (an even number), and their distance.
    #: The distance is no multiple of the local stack's 20 ms: two halves would meet other parts of its turns.
    beyond: int = 300
    beyond_pause_ms: int = 4_000
    late: int = 300
    late_step_ms: int = 157

    def jobs(self, *, calibrating: bool = False) -> list[Job]:
        """All jobs, in the order in which they are due. `calibrating`: with the herd beyond ten batches."""
        offsets = [(WARM_UP, offset) for offset in self.warm_up_offsets_ms for _ in range(self.herd)]
        offsets += [(LONE, -1_000 - index * self.lone_step_ms) for index in reversed(range(self.lone))]
        step_ms = 1_000 / self.per_second
        offsets += [(STEADY, round(index * step_ms)) for index in range(self.per_second * self.seconds)]
        offsets += [(HERD, self.seconds * 1_000 + self.pause_ms)] * self.herd
        if calibrating:
            offsets += [(BEYOND, self.seconds * 1_000 + self.pause_ms + self.beyond_pause_ms)] * self.beyond
        return [Job(number, part, offset) for number, (part, offset) in enumerate(offsets)]

    @property
    def begins_before_ms(self) -> int:
        """How long before the beginning of the load the first job of the warm-up is due."""
        return -min(self.warm_up_offsets_ms, default=0)


@dataclass(frozen=True, kw_only=True)
class Score:
    """The figures of some jobs. Lateness is in ms and that of each job's first arrival."""

    jobs: int
    p50_ms: float
    p99_ms: float
    p999_ms: float
    max_ms: float
    early: int
    duplicates: int
    lost: int

    def as_json(self) -> dict[str, float]:
        """The figures that a reader compares."""
        return {
            "jobs": self.jobs,
            "p50Ms": self.p50_ms,
            "p99Ms": self.p99_ms,
            "maxMs": self.max_ms,
            "early": self.early,
            "duplicates": self.duplicates,
            "lost": self.lost,
        }


def score(due_at: Mapping[int, int], arrivals: Mapping[int, Sequence[float]]) -> Score:
    """The score of the jobs whose due instants (ms) are given by number. Raises ValueError if none arrived."""
    came = {number: min(arrivals[number]) - at for number, at in due_at.items() if arrivals.get(number)}
    if not came:
        raise ValueError(f"none of {len(due_at)} jobs arrived")
    late = sorted(round(value, 1) for value in came.values())
    return Score(
        jobs=len(due_at),
        p50_ms=percentile(late, 0.5),
        p99_ms=percentile(late, 0.99),
        p999_ms=percentile(late, 0.999),
        max_ms=late[-1],
        early=sum(value < 0 for value in came.values()),
        duplicates=sum(len(arrivals[number]) > 1 for number in came),
        lost=len(due_at) - len(came),
    )
