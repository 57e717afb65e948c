"""A visit of a poller: when it commits, when its time is over, and what its report says of several shards."""

from __future__ import annotations

import msgspec
import pytest

from clockwork.domain import keys
from clockwork.domain.storage.rows import row_of_job
from clockwork.flows.poll.ordered_shard import HAND_OVER_MS, MOST_TAKING_MS, TAKE_EVERY_MS, poll_ordered_shard
from clockwork.flows.poll.poller import SHARE_MS, poll_among_others
from clockwork.flows.poll.reports import by_outcome, summed
from clockwork.flows.poll.shard import _commit_is_due, poll_shard
from clockwork.flows.poll.visit import LEASE_MARGIN_MS, STOP_MARGIN_MS, PollReport, Visit, begin_visit, commit
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import NOW, occurrence

P, ORDERED = "p000", "o000"


def ready() -> MemoryClockwork:
    clockwork = MemoryClockwork()
    for partition_id in (P, ORDERED):
        clockwork.shards.register(partition_id)
    return clockwork


def begun(clockwork: MemoryClockwork, for_ms: int = 300_000) -> Visit:
    visit = begin_visit(clockwork.world, P, clockwork.clock.at + for_ms, 70_000)
    assert visit is not None
    return visit


def put(clockwork: MemoryClockwork, partition_id: str, *delays_ms: int) -> None:
    clockwork.timeline.put(
        [
            row_of_job(partition_id, f"{index:022d}", occurrence(due_at=clockwork.clock.at + delay), NOW * 2)
            for index, delay in enumerate(delays_ms)
        ]
    )


@pytest.mark.parametrize(
    ("uncommitted", "coming", "is_due"), [(0, 501, False), (1, 499, False), (1, 500, True), (500, 1, True)]
)
def test_a_poller_that_dies_has_at_most_so_many_releases_sent_again(
    uncommitted: int, coming: int, is_due: bool
) -> None:
    clockwork = ready()
    assert clockwork.settings.commit_occurrences == 500
    visit = begun(clockwork)
    visit.uncommitted = uncommitted
    assert _commit_is_due(visit, clockwork.clock.at, coming) is is_due


def test_a_visit_commits_every_few_seconds_and_before_its_lease_may_end() -> None:
    clockwork = ready()
    visit, every_ms = begun(clockwork), clockwork.settings.commit_seconds * 1000
    assert not _commit_is_due(visit, visit.committed_at + every_ms - 1, 1)
    assert _commit_is_due(visit, visit.committed_at + every_ms, 1)
    visit.committed_at = NOW * 2
    assert not _commit_is_due(visit, visit.lease.until - LEASE_MARGIN_MS - 1, 1)
    assert _commit_is_due(visit, visit.lease.until - LEASE_MARGIN_MS, 1)


def test_a_visit_has_time_as_long_as_both_its_invocation_and_its_lease_last_for_some_calls() -> None:
    clockwork = ready()
    visit = begun(clockwork, STOP_MARGIN_MS + 100)
    for after_ms, has_time in ((100, True), (101, False)):
        clockwork.clock.at = NOW + after_ms
        assert visit.has_time is has_time
    visit.deadline_at = NOW * 2
    for after_ms, has_time in ((-LEASE_MARGIN_MS, True), (1 - LEASE_MARGIN_MS, False)):
        clockwork.clock.at = visit.lease.until + after_ms
        assert visit.has_time is has_time


def test_a_commit_renews_the_lease_and_moves_the_horizon_on_unless_it_is_the_last_one() -> None:
    clockwork = ready()
    visit = begun(clockwork)
    visit.report.released, visit.uncommitted = 7, 3
    clockwork.clock.advance(1_000)
    horizon = keys.edge_key(clockwork.clock.at + 70_000)
    assert commit(visit, visit.lease.cursor)
    shard = clockwork.shards.get([P])[P]
    lease_ms = clockwork.settings.lease_seconds * 1000
    assert (shard.horizon, shard.lease_until, shard.released) == (horizon, clockwork.clock.at + lease_ms, 7)
    assert (visit.committed_at, visit.uncommitted, visit.report.commits) == (clockwork.clock.at, 0, 1)
    clockwork.clock.advance(1_000)
    assert commit(visit, visit.lease.cursor, release_lease=True)
    shard = clockwork.shards.get([P])[P]
    assert (shard.horizon, shard.lease_until, visit.report.commits) == (horizon, 0, 2)


@pytest.mark.parametrize(("spare_ms", "released"), [(-1, 0), (0, 2)])
def test_nothing_is_released_that_may_not_be_committed_before_the_invocation_ends(spare_ms: int, released: int) -> None:
    clockwork = ready()
    put(clockwork, P, 1, 2)
    report = poll_shard(clockwork.world, P, clockwork.clock.at + STOP_MARGIN_MS + spare_ms)
    assert (report.outcome, report.released) == ("dry" if released else "out_of_time", released)


