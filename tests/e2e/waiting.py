"""Waiting for what must come, instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from clockwork.domain.instants import from_text
from clockwork.settings import Settings

T = TypeVar("T")
#: How long a test waits for what must come, a message whose deliverer was lost included; how late it came is asserted
#: apart.
PATIENCE_SECONDS = 30 + Settings.for_local().visibility_seconds


def await_value(
    ask: Callable[[], T | None], what: str, seconds: float = PATIENCE_SECONDS, every_seconds: float = 0.05
) -> T:
    """What `ask` answers as soon as it is not None. Fails the test if that takes too long."""
    deadline = time.monotonic() + seconds
    while (value := ask()) is None:
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(every_seconds)
    return value


def lateness_ms(arrived_at: float, due_at: str) -> float:
    """How long after its due instant something arrived."""
    return arrived_at - from_text(due_at)
