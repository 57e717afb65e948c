"""The beginning of most tests of workers: a pool, and what stands in for its queues and the API."""

from __future__ import annotations

import pytest

from clockwork_client.worker import Pool
from clockwork_client.worker.clock import Monotonic
from tests.sdk.fleet import Fleet


@pytest.fixture
def pool() -> Pool:
    return Pool("batch-etl")


@pytest.fixture
def fleet() -> Fleet:
    return Fleet(Monotonic())
