"""A poller of several shards: no shard waits for another, fails with another, or is late because of another."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clockwork.domain import keys
from clockwork.domain.errors import Unavailable
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.ordering import partition_of
from clockwork.domain.releases import Release
from clockwork.domain.storage.rows import row_of_job
from clockwork.flows.poll.poller import SHARE_MS, poll_among_others, poll_any
from clockwork.flows.poll.tick import tick
from clockwork.flows.poll.visit import STOP_MARGIN_MS, begin_visit
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.flows.world import World
from clockwork.memory.release_queue import MemoryReleaseQueue
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Refused
from clockwork.settings import Settings
from tests.support.examples import ACME, NOW, new_job, occurrence, request

EIGHT = keys.plain_partitions(8)
P = EIGHT[0]
TICK_MS = 60_000


def ready(shards: int = 8) -> MemoryClockwork:
    """A Clockwork with plain shards only, all of them visited a minute ago and quiet."""
    clockwork = MemoryClockwork(Settings.for_account().with_(shards=shards, ordered_shards=0))
    clockwork.clients.put(ACME)
    tick(clockwork.world)
    polled(clockwork)
    clockwork.clock.advance(TICK_MS)
    return clockwork


def polled(clockwork: MemoryClockwork) -> None:
    """Run the pollers that the invoker was asked to start."""
    asked, clockwork.invoker.asked[:] = list(clockwork.invoker.asked), []
    for partition_id in asked:
        poll_any(clockwork.world, partition_id, clockwork.clock.at + 300_000)


def put(clockwork: MemoryClockwork, partition_id: str, count: int, delay_ms: int = 200_000) -> None:
    due_at = clockwork.clock.at + delay_ms
    rows = [
        row_of_job(partition_id, f"{clockwork.clock.at}{n:06d}", occurrence(due_at=due_at + n), NOW * 2)
        for n in range(count)
    ]
    clockwork.timeline.put(rows)


def slow(clockwork: MemoryClockwork, send_ms: int) -> World:
    """A world in which every send takes `send_ms`."""

    class Slow(MemoryReleaseQueue):
        def send(self, releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
            refused = clockwork.queue.send(releases, now, aligned)
            clockwork.clock.advance(send_ms)
            return refused

    return clockwork.world.with_(releases=Slow(clockwork.clock))


def waiting(clockwork: MemoryClockwork) -> int:
    return len(clockwork.queue.messages)


def test_a_tick_starts_one_poller_for_sixteen_quiet_shards() -> None:
    clockwork = ready(32)
    assert tick(clockwork.world).started == 32
    expected = keys.plain_partitions(32)
    assert sorted(map(tuple, clockwork.invoker.together)) == [expected[:16], expected[16:]]


def test_a_shard_in_which_little_happens_is_done_within_its_share() -> None:
    clockwork = ready()
    put(clockwork, P, 3)
    report = poll_among_others(clockwork.world, P, clockwork.clock.at + 300_000)
    assert (report.outcome, report.released, clockwork.invoker.asked) == ("dry", 3, [])


def test_the_herd_of_one_shard_is_handed_over_to_a_poller_of_its_own_which_goes_on_at_once() -> None:
    clockwork = ready()
    put(clockwork, P, 1_000)
    began_at = clockwork.clock.at
    report = poll_among_others(slow(clockwork, 500), P, began_at + 300_000)
    assert (report.outcome, clockwork.invoker.asked) == ("out_of_time", [P])
    assert clockwork.clock.at <= began_at + SHARE_MS + 500
    assert 0 < waiting(clockwork) < 1_000
    polled(clockwork)  # the lease has been released
    assert waiting(clockwork) == 1_000


def test_a_shard_that_was_busy_has_a_poller_of_its_own_from_the_next_tick_on_until_it_is_quiet() -> None:
    clockwork = ready()
    asked = []
    for count in (150, 0, 0):
        put(clockwork, P, count)
        poll_among_others(clockwork.world, P, clockwork.clock.at + 300_000)
        clockwork.clock.advance(TICK_MS)
        clockwork.invoker.together.clear()
        tick(clockwork.world)
        asked.append(P in clockwork.invoker.together[0])
    assert asked == [False, True, True]


def test_what_cannot_be_handed_over_is_worked_off_by_the_poller_of_several(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    put(clockwork, P, 1_000)

    def fail(partition_id: str, **_: object) -> None:
        raise Unavailable(f"no poller for {partition_id}")

    monkeypatch.setattr(clockwork.invoker, "poll", fail)
    assert poll_among_others(slow(clockwork, 500), P, clockwork.clock.at + 300_000).outcome == "dry"
    assert waiting(clockwork) == 1_000


def test_no_share_is_longer_than_what_is_left_of_the_invocation() -> None:
    clockwork = ready()
    put(clockwork, P, 1_000)
    began_at = clockwork.clock.at
    deadline_at = began_at + STOP_MARGIN_MS + 600
    assert poll_among_others(slow(clockwork, 500), P, deadline_at).outcome == "out_of_time"
    assert clockwork.clock.at <= deadline_at - STOP_MARGIN_MS + 500


def test_when_a_poller_of_eight_dies_the_next_tick_takes_all_of_them_over_in_time() -> None:
    clockwork = ready()
    for partition_id in EIGHT:
        put(clockwork, partition_id, 2)
        # The poller takes every lease, publishes every horizon, and dies.
        assert begin_visit(clockwork.world, partition_id, clockwork.clock.at + 300_000, 240_000) is not None
    due_at = clockwork.clock.at + 200_000
    clockwork.clock.advance(TICK_MS)
    clockwork.invoker.together.clear()
    tick(clockwork.world)
    assert clockwork.invoker.together == [EIGHT]
    polled(clockwork)
    assert waiting(clockwork) == 16
    assert clockwork.clock.at < due_at


def test_a_throttled_shard_fails_alone_and_is_taken_again_once_its_lease_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = ready()
    for partition_id in EIGHT:
        put(clockwork, partition_id, 1)
    read = clockwork.timeline.read

    def throttled(partition_id: str, *range_: object) -> object:
        if partition_id == P:
            raise Unavailable("ThrottlingException")
        return read(partition_id, *range_)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(clockwork.timeline, "read", throttled)
        for partition_id in EIGHT:
            if partition_id == P:
                with pytest.raises(Unavailable):
                    poll_among_others(clockwork.world, partition_id, clockwork.clock.at + 300_000)
            else:
                assert poll_among_others(clockwork.world, partition_id, clockwork.clock.at + 300_000).released == 1
    clockwork.clock.advance(TICK_MS)
    tick(clockwork.world)
    polled(clockwork)
    assert waiting(clockwork) == len(EIGHT)


def test_every_horizon_is_published_before_its_shard_is_read() -> None:
    clockwork = ready()
    seen = []
    read = clockwork.timeline.read

    def noting(partition_id: str, after: str, until: str, limit: int) -> object:
        seen.append((partition_id, clockwork.shards.get([partition_id])[partition_id].horizon, until))
        return read(partition_id, after, until, limit)

    clockwork.timeline.read = noting  # type: ignore[assignment,method-assign]
    for partition_id in EIGHT:
        poll_among_others(clockwork.world, partition_id, clockwork.clock.at + 300_000)
    published = keys.edge_key(clockwork.clock.at + clockwork.settings.lookahead_seconds * 1000)
    assert seen == [(partition_id, published, published) for partition_id in EIGHT]


def test_after_minutes_without_a_tick_every_shard_has_a_poller_of_its_own_and_nothing_is_lost() -> None:
    clockwork = ready()
    for partition_id in EIGHT:
        put(clockwork, partition_id, 50, delay_ms=300_000)
    clockwork.clock.advance(600_000)
    clockwork.invoker.together.clear()
    assert tick(clockwork.world).started == 8
    assert (clockwork.invoker.together, sorted(clockwork.invoker.asked)) == ([], list(EIGHT))
    polled(clockwork)
    assert waiting(clockwork) == 400


def test_a_group_that_cannot_be_started_is_counted_and_the_others_are(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    put(clockwork, P, 150)
    poll_among_others(clockwork.world, P, clockwork.clock.at + 300_000)
    clockwork.clock.advance(TICK_MS)

    def fail(partition_ids: Sequence[str], **_: object) -> None:
        raise Unavailable(f"no poller for {partition_ids}")

    monkeypatch.setattr(clockwork.invoker, "poll_together", fail)
    report = tick(clockwork.world)
    assert (report.started, report.failed, clockwork.invoker.asked) == (1, 7, [P])


def ordered_job(delay_ms: int) -> tuple[MemoryClockwork, str]:
    clockwork = MemoryClockwork()
    clockwork.clients.put(ACME)
    job = new_job(delay_ms=delay_ms, ordering_key="order-17")
    create_jobs(clockwork.world, request(job), ensure_shards(clockwork.world))
    clockwork.invoker.asked.clear()
    return clockwork, partition_of("acme", "order-17", clockwork.settings.ordered_shards)


def test_an_ordered_shard_with_work_near_is_handed_over_to_a_successor_and_kept_in_order() -> None:
    clockwork, place = ordered_job(30_000)
    due_at = clockwork.clock.at + 30_000
    report = poll_among_others(clockwork.world, place, clockwork.clock.at + 300_000)
    assert (report.outcome, report.released) == ("out_of_time", 0)
    assert (clockwork.invoker.asked, clockwork.invoker.successors) == ([], [place])
    assert clockwork.clock.at <= due_at - 20_000
    assert poll_any(clockwork.world, place, clockwork.clock.at + 300_000, succeeds=True).released == 1
    assert [message.visible_at for message in clockwork.ordered_queue.messages.values()] == [due_at]


def test_an_ordered_shard_with_nothing_near_takes_no_share_at_all() -> None:
    clockwork, place = ordered_job(3_600_000)
    began_at = clockwork.clock.at
    assert poll_among_others(clockwork.world, place, began_at + 300_000).outcome == "dry"
    assert (clockwork.clock.at, clockwork.invoker.successors) == (began_at, [])
