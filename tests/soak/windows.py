"""Windows of time in a soak, and the verdict over them. Pure."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.chaos.audit import Audit, audit
from tests.chaos.promises import Arrival, Key, Promise

EMULATOR = "emulator"
#: Memory may grow this many times. The emulator holds tables, queues and logs in memory, so it grows with the jobs.
MEMORY_RATIO = 1.25
EMULATOR_RATIO = 2.0
#: Lateness is rounded up to steps of this length. Half of all lateness is below a millisecond or two, where a ratio
#: says nothing; the local stack looks for messages whose delay has ended in steps of this length.
LATENESS_STEP_MS = 20
LATENESS_RATIO = 5.0
#: The window to compare with is the second: the first has the cold starts. Of the last two the better one counts, since
#: real growth shows in both.
BASE = 1
FEWEST_WINDOWS = 4


class Sample(NamedTuple):
    """The memory of one process of a part (`emulator`, `target`, a Lambda) at an instant (epoch ms)."""

    at: int
    part: str
    memory_bytes: int


@dataclass(frozen=True)
class Window:
    """The occurrences due in a stretch of time, and the memory (bytes) of each part's largest process in it."""

    audit: Audit
    memory: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        """The figures as one JSON object."""
        return {**self.audit.as_json(), "memoryMb": {part: megabytes(most) for part, most in self.memory.items()}}


class Growth(NamedTuple):
    """A figure in the second window and at the end, and the limit of the ratio between them."""

    what: str
    before: float
    after: float
    limit: float

    @property
    def ratio(self) -> float:
        """The figure at the end, divided by that of the second window."""
        return self.after / self.before

    @property
    def fault(self) -> str | None:
        """A sentence if the ratio is over its limit, otherwise None."""
        if self.ratio <= self.limit:
            return None
        grew = f"{self.what} grew {self.ratio:.2f}-fold, from {self.before:g} to {self.after:g}"
        return f"{grew}; {self.limit:g} is allowed"


def window(
    promises: Iterable[Promise],
    arrivals: Iterable[Arrival],
    ends: Mapping[Key, str],
    samples: Iterable[Sample],
    stretch: tuple[int, int],
) -> Window:
    """The window of a stretch, from its first instant (inclusive) to its second (exclusive)."""
    begin_at, end_at = stretch
    memory: defaultdict[str, int] = defaultdict(int)
    for sample in samples:
        if begin_at <= sample.at < end_at:
            memory[sample.part] = max(memory[sample.part], sample.memory_bytes)
    due = [promise for promise in promises if begin_at <= promise.key.due_at < end_at]
    of_these = [arrival for arrival in arrivals if begin_at <= arrival.key.due_at < end_at]
    return Window(audit(due, of_these, ends), dict(sorted(memory.items())))


def stretches(begin_at: int, seconds: float, count: int) -> list[tuple[int, int]]:
    """The time of `seconds` from `begin_at` (epoch ms) on, cut into `count` equal parts."""
    edges = [begin_at + round(n * seconds * 1_000 / count) for n in range(count + 1)]
    return list(itertools.pairwise(edges))


def growths(windows: Sequence[Window]) -> list[Growth]:
    """The growth of lateness, and of memory for each part that is there in the second window and at the end.

    Raises ValueError for too few windows.
    """
    if len(windows) < FEWEST_WINDOWS:
        raise ValueError(f"{len(windows)} windows are too few to see growth; {FEWEST_WINDOWS} are needed")
    base, last = windows[BASE], windows[-2:]
    parts = [part for part in base.memory if all(part in one.memory for one in last)]
    memory = [
        Growth(
            f"memory (MB) of {part}",
            megabytes(base.memory[part]),
            min(megabytes(one.memory[part]) for one in last),
            EMULATOR_RATIO if part == EMULATOR else MEMORY_RATIO,
        )
        for part in parts
    ]
    late = Growth("p50 of lateness (ms)", _late(base), min(map(_late, last)), LATENESS_RATIO)
    return [*memory, late]


def wrong(windows: Sequence[Window], needed: Collection[str]) -> list[str]:
    """The faults that the windows show, as sentences; `needed` are the parts whose memory must be known."""
    silent = [n for n, one in enumerate(windows) if not one.audit.delivered]
    unseen = [part for part in sorted(needed) if any(part not in one.memory for one in (windows[BASE], *windows[-2:]))]
    return [
        *(f"nothing was delivered in window {n + 1}" for n in silent),
        *(f"the memory of {part} is not known" for part in unseen),
        *(growth.fault for growth in growths(windows) if growth.fault),
    ]


def megabytes(count: int) -> float:
    """Bytes as megabytes, rounded to a tenth."""
    return round(count / 1e6, 1)


def _late(one: Window) -> int:
    return max(1, math.ceil(one.audit.late_ms(0.5) / LATENESS_STEP_MS)) * LATENESS_STEP_MS
