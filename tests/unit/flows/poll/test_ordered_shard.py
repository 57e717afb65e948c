"""The poller of an ordered shard: it releases no job before it is due, and stays while a job is due soon."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from clockwork.domain import keys
from clockwork.domain.ordering import partition_of
from clockwork.flows.poll.poller import poll_any
from clockwork.flows.poll.visit import PollReport
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.put import wake_pollers
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Lease
from tests.support.examples import ACME, new_job, request

KEY = "order-17"


def ready() -> MemoryClockwork:
    clockwork = MemoryClockwork()
    clockwork.clients.put(ACME)
    ensure_shards(clockwork.world)
    return clockwork


def place(clockwork: MemoryClockwork) -> str:
    return partition_of("acme", KEY, clockwork.settings.ordered_shards)


def ordered(clockwork: MemoryClockwork, *delays_ms: int) -> None:
    jobs = [new_job(delay_ms=delay_ms, ordering_key=KEY) for delay_ms in delays_ms]
    create_jobs(clockwork.world, request(*jobs), ensure_shards(clockwork.world))


def poll(clockwork: MemoryClockwork, for_ms: int = 300_000, *, succeeds: bool = False) -> PollReport:
    return poll_any(clockwork.world, place(clockwork), clockwork.clock.at + for_ms, succeeds=succeeds)


def sent_at(clockwork: MemoryClockwork) -> list[int]:
    return sorted(message.visible_at for message in clockwork.ordered_queue.messages.values())


def meanwhile(clockwork: MemoryClockwork, at: int, act: Callable[[], None]) -> None:
    """Call `act` once, at the end of the poller's first wait that reaches `at`."""
    hold, waiting = clockwork.clock.hold_until, [act]

    def hold_until(until: int) -> None:
        hold(until)
        if waiting and clockwork.clock.at >= at:
            waiting.pop()()

    clockwork.clock.hold_until = hold_until  # type: ignore[method-assign, assignment]


def test_it_releases_each_job_when_it_is_due_and_stays_for_the_next() -> None:
    clockwork = ready()
    began_at = clockwork.clock.at
    ordered(clockwork, 1_000, 30_000, 31_500)
    report = poll(clockwork)
    assert (report.outcome, report.released) == ("dry", 3)
    assert sent_at(clockwork) == [began_at + 1_000, began_at + 30_000, began_at + 31_500]


