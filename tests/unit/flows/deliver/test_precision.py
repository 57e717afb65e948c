"""The precision of a second: messages that come when their jobs are due or up to a second later, and are not held."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.domain.messages.bundles import SECOND_LATER_MS, plan_bundles
from clockwork.domain.storage.rows import row_of_job
from clockwork.flows.poll.shard import poll_shard
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from clockwork.targets.sqs import SqsTarget
from tests.support.examples import ACME, NOW, occurrence, release

P = "p000"


def lateness_of(due_ms: int, tolerance_ms: int = 100, **fields: Any) -> tuple[int, int, list[int]]:
    """How late the message of a job comes, how late the job starts, and its lateness in the metric."""
    clockwork = MemoryClockwork(Settings.for_account().with_(late_tolerance_ms=tolerance_ms), aligned=True)
    clockwork.clients.put(ACME)
    clockwork.shards.register(P)
    due_at = clockwork.clock.at + due_ms
    clockwork.timeline.put([row_of_job(P, "x" * 22, occurrence(due_at=due_at, **fields), NOW * 2)])
    assert poll_shard(clockwork.world, P, clockwork.clock.at + 60_000).released == 1
    comes_at = clockwork.queue.next_visible_at()
    assert comes_at is not None
    clockwork.clock.at = comes_at
    report = clockwork.deliver_visible()
    assert report.succeeded == 1
    (started,) = clockwork.executions.all()
    return comes_at - due_at, started.attempts[0].started_at - due_at, report.own_lateness_ms


@pytest.mark.parametrize("tolerance_ms", [0, 100])
@pytest.mark.parametrize("due_ms", [30_000, 30_001, 30_099, 30_100, 30_101, 30_500, 30_999, 100_777])
def test_a_job_starts_when_it_is_due_or_up_to_a_second_later_and_is_held_for_a_tenth_at_most(
    due_ms: int, tolerance_ms: int
) -> None:
    comes_ms, starts_ms, own = lateness_of(due_ms, tolerance_ms, precision="second")
    assert -100 <= comes_ms <= 1_000
    assert starts_ms == max(0, comes_ms)
    assert own == [0]


def test_a_job_of_a_millisecond_is_held_until_it_is_due() -> None:
    assert lateness_of(30_500)[:2] == (-500, 0)


def test_a_job_that_would_be_of_no_use_a_second_later_is_held() -> None:
    assert lateness_of(30_500, precision="second", relevancy_window_seconds=2)[:2] == (-500, 0)
    assert lateness_of(30_500, precision="second", relevancy_window_seconds=3)[0] > 0


def test_a_poller_does_not_wait_for_what_may_come_later() -> None:
    clockwork = MemoryClockwork(Settings.for_account(), aligned=True)
    clockwork.shards.register(P)
    dues = [clockwork.clock.at + 60_000 + 77 * n for n in range(40)]
    jobs = [occurrence(due_at=due_at, precision="second") for due_at in dues]
    clockwork.timeline.put([row_of_job(P, f"{n:022d}", job, NOW * 2) for n, job in enumerate(jobs)])
    began_at = clockwork.clock.at
    assert poll_shard(clockwork.world, P, began_at + 60_000).released == 40
    assert clockwork.clock.at == began_at


def test_jobs_of_both_precisions_share_no_message() -> None:
    target = SqsTarget("arn:aws:sqs:us-east-1:111111111111:orders")
    some = [
        release(run_at=NOW + 5_000 + n, occurrence=occurrence(target=target, precision=precision))
        for n, precision in enumerate(["millisecond", "second", "millisecond", "second"])
    ]
    bundles = plan_bundles(some, NOW)
    assert [(one.indexes, one.run_at, one.is_exact) for one in bundles] == [
        ((0, 2), NOW + 5_000, True),
        ((1, 3), NOW + 5_001 + SECOND_LATER_MS, False),
    ]
