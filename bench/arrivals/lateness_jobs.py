"""Which jobs `bench.lateness` asks of every system, and what it counts of what arrives. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bench.arrivals.percentiles import percentile

#: Parts of the load. Warm-up jobs fill pools, environments and connections; lone jobs calibrate `bench.capacity`.
#: Neither is counted.
WARM_UP, LONE, STEADY, HERD = "warm-up", "lone", "steady", "herd"
COUNTED = (STEADY, HERD)


class Job(NamedTuple):
    """One job: due so long after the load begins (ms, negative for the warm-up), and the part it belongs to."""

    number: int
    part: str
    offset_ms: int


@dataclass(frozen=True, kw_only=True)
class Load:
    """`per_second` jobs a second for `seconds`; later `herd` jobs on one millisecond."""

    per_second: int = 20
    seconds: int = 25
    herd: int = 100
    #: Two herds before it starts.
    warm_up_offsets_ms: tuple[int, ...] = (-15_000, -11_500)
    #: One after the other, each with the machine to itself.
    lone: int = 20
    lone_step_ms: int = 400
    #: Between the last steady job and the herd.
    pause_ms: int = 3_000

    def jobs(self) -> list[Job]:
        """All of them, in the order in which they are due."""
        offsets = [(WARM_UP, offset) for offset in self.warm_up_offsets_ms for _ in range(self.herd)]
        offsets += [(LONE, -1_000 - index * self.lone_step_ms) for index in reversed(range(self.lone))]
        step_ms = 1_000 / self.per_second
        offsets += [(STEADY, round(index * step_ms)) for index in range(self.per_second * self.seconds)]
        offsets += [(HERD, self.seconds * 1_000 + self.pause_ms)] * self.herd
        return [Job(number, part, offset) for number, (part, offset) in enumerate(offsets)]

    @property
    def begins_before_ms(self) -> int:
        """How long before its beginning the first job is due."""
        return -min(self.warm_up_offsets_ms, default=0)


@dataclass(frozen=True, kw_only=True)
class Score:
    """What became of some jobs. Lateness in ms, of the first arrival of each."""

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
    """Count the jobs whose due instants (ms) are given by number. Raises ValueError if none arrived."""
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
