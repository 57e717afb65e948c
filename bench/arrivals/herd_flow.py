"""How the jobs of one client were delivered: how fast, how late, and whether any went missing. Pure functions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.arrivals.percentiles import percentile


@dataclass(frozen=True, kw_only=True)
class Flow:
    """How the jobs of one client were delivered, perhaps in several runs. `rates`: deliveries a second of each run."""

    rates: Sequence[float]
    most_in_a_second: int
    lateness_ms: Sequence[int]
    lost: int
    duplicates: int

    @property
    def rate(self) -> float:
        """The mean of the runs' rates."""
        return sum(self.rates) / len(self.rates)

    @property
    def early(self) -> int:
        """How many deliveries began before they were due."""
        return sum(ms < 0 for ms in self.lateness_ms)

    @property
    def p99_ms(self) -> int:
        """The 99th percentile of lateness, ms."""
        return int(percentile(sorted(self.lateness_ms), 0.99))

    def and_(self, other: Flow) -> Flow:
        """The flow of both runs together."""
        return Flow(
            rates=[*self.rates, *other.rates],
            most_in_a_second=max(self.most_in_a_second, other.most_in_a_second),
            lateness_ms=[*self.lateness_ms, *other.lateness_ms],
            lost=self.lost + other.lost,
            duplicates=self.duplicates + other.duplicates,
        )


def flow_of(deliveries: Mapping[str, Sequence[int]], due_at: Mapping[str, int], made: int) -> Flow:
    """A flow from the instants (ms) at which each execution was delivered and was due. `made`: jobs created."""
    began_at = sorted(at for instants in deliveries.values() for at in instants)
    return Flow(
        rates=[(len(began_at) - 1) * 1000 / (began_at[-1] - began_at[0])],
        most_in_a_second=max(bisect_left(began_at, at + 1000) - first for first, at in enumerate(began_at)),
        lateness_ms=[at - due_at[one] for one, instants in deliveries.items() for at in instants],
        lost=made - len(deliveries),
        duplicates=len(began_at) - len(deliveries),
    )
