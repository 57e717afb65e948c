"""The pytest plugin, which pytest loads by itself once `clockwork-client[testing]` is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from clockwork_client import testing

if TYPE_CHECKING:
    from clockwork_client.testing import Scheduled, VirtualClockwork


@pytest.fixture
def clockwork() -> VirtualClockwork:
    """A Clockwork of this test alone, in virtual time from 2026-01-01T00:00:00Z on."""
    return testing.VirtualClockwork(at="2026-01-01T00:00:00Z")


@pytest.fixture
def assert_scheduled(clockwork: VirtualClockwork) -> Callable[..., Scheduled]:
    """`assert_scheduled(key=, at=, payload=)` of the fixture `clockwork`."""
    return clockwork.assert_scheduled
