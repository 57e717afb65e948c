"""The length of random searches: `make test` draws a quarter of the examples, and `make test-nightly` all of them.

A search has no bound of time: it gives way to other tests, and then takes long for no reason of its own.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

#: The variable of the environment that asks for all examples.
WHOLE = "WHOLE_SEARCHES"

settings.register_profile("giving way", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("giving way")


def drawn(most: int) -> int:
    """How many of at most so many examples this run draws."""
    return most if os.environ.get(WHOLE) else most // 4
