"""The ticker: how fast it starts the pollers of many shards, and which it leaves out if its time is over."""

from __future__ import annotations

from threading import Barrier, Lock

import pytest

from clockwork.domain import keys
from clockwork.domain.errors import Unavailable
from clockwork.domain.limits.polling import Poll, begun_elsewhere
from clockwork.flows.poll.tick import tick
from clockwork.handlers.ticker import AT_ONCE, SPARE_MS
from clockwork.memory.clock import MemoryClock
from clockwork.memory.targets import MemoryInvoker
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from tests.handlers.handlers import CONTEXT, make_handler
from tests.support.events import LambdaContext, scheduled_event

#: Twice what Lambda takes to queue an invocation (ms), by far.
SLOW_MS = 90
PATIENCE_SECONDS = 20


class SlowInvoker(MemoryInvoker):
    """Every start takes `SLOW_MS` of a counted clock, which passes once `AT_ONCE` of them are under way."""

    def __init__(self, clock: MemoryClock) -> None:
        super().__init__()
        self._lock = Lock()
        self._wave = Barrier(AT_ONCE, action=lambda: clock.advance(SLOW_MS))

    def poll(self, partition_id: str, *, succeeds: bool = False, lookahead_seconds: int | None = None) -> None:
        self._wave.wait(PATIENCE_SECONDS)
        with self._lock:
            super().poll(partition_id, succeeds=succeeds, lookahead_seconds=lookahead_seconds)


def busy(count: int) -> MemoryClockwork:
    """A deployment whose shards each need a poller of their own."""
    clockwork = MemoryClockwork(Settings.for_account().with_(shards=count, ordered_shards=0))
    for partition_id in keys.plain_partitions(count):
        clockwork.shards.register(partition_id)
    return clockwork


def slow(clockwork: MemoryClockwork) -> SlowInvoker:
    """Let the starts of a deployment be slow."""
    invoker = SlowInvoker(clockwork.clock)
    clockwork.world = clockwork.world.with_(invoker=invoker)
    return invoker


def test_a_thousand_busy_shards_have_their_pollers_within_ten_of_thirty_seconds() -> None:
    clockwork = busy(1_000)
    invoker, began_at = slow(clockwork), clockwork.clock.at
    answer = make_handler("ticker", clockwork.world)(scheduled_event(), LambdaContext(remaining_ms=30_000))
    assert answer == {"started": 1_000, "failed": 0}
    assert clockwork.clock.at - began_at < 10_000
    assert sorted(invoker.asked) == sorted(keys.plain_partitions(1_000))


def test_where_starts_take_too_long_each_shard_has_its_turn_within_a_few_ticks() -> None:
    clockwork = busy(1_000)
    invoker, began_at = slow(clockwork), clockwork.clock.at
    remaining_ms = SPARE_MS + 3_000
    for number in range(5):
        clockwork.clock.advance(began_at + 60_000 * number - clockwork.clock.at)
        answer = make_handler("ticker", clockwork.world)(scheduled_event(), LambdaContext(remaining_ms=remaining_ms))
        assert answer["started"] < 400
        assert answer["started"] + answer["failed"] == 1_000
        assert clockwork.clock.at - began_at - 60_000 * number < remaining_ms - SPARE_MS + 2 * SLOW_MS
    assert set(invoker.asked) == set(keys.plain_partitions(1_000))


def test_a_poller_that_cannot_be_started_stops_none_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = busy(20)
    started = clockwork.invoker.poll

    def refuses(partition_id: str, **how: int) -> None:
        if partition_id == "p007":
            raise Unavailable("throttled")
        started(partition_id, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(clockwork.invoker, "poll", refuses)
    answer = make_handler("ticker", clockwork.world)(scheduled_event(), CONTEXT)
    assert answer == {"started": 19, "failed": 1}
    assert len(clockwork.invoker.asked) == 19


@pytest.mark.parametrize("count", [0, 1, 2, 7, 1_000])
def test_each_tick_has_all_pollers_and_begins_elsewhere(count: int) -> None:
    polls = [Poll((f"{number}",), "busy") for number in range(count)]
    ticks = [begun_elsewhere(polls, 60_000 * minute, 60) for minute in range(20)]
    assert all(sorted(one, key=lambda poll: int(poll.partition_ids[0])) == polls for one in ticks)
    assert len({one[0] for one in ticks if one}) >= min(count, 7)


def test_without_threads_a_tick_starts_one_after_the_other() -> None:
    clockwork = busy(3)
    assert tick(clockwork.world).started == 3
