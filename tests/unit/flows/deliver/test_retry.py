"""Retries: near ones wait in the queue, far ones in a row of the timeline."""

from __future__ import annotations

import pytest

from clockwork.domain import keys
from clockwork.domain.releases import LONGEST_DELAY_SECONDS
from clockwork.flows.timeline.retries import send_retries
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import release

LONGEST_MS = LONGEST_DELAY_SECONDS * 1000


@pytest.mark.parametrize(("away_ms", "in_queue"), [(0, True), (LONGEST_MS, True), (LONGEST_MS + 1, False)])
def test_only_what_the_queue_can_delay_waits_in_it(away_ms: int, in_queue: bool) -> None:
    clockwork = MemoryClockwork()
    clockwork.shards.register("p000")
    assert send_retries(clockwork.world, [release(attempt=2, run_at=clockwork.clock.at + away_ms)]) == {}
    rows = clockwork.timeline.read("p000", keys.BEGINNING, keys.END, 10).rows
    assert (len(clockwork.queue.messages), len(rows)) == ((1, 0) if in_queue else (0, 1))