def test_while_it_waits_it_keeps_its_lease_and_writes_no_more_often_than_it_must(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = ready()
    ordered(clockwork, 22_000)
    commit, committed_at = clockwork.world.shards.commit, []

    def noted(lease: Lease) -> bool:
        committed_at.append(clockwork.clock.at)
        return commit(lease)

    monkeypatch.setattr(clockwork.world.shards, "commit", noted)
    began_at = clockwork.clock.at
    poll(clockwork)
    every_ms = clockwork.settings.commit_seconds * 1000
    waiting = [at - began_at for at in committed_at if began_at < at < began_at + 22_000]
    assert waiting == [*range(every_ms, 22_000, every_ms)]


def test_its_horizon_is_never_ahead_of_now() -> None:
    clockwork = ready()
    ordered(clockwork, 10_000)
    meanwhile(clockwork, clockwork.clock.at + 5_000, lambda: horizons.append(horizon_ahead(clockwork)))
    horizons: list[int] = []
    poll(clockwork)
    assert horizons[0] <= 0


def horizon_ahead(clockwork: MemoryClockwork) -> int:
    shard = clockwork.shards.get([place(clockwork)])[place(clockwork)]
    return keys.instant_of(shard.horizon) - clockwork.clock.at


def test_a_job_that_is_created_while_it_waits_is_released_in_time() -> None:
    clockwork = ready()
    began_at = clockwork.clock.at
    ordered(clockwork, 60_000)
    clockwork.invoker.asked.clear()
    meanwhile(clockwork, began_at + 10_000, lambda: ordered(clockwork, 1_000))
    poll(clockwork)
    first, second = sent_at(clockwork)
    assert first - (began_at + 11_000) <= 500
    assert second == began_at + 60_000
    assert clockwork.invoker.asked == []


def test_it_goes_when_nothing_is_near_and_leaves_what_is_far() -> None:
    clockwork = ready()
    ordered(clockwork, 500_000)
    report = poll(clockwork)
    shard = clockwork.shards.get([place(clockwork)])[place(clockwork)]
    assert (report.outcome, report.released, shard.lease_until) == ("dry", 0, 0)


def test_a_job_that_came_between_its_look_and_the_end_of_its_lease_is_seen_by_its_last_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = ready()
    commit = clockwork.shards.commit
    arrived: list[int] = []

    def letting_go(lease: object) -> bool:
        if lease.until == 0 and not arrived:  # type: ignore[attr-defined]
            arrived.append(1)
            ordered(clockwork, 2_000)
        return commit(lease)  # type: ignore[arg-type]

    monkeypatch.setattr(clockwork.shards, "commit", letting_go)
    report = poll(clockwork)
    assert clockwork.invoker.asked == []  # the create saw a lease
    assert (report.outcome, report.released) == ("dry", 1)


def test_a_create_starts_the_poller_only_if_no_lease_is_live() -> None:
    clockwork = ready()
    key = keys.row_key(clockwork.clock.at + 5_000, "x")
    now = clockwork.clock.at
    for lease_until, asked in ((0, [place(clockwork)]), (now - 1, [place(clockwork)]), (now, []), (now + 10_000, [])):
        clockwork = ready()
        clockwork.shards.acquire(place(clockwork), "o", now, lease_until, keys.BEGINNING)
        wake_pollers(clockwork.world, [(place(clockwork), key)], clockwork.shards.get([place(clockwork)]))
        assert clockwork.invoker.asked == asked


def test_a_poller_at_its_end_starts_its_successor_while_it_still_works() -> None:
    clockwork = ready()
    began_at = clockwork.clock.at
    ordered(clockwork, 20_000, 100_000)
    report = poll(clockwork, for_ms=27_000)
    assert (report.outcome, report.released) == ("out_of_time", 1)
    assert clockwork.invoker.successors == [place(clockwork)]
    assert clockwork.clock.at <= began_at + 22_600


def test_a_successor_waits_for_the_lease() -> None:
    clockwork = ready()
    began_at = clockwork.clock.at
    ordered(clockwork, 5_000)
    shards = clockwork.shards
    lease = shards.acquire(place(clockwork), "before", began_at, began_at + 20_000, keys.BEGINNING)
    assert lease is not None
    lease_released = msgspec.structs.replace(lease, until=0)
    meanwhile(clockwork, began_at + 3_000, lambda: done.append(shards.commit(lease_released)))
    done: list[bool] = []
    assert poll(clockwork, succeeds=True).released == 1
    assert sent_at(clockwork) == [began_at + 5_000]


def test_any_other_poller_goes_home_at_once() -> None:
    clockwork = ready()
    clockwork.shards.acquire(place(clockwork), "o", clockwork.clock.at, clockwork.clock.at + 20_000, keys.BEGINNING)
    began_at = clockwork.clock.at
    assert poll(clockwork).outcome == "no_lease"
    assert clockwork.clock.at == began_at


def test_a_poller_that_lost_its_lease_while_it_waited_stops() -> None:
    clockwork = ready()
    now = clockwork.clock.at
    ordered(clockwork, 60_000)

    def overtake() -> None:
        clockwork.clock.advance(21_000)
        at = clockwork.clock.at
        assert clockwork.shards.acquire(place(clockwork), "next", at, at + 20_000, keys.BEGINNING)

    meanwhile(clockwork, now + 10_000, overtake)
    assert poll(clockwork).outcome == "fenced"
    assert sent_at(clockwork) == []


def test_a_successor_writes_nothing_before_the_lease_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    ordered(clockwork, 60_000)
    now, shard = clockwork.clock.at, place(clockwork)
    assert clockwork.shards.acquire(shard, "before", now, now + 3_000, keys.edge_key(now)) is not None
    tried_at: list[int] = []
    acquire = clockwork.shards.acquire

    def noted(partition_id: str, owner: str, now: int, until: int, horizon: str) -> Lease | None:
        tried_at.append(now)
        return acquire(partition_id, owner, now, until, horizon)

    monkeypatch.setattr(clockwork.shards, "acquire", noted)
    poll(clockwork, succeeds=True)
    assert tried_at[0] > now + 3_000