def test_a_report_tells_how_far_ahead_the_shard_is_released() -> None:
    clockwork = ready()
    assert poll_shard(clockwork.world, P, clockwork.clock.at + 60_000).horizon_ahead_ms == 70_000
    report = poll_ordered_shard(clockwork.world, ORDERED, clockwork.clock.at + 60_000)
    assert (report.outcome, report.horizon_ahead_ms) == ("dry", None)


def test_the_report_of_several_visits_has_the_sums_and_the_nearest_horizon() -> None:
    one = PollReport("dry", 1, 2, 3, 4, 5, 6, 800)
    other = PollReport("out_of_time", 10, 20, 30, 40, 50, 60, 80)
    ordered = PollReport("dry", 100, 200, 300, 400, 500, 600, None)
    several = summed([one, other, ordered])
    assert (several.released, several.dead, several.expired, several.set_aside) == (111, 222, 444, 555)
    assert several.horizon_ahead_ms == 80
    assert summed([ordered]).horizon_ahead_ms is None
    assert by_outcome({"p0": one, "p1": other, "o0": ordered}) == {"dry": ["p0", "o0"], "out_of_time": ["p1"]}


def test_one_of_several_shards_is_polled_for_its_share_and_handed_over_then() -> None:
    clockwork = ready()
    put(clockwork, P, 1)
    read = clockwork.timeline.read
    for spent_ms, outcome in ((SHARE_MS, "dry"), (SHARE_MS + 1, "out_of_time")):

        def slow(partition_id: str, *asked: str | int, ms: int = spent_ms) -> object:
            clockwork.clock.advance(ms)
            return read(partition_id, *asked)  # type: ignore[arg-type]

        put(clockwork, P, 1)
        clockwork.timeline.read = slow  # type: ignore[method-assign, assignment]
        assert poll_among_others(clockwork.world, P, clockwork.clock.at + 300_000).outcome == outcome
        clockwork.clock.advance(100_000)
    assert clockwork.invoker.asked == [P]


@pytest.mark.parametrize(("beyond_ms", "stays"), [(0, True), (1, False)])
def test_the_poller_of_an_ordered_shard_stays_for_what_is_due_before_the_second_next_tick(
    beyond_ms: int, stays: bool
) -> None:
    clockwork = ready()
    began_at, near_ms = clockwork.clock.at, 2 * clockwork.settings.tick_seconds * 1000
    put(clockwork, ORDERED, near_ms + beyond_ms)
    report = poll_ordered_shard(clockwork.world, ORDERED, began_at + 300_000)
    assert (report.outcome, report.released) == ("dry", int(stays))
    assert clockwork.clock.at - began_at == (near_ms if stays else 0)


def test_an_ordered_poller_starts_its_successor_shortly_before_its_end_and_once() -> None:
    clockwork = ready()
    began_at, asked_at = clockwork.clock.at, list[int]()
    put(clockwork, ORDERED, 60_000)
    clockwork.invoker.poll = lambda *_, **__: asked_at.append(clockwork.clock.at)  # type: ignore[method-assign]
    report = poll_ordered_shard(clockwork.world, ORDERED, began_at + 20_000)
    assert report.outcome == "out_of_time"
    # It looks twice a second.
    assert asked_at == [began_at + 20_000 - HAND_OVER_MS + 500]
    assert clockwork.clock.at == began_at + 20_000 - STOP_MARGIN_MS + 500


def test_a_successor_gives_up_if_the_lease_does_not_become_free() -> None:
    clockwork = ready()
    began_at = clockwork.clock.at
    assert clockwork.shards.acquire(ORDERED, "before", began_at, began_at + 10**6, keys.BEGINNING)
    report = poll_ordered_shard(clockwork.world, ORDERED, began_at + 300_000, succeeds=True)
    assert report == PollReport(outcome="no_lease")
    assert clockwork.clock.at == began_at + MOST_TAKING_MS + TAKE_EVERY_MS


def test_a_successor_takes_the_lease_once_its_time_is_over_and_not_before() -> None:
    clockwork = ready()
    began_at = clockwork.clock.at
    lease = clockwork.shards.acquire(ORDERED, "before", began_at, began_at + TAKE_EVERY_MS, keys.BEGINNING)
    assert lease is not None
    put(clockwork, ORDERED, 0)
    report = poll_ordered_shard(clockwork.world, ORDERED, began_at + 300_000, succeeds=True)
    assert (report.outcome, report.released, clockwork.clock.at) == ("dry", 1, began_at + 2 * TAKE_EVERY_MS)
    assert not clockwork.shards.commit(msgspec.structs.replace(lease, until=NOW * 2))
