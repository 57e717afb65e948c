"""Whether something ends within its time, judged so that a busy machine does not decide it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
#: A busy machine delays some of these runs; what is too slow by itself delays all of them.
MOST_RUNS = 5


def promptly(run: Callable[[], T], within_seconds: float) -> tuple[T, float]:
    """Run until it takes less than so long, at most MOST_RUNS times; what the last run returned, and its seconds."""
    for _ in range(MOST_RUNS):
        began = time.monotonic()
        result = run()
        seconds = time.monotonic() - began
        if seconds < within_seconds:
            break
    return result, seconds
