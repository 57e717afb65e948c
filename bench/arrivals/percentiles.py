"""Percentiles by nearest rank: each is a value that was measured, none is interpolated."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value at or below which `share` (0-1) of the values lie. `ordered` ascends and is not empty."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


class Histogram:
    """Counts of values in classes of `width`; a percentile is the upper edge of its class, the maximum is exact."""

    def __init__(self, width: float = 1.0) -> None:
        self._width = width
        self._counts: defaultdict[int, int] = defaultdict(int)
        self.count = 0
        self.max = 0.0

    def add(self, value: float, count: int = 1) -> None:
        """Count `value`, which is not negative, `count` times."""
        self._counts[math.ceil(value / self._width)] += count
        self.count += count
        self.max = max(self.max, value)

    def add_all(self, values: Sequence[float]) -> None:
        """Count each of several values, at least one."""
        for value in values:
            self._counts[math.ceil(value / self._width)] += 1
        self.count += len(values)
        self.max = max(self.max, max(values))

    def percentile(self, share: float) -> float:
        """The value at or below which `share` (0-1) of the values lie; 0 if nothing was counted."""
        wanted, seen = math.ceil(share * self.count), 0
        for step, count in sorted(self._counts.items()):
            seen += count
            if seen >= wanted:
                return min(round(step * self._width, 6), self.max)
        return 0.0

    def share_within(self, value: float) -> float:
        """The share (0-1) of the values in classes that end at `value` or below; 0 if nothing was counted."""
        within = sum(count for step, count in self._counts.items() if step * self._width <= value)
        return within / max(1, self.count)

    @property
    def counts(self) -> Mapping[int, int]:
        """How many values fell into each class; class n ends at n times the width."""
        return self._counts
