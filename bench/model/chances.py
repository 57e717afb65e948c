"""Latencies and errors as distributions."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist

#: How many standard deviations above its middle the 99th percentile of a normal distribution lies.
P99_DEVIATIONS = 2.3263
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Latency:
    """A lognormal distribution through two percentiles, in ms."""

    p50: float
    p99: float

    @cached_property
    def _shape(self) -> tuple[float, float]:
        return math.log(self.p50), math.log(self.p99 / self.p50) / P99_DEVIATIONS

    @property
    def mean(self) -> float:
        """The mean of all latencies."""
        middle, deviation = self._shape
        return math.exp(middle + deviation**2 / 2)

    def draw(self, rng: random.Random) -> float:
        """One latency."""
        middle, deviation = self._shape
        return math.exp(rng.gauss(middle, deviation))

    def slowest_of(self, calls: int, rng: random.Random) -> float:
        """The latency of `calls` at once that are all awaited (the slowest one), by the inverse of its distribution."""
        middle, deviation = self._shape
        return math.exp(middle + deviation * _NORMAL.inv_cdf(min(max(rng.random() ** (1 / calls), 1e-12), 1 - 1e-12)))


@dataclass(frozen=True)
class Spread:
    """Values as they were counted, by the lower edge of classes of `width`; without counts every value is 0."""

    counts: Mapping[int, int] = field(default_factory=dict)
    width: int = 1

    def draw(self, rng: random.Random, number: int) -> Mapping[float, int]:
        """How many of `number` have which value; those of a class share one within it."""
        if not self.counts:
            return {0.0: number}
        drawn = Counter(rng.choices([*self.counts], [*self.counts.values()], k=number))
        return {lower + rng.random() * self.width: count for lower, count in sorted(drawn.items())}
