"""Waiting for a condition, instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from clockwork.domain.instants import from_text
from clockwork.settings import Settings

T = TypeVar("T")
#: How long a test waits for something that must come, even if a deliverer was lost with its message; separate asserts
#: check how late it came.
PATIENCE_SECONDS = 30 + Settings.for_local().visibility_seconds


def await_value(
    ask: Callable[[], T | None], what: str, seconds: float = PATIENCE_SECONDS, every_seconds: float = 0.05
) -> T:
    """Calls `ask` until its answer is not None, and returns that. Fails the test if this takes too long."""
    deadline = time.monotonic() + seconds
    while (value := ask()) is None:
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(every_seconds)
    return value


def lateness_ms(arrived_at: float, due_at: str) -> float:
    """How long (ms) after its due instant an arrival came."""
    return arrived_at - from_text(due_at)
