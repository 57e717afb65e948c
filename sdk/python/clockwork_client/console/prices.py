"""The price of a run, from units that the benchmarks have metered: `metered.json`, which no hand writes.

A deliverer waits for the due instant of its batch. A run that shares its batch with nine others costs less than one
that is delivered alone, and no page knows which it will be: both are told. The prices are list prices of us-east-1.
Lambda's time beside that wait, storage and the idle month are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

_MILLION = 1_000_000
_MONTH_SECONDS = 730 * 3_600


class Price(NamedTuple):
    """Dollars of a million runs, in full batches and alone; and of a month, if the runs of a month are known."""

    full: float
    alone: float
    runs_a_month: float | None = None

    @property
    def says(self) -> str:
        """The price in a sentence."""
        told = f"about ${self.full:,.2f} to ${self.alone:,.2f} per million runs"
        if self.runs_a_month is None:
            return told
        least, most = (each * self.runs_a_month / _MILLION for each in (self.full, self.alone))
        month = "under one cent" if most < 0.01 else f"${least:,.2f} to ${most:,.2f}"
        return f"{told}; about {self.runs_a_month:,.0f} runs a month: {month}"


@cache
def metered() -> Mapping[str, Mapping[str, float]]:
    """Units of each path, and under `prices` the dollars per million of each unit."""
    found: dict[str, dict[str, float]] = json.loads(
        (Path(__file__).parent / "metered.json").read_text(encoding="utf-8")
    )
    return found


def dollars(path: str) -> float:
    """Dollars of a million jobs on a path, in full batches of ten."""
    found = metered()
    return sum(amount * found["prices"][unit] for unit, amount in found[path].items())


def price(*, recurs: bool, overlap: str = "allow", is_pooled: bool = False, fires: Sequence[datetime] = ()) -> Price:
    """The price of each run of a job. `fires`: its next ones, which tell how many a month has."""
    path = "pool_full" if is_pooled else "named_oneshot"
    if recurs:
        path = "overlap_skip" if overlap == "skip" else "recurring_fire"
    full = dollars(path)
    alone = full + dollars("none_spread") - dollars("none_single")
    return Price(full, alone, _runs_a_month(fires) if recurs else None)


def _runs_a_month(fires: Sequence[datetime]) -> float | None:
    if len(fires) < 2:
        return None
    seconds = (fires[-1] - fires[0]).total_seconds()
    return _MONTH_SECONDS / (seconds / (len(fires) - 1)) if seconds > 0 else None
