"""A worker meets an answer to one of its claims that it cannot read: the other answers of the call count."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Any

import pytest

from clockwork_client.transport import Response
from clockwork_client.worker import Pool
from clockwork_client.worker.clock import Monotonic
from tests.sdk.fleet import Fleet, VirtualClock
from tests.sdk.workshop import ended, worker_of, working


class Odd(Fleet):
    """Answers one claim of each call oddly."""

    odd: Mapping[str, Any] = {}

    def _claim(self, asked: Mapping[str, str]) -> dict[str, Any]:
        return super()._claim(asked) | (dict(self.odd) if asked["ticket"] == "odd" else {})


@pytest.mark.parametrize(
    "odd",
    [
        {"attempt": math.inf},
        {"attempt": math.nan},
        {"leaseInMs": 10**400},
        {"startInMs": -(10**400)},
        {"deadlineInMs": math.inf},
        {"checkpoint": {"attempt": 1, "sequence": math.inf, "value": 1}},
        {"checkpoint": 5},
    ],
    ids=lambda one: f"{one!r:.30}",
)
@pytest.mark.parametrize("can_log", [True, False])
def test_one_answer_that_cannot_be_read_costs_neither_hand_nor_the_others(odd: Any, can_log: bool) -> None:
    fleet, pool, logger = Odd(Monotonic()), Pool("batch-etl"), logging.getLogger("clockwork_client.worker.claims")
    fleet.odd = odd
    pool.handler("work")(lambda *_: None)

    def breaks(_: logging.LogRecord) -> bool:
        raise LookupError("request_id")

    fleet.add("odd")
    works = [fleet.add(str(number)) for number in range(9)]
    worker = worker_of(pool, fleet)
    if not can_log:
        logger.addFilter(breaks)
    try:
        with working(worker):
            fleet.wait_for(ended(*works))
            fleet.wait_for(lambda: worker._slots.free == worker._slots.count)
    finally:
        logger.removeFilter(breaks)


def test_a_pause_that_an_api_which_is_away_asks_for_is_kept() -> None:
    clock, pool = VirtualClock(), Pool("batch-etl")
    fleet = Fleet(clock)
    pool.handler("work")(lambda *_: None)
    fleet.fates["claims"] = [Response(503, {"retry-after": "60"}, b"{}")]
    fleet.add("a")
    worker = worker_of(pool, fleet, clock)
    with working(worker, clock):
        fleet.wait_for(lambda: worker._receiving._claims.brake.is_on)
        assert worker._receiving._claims.brake._until - clock.now() > 50
