"""A watch never comes before its instant: nobody holds it, so it would be sent again and again until then."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clockwork.domain.executions import Execution, State
from clockwork.domain.messages.bundles import plan_bundles
from clockwork.domain.policies import Completion, RetryPolicy
from clockwork.domain.releases import Watch
from clockwork.domain.storage.codec import decode_message
from clockwork.flows.deliver.items import DeliverReport
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Saved
from tests.support.examples import NOW, occurrence, release
from tests.support.flowing import Flowing, node
from tests.support.regulated import Regulated

#: Clocks of a deployment differ by less than this (ms).
APART_MS = 700
#: How long a save takes (ms).
SAVE_MS = 130


def watch(run_at: int) -> Watch:
    one = release(run_at=run_at, occurrence=occurrence())
    return Watch(one.of, one.occurrence, run_at)


def watches_of(clockwork: MemoryClockwork, seconds: float, apart_ms: int = 0) -> list[int]:
    """When (ms) the queue hands out watches, as time passes: each save takes some, so instants are odd.

    The deliverers' clock is behind that of the queue.
    """
    found: list[int] = []
    deliver, save = clockwork.deliver_visible, clockwork.executions.save

    def saved(changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        clockwork.clock.advance(SAVE_MS)
        return save(changes)

    def delivered() -> DeliverReport:
        visible = [one for one in clockwork.queue.messages.values() if one.visible_at <= clockwork.clock.at]
        some = [release for one in visible for release in decode_message(one.body)]
        found.extend(clockwork.clock.at for one in some if isinstance(one, Watch))
        assert len(found) < 40, f"a watch comes again and again at {found[-1]}"
        clockwork.clock.skew_ms = -apart_ms
        report = deliver()
        clockwork.clock.skew_ms = 0
        return report

    clockwork.deliver_visible = delivered  # type: ignore[method-assign]
    clockwork.executions.save = saved  # type: ignore[method-assign]
    clockwork.run_until(clockwork.clock.at + int(seconds * 1000))
    return found


@pytest.mark.parametrize("odd_ms", [1, 100, 250, 500, 999])
@pytest.mark.parametrize("tolerance_ms", [0, 100])
def test_the_message_of_a_watch_comes_at_its_instant_or_up_to_a_second_later(odd_ms: int, tolerance_ms: int) -> None:
    (bundle,) = plan_bundles([watch(NOW + 60_000 + odd_ms)], NOW)
    comes_at = NOW + (bundle.run_at - NOW + tolerance_ms) // 1000 * 1000
    assert NOW + 60_000 + odd_ms <= comes_at <= NOW + 61_000 + odd_ms + tolerance_ms
    assert not bundle.is_exact


@pytest.mark.parametrize("ago_ms", [0, 1, 5_000])
@pytest.mark.parametrize("precision", ["millisecond", "second"])
def test_a_watch_that_is_sent_for_now_is_not_delayed(ago_ms: int, precision: str) -> None:
    one = release(run_at=NOW - ago_ms, occurrence=occurrence(precision=precision))
    (bundle,) = plan_bundles([Watch(one.of, one.occurrence, one.run_at)], NOW)
    assert bundle.run_at <= NOW


@pytest.mark.parametrize("apart_ms", [0, APART_MS])
def test_a_receiver_that_falls_silent_costs_one_watch_whatever_the_millisecond(apart_ms: int) -> None:
    regulated = Regulated()
    lease = Completion(heartbeat_seconds=30, timeout_seconds=600)
    regulated.create(1, delay_ms=5_370, completion=lease, retry_policy=RetryPolicy(max_attempts=1))
    watches = watches_of(regulated.clockwork, 120, apart_ms)
    (record,) = regulated.clockwork.executions.all()
    assert (record.state, record.attempts[0].state) == (State.DEAD, State.WORKER_LOST)
    assert len(watches) <= 1 + (apart_ms > 0)
    assert watches[0] >= regulated.start + 5_370 + 30_000


def test_a_run_is_looked_at_once_at_each_age_whatever_the_millisecond() -> None:
    flowing = Flowing({"a": node(), "b": node("a", delay_seconds=1_000)}, delay_ms=2_630)
    watches = watches_of(flowing.clockwork, 500)
    assert [(at - flowing.due_at) // 60_000 for at in watches] == [1, 2, 4, 8]
