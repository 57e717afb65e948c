"""Rate and concurrency limits: at most so many deliveries at once and a second, and none is lost."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from clockwork.domain.clients import Client
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Outcome, State
from clockwork.domain.limits.concurrency import (
    BLOCK,
    LONGEST_NO_PERMIT_MS,
    NO_PERMIT_MS,
    NONE_FREE_FOR_MS,
    SLOW_MS,
    Blocks,
    blocks_of,
    limit_of,
    share_of,
    wait_ms,
)
from clockwork.domain.limits.slots import Reserved
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.storage.codec import encode_release
from clockwork.flows.access import Caller
from clockwork.flows.deliver.concurrency import SENT_WITHIN_MS
from clockwork.flows.requests.cancel import cancel_job
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from tests.support.examples import ACME, ALICE, new_job, release_in, request
from tests.support.regulated import Regulated

MINE = Caller(ALICE, client_ids=frozenset({"acme"}))


@pytest.mark.parametrize("record", ["full", "none"])
def test_a_rate_cap_spreads_a_herd_and_loses_nothing(record: str) -> None:
    regulated = Regulated(max_rate_per_second=10.0)
    regulated.create(100, record=record)
    # The deliverer holds a batch for its slots, so a batch runs on for a second or two.
    first = len(regulated.run(5 + 5))
    assert first in range(45, 71)
    assert first + len(regulated.run(6)) == 100
    assert not regulated.clockwork.queue.messages


def test_slots_beyond_the_queues_delay_travel_in_hops() -> None:
    regulated = Regulated(max_rate_per_second=0.01)
    regulated.create(30)
    regulated.run(3_100)
    assert len(regulated.clockwork.targets.delivered) == 30


def test_a_poller_spreads_the_herd_of_a_capped_client_and_reserves_nothing() -> None:
    regulated = Regulated(max_rate_per_second=10.0)
    due_at = regulated.start + 60_000
    regulated.create(100, delay_ms=60_000)
    regulated.clockwork.poll_all()
    run_at = sorted(release_in(message.body).run_at for message in regulated.clockwork.queue.messages.values())
    assert run_at == [due_at + place * 100 for place in range(100)]
    assert not regulated.clockwork.regulation._next_slot_us
    regulated.create(1, delay_ms=1_000)
    assert len(regulated.run(3)) == 1


def test_a_herd_is_released_though_its_client_cannot_be_read() -> None:
    regulated = Regulated(max_rate_per_second=10.0)
    regulated.create(100, delay_ms=60_000)

    def fail(_: str) -> Client:
        raise Unavailable("throttled")

    regulated.clockwork.clients.get = fail  # type: ignore[method-assign, assignment]
    regulated.clockwork.poll_all()
    assert len(regulated.clockwork.queue.messages) == 100


def test_a_client_without_a_cap_reserves_no_slot() -> None:
    regulated = Regulated()
    regulated.create(15)
    regulated.run(10)
    assert not regulated.clockwork.regulation._next_slot_us
    assert not regulated.clockwork.regulation._blocks


def test_what_comes_too_late_for_its_slot_leaves_it_to_others() -> None:
    regulated = Regulated(max_rate_per_second=1.0)
    for second in range(120):  # twice as many as the cap allows
        regulated.create(2, delay_ms=5_000 + second * 1_000, relevancy_window_seconds=20.0)
    delivered = len(regulated.run(125 + 20))
    assert delivered in range(90, 145)
    assert delivered + sum(record.state is State.EXPIRED for record in regulated.clockwork.executions.all()) == 240


@pytest.mark.parametrize("other", [None, 3_600.0])
def test_no_slot_is_wasted_where_some_of_a_batch_can_wait_longer_than_others(other: float | None) -> None:
    regulated = Regulated(max_rate_per_second=5.0)
    for second in range(40):
        regulated.create(20, delay_ms=5_000 + second * 1_000, relevancy_window_seconds=10.0)
        regulated.create(1, delay_ms=5_000 + second * 1_000, relevancy_window_seconds=other)
    delivered = regulated.run(5 + 40 + 10)
    assert len(delivered) in range(240, 260)
    assert sum(one.occurrence.relevancy_window_seconds == other for one in delivered) == 40


def test_no_slot_is_wasted_where_a_herd_that_cannot_wait_is_released_at_once() -> None:
    regulated = Regulated(max_rate_per_second=2.0)
    jobs = [new_job(delay_ms=65_000 + place * 100, relevancy_window_seconds=5.0) for place in range(200)]
    create_jobs(regulated.clockwork.world, request(*jobs), ensure_shards(regulated.clockwork.world))
    assert len(regulated.run(65 + 20 + 10)) in range(48, 56)
    assert regulated.states() == {State.SUCCEEDED, State.EXPIRED}


@pytest.mark.parametrize(
    ("windows", "max_rate", "most"),
    [
        ([None] * 10, 5.0, 1),
        ([60.0] * 10, 5.0, 1),
        ([None] * 5 + [60.0 + place for place in range(5)], 5.0, 1),
        ([None] * 9 + [1.0], 5.0, 2),
        ([1.0 + place for place in range(10)], 1.0, 10),
        ([1.0 + place / 10 for place in range(10)], 1.0, 10),
        ([1.0 + place // 5 / 10 for place in range(10)], 1.0, 2),
        ([1.0] * 10, 0.5, 1),
    ],
)
def test_a_batch_reserves_once_unless_slots_are_scarce_and_then_once_for_each_end_of_a_window(
    windows: list[float | None], max_rate: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    regulated = Regulated(max_rate_per_second=max_rate)
    jobs = [new_job(delay_ms=1_000, relevancy_window_seconds=window) for window in windows]
    create_jobs(regulated.clockwork.world, request(*jobs), ensure_shards(regulated.clockwork.world))
    regulation = regulated.clockwork.regulation
    reserve, reservations = regulation.reserve, []

    def counted(*asked: Any) -> Reserved:
        reservations.append(asked)
        return reserve(*asked)

    monkeypatch.setattr(regulation, "reserve", counted)
    regulated.run(60)
    assert len(reservations) in range(1, most + 1)
    assert len(regulated.states()) == 1 or regulated.states() == {State.SUCCEEDED, State.EXPIRED}


def test_retries_take_slots_of_their_own() -> None:
    regulated = Regulated(max_rate_per_second=1.0)
    regulated.accepts = False
    regulated.create(5, retry_policy=RetryPolicy(max_attempts=2, backoff="none"))
    regulated.run(30)
    assert regulated.clockwork.regulation._next_slot_us["acme"] // 1000 >= regulated.start + 5_000 + 10_000


def test_a_concurrency_cap_lets_so_many_go_and_the_rest_later() -> None:
    regulated = Regulated(max_concurrency=3)
    regulated.create(10)
    first = regulated.run(5.5)
    assert len(first) == 3
    assert len(regulated.run(30)) == 7


def test_permits_are_given_back_as_soon_as_their_deliveries_have_ended() -> None:
    regulated = Regulated(max_concurrency=BLOCK)
    regulated.create(3)
    assert len(regulated.run(6)) == 3
    now = regulated.clockwork.clock.at
    assert regulated.clockwork.regulation.lease("acme", 0, "other", now, now + 1)


def test_what_gives_permits_back_and_arrives_late_ends_no_later_lease_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    regulated = Regulated(max_concurrency=BLOCK)
    regulation, environment = regulated.clockwork.regulation, regulated.clockwork.world.environment
    give_back, late = regulation.give_back, list[Any]()
    with monkeypatch.context() as slow:
        slow.setattr(regulation, "give_back", lambda *told: late.append(told))
        regulated.create(1)
        assert len(regulated.run(6)) == 1
    now = regulated.clockwork.clock.at
    assert regulation.lease("acme", 0, environment.name, now, now + 60_000)
    for told in late:
        give_back(*told)
    assert late
    assert not regulation.lease("acme", 0, "other", now, now + 1)


def test_permits_are_kept_until_the_last_of_their_deliveries_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated(max_concurrency=10)
    targets, regulation = regulated.clockwork.targets, regulated.clockwork.regulation
    give_back = regulation.give_back
    left: list[int] = []

    def collect_one() -> list[tuple[int, Outcome]]:
        ended, targets._ended = targets._ended[:1], targets._ended[1:]
        return ended

    def note_and_give_back(*args: Any) -> None:
        left.append(len(targets._ended))
        give_back(*args)

    monkeypatch.setattr(targets, "collect", collect_one)
    monkeypatch.setattr(regulation, "give_back", note_and_give_back)
    regulated.create(3)
    assert len(regulated.run(20)) == 3
    assert left == [0]


def test_permits_of_what_is_never_started_are_given_back() -> None:
    regulated = Regulated(max_concurrency=BLOCK)
    (job_id,) = regulated.create(1)
    regulated.run(4)
    assert cancel_job(regulated.clockwork.world, MINE, job_id).verdict == "cancelled"
    assert regulated.run(6) == []
    now = regulated.clockwork.clock.at
    assert regulated.clockwork.regulation.lease("acme", 0, "other", now, now + 1)


def create_of_another(regulated: Regulated) -> None:
    """A job of another client, due when those of `Regulated.create` are."""
    another = msgspec.structs.replace(ACME, client_id="globex")
    regulated.clockwork.clients.put(another)
    wish = msgspec.structs.replace(request(new_job(delay_ms=5_000)), client=another)
    create_jobs(regulated.clockwork.world, wish, ensure_shards(regulated.clockwork.world))


def share_of_one(regulated: Regulated) -> int:
    """How many blocks a client may lease that alone crowds or is slow."""
    return share_of(regulated.clockwork.settings.deliverer_concurrency, 1).count


def lease_all_of_acme(regulated: Regulated, for_ms: int) -> None:
    now = regulated.clockwork.clock.at
    for block in range(share_of_one(regulated)):
        assert regulated.clockwork.regulation.lease("acme", block, "other", now, now + for_ms)


def test_a_slow_client_without_a_cap_needs_permits_only_where_others_were_met() -> None:
    regulated = Regulated()
    regulated.takes_ms = SLOW_MS
    regulated.create(1)
    regulated.run(10)
    lease_all_of_acme(regulated, 40_000)
    # Alone, it may take every deliverer.
    regulated.create(5)
    assert len(regulated.run(6)) == 5
    # It is slow for a minute, and the other counts for as long.
    create_of_another(regulated)
    assert len(regulated.run(6)) == 1
    regulated.create(5)
    assert regulated.run(20) == []
    assert len(regulated.run(20)) == 5
    regulated.run(60)
    lease_all_of_acme(regulated, 40_000)
    regulated.create(5)
    assert len(regulated.run(6)) == 5


def test_a_fast_client_without_a_cap_needs_permits_only_where_it_crowds_and_others_were_met() -> None:
    regulated = Regulated()
    regulated.takes_ms = SLOW_MS - 1
    lease_all_of_acme(regulated, 60_000)
    regulated.create(60)
    assert len(regulated.run(6)) == 60
    # It has not crowded for a while when it meets another, and its batch is not full.
    regulated.run(20)
    create_of_another(regulated)
    regulated.create(2)
    assert len(regulated.run(6)) == 3
    regulated.create(60)
    assert len(regulated.run(6)) == 0
    assert len(regulated.run(60)) == 60


def test_a_client_that_has_waited_for_a_permit_crowds_in_small_batches_too() -> None:
    regulated = Regulated()
    create_of_another(regulated)
    regulated.run(6)
    (job_id,) = regulated.create(1)
    regulated.clockwork.poll_all()
    lease_all_of_acme(regulated, 20_000)
    (message,) = regulated.clockwork.queue.messages.values()
    waited = release_in(message.body).waiting(permits=1)
    message.body = encode_release(waited)
    assert regulated.run(15) == []
    assert [delivery.job_id for delivery in regulated.run(15)] == [job_id]


def test_a_share_costs_two_writes_a_batch_however_many_it_delivers(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated()
    made: Counter[str] = Counter()
    for name in ("lease", "taken", "give_back"):
        call = getattr(regulated.clockwork.regulation, name)

        def counted(*asked: Any, name: str = name, call: Any = call) -> Any:
            made[name] += 1
            return call(*asked)

        monkeypatch.setattr(regulated.clockwork.regulation, name, counted)
    create_of_another(regulated)
    regulated.create(200)
    assert len(regulated.run(8)) == 201
    batches = made["give_back"]
    assert 200 / 10 <= batches <= 200 / 9
    assert made == {"lease": batches, "give_back": batches}


def test_a_free_block_is_found_among_many_that_are_taken() -> None:
    regulated = Regulated()
    create_of_another(regulated)
    regulated.run(6)
    lease_all_of_acme(regulated, 600_000)
    last = share_of_one(regulated) - 1
    regulated.clockwork.regulation.give_back("acme", last, "other")
    regulated.create(10)
    assert len(regulated.run(6)) == 10
    assert regulated.clockwork.world.environment.last_block["acme"] == last


def test_an_environment_that_found_no_block_asks_for_none_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated(max_concurrency=BLOCK)
    regulated.clockwork.regulation.lease("acme", 0, "other", regulated.start, regulated.start + 60_000)
    asked_at: list[int] = []
    lease = regulated.clockwork.regulation.lease

    def noted(*asked: Any) -> bool:
        asked_at.append(regulated.clockwork.clock.at)
        return lease(*asked)

    monkeypatch.setattr(regulated.clockwork.regulation, "lease", noted)
    regulated.create(100)
    assert regulated.run(30) == []
    assert len(asked_at) > 1
    assert all(later - before >= NONE_FREE_FOR_MS for before, later in pairwise(asked_at))


def test_what_is_sent_back_for_a_permit_comes_when_it_is_due_and_not_up_to_a_second_before() -> None:
    regulated = Regulated(max_concurrency=BLOCK)
    regulated.clockwork.regulation.lease("acme", 0, "other", regulated.start, regulated.start + 60_000)
    regulated.create(20)
    regulated.run(6)
    messages = regulated.clockwork.queue.messages.values()
    assert len(messages) == 20
    assert all(0 <= release_in(one.body).run_at - one.visible_at <= SENT_WITHIN_MS for one in messages)


def test_an_environment_without_a_block_of_permits_waits_for_one() -> None:
    regulated = Regulated(max_concurrency=BLOCK)
    now = regulated.start
    assert regulated.clockwork.regulation.lease("acme", 0, "other", now, now + 20_000)
    regulated.create(5)
    assert regulated.run(15) == []
    assert len(regulated.run(25)) == 5


def test_what_waits_behind_a_full_cap_looks_less_and_less_often() -> None:
    regulated = Regulated(max_concurrency=1)
    hour_ms = 3_600_000
    assert regulated.clockwork.regulation.lease("acme", 0, "other", regulated.start, regulated.start + hour_ms)
    regulated.create(1)
    looks = []
    for seconds in (600, 2_900):
        regulated.run(seconds)
        (message,) = regulated.clockwork.queue.messages.values()
        looks.append(release_in(message.body).waits.permits)
    assert 20 <= looks[0] <= 34
    assert 2_900 / 120 - 1 <= looks[1] - looks[0] <= 2_900 / 60 + 1
    assert len(regulated.run(230)) == 1


@pytest.mark.parametrize("waits", [0, 1, 5, 20, 10_000])
@pytest.mark.parametrize("fraction", [0.0, 0.999])
def test_the_wait_for_a_permit_grows_and_is_bounded(waits: int, fraction: float) -> None:
    wait = wait_ms(waits, fraction)
    assert NO_PERMIT_MS <= wait < 2 * LONGEST_NO_PERMIT_MS
    assert wait <= wait_ms(waits + 1, fraction)


@pytest.mark.parametrize(("cap", "count", "size"), [(1, 1, 1), (9, 1, 9), (10, 1, 10), (25, 2, 10), (200, 20, 10)])
def test_blocks_never_exceed_the_cap(cap: int, count: int, size: int) -> None:
    blocks = blocks_of(cap)
    assert (blocks.count, blocks.size) == (count, size)
    assert count * size <= cap


def test_a_limit_of_its_own_holds_and_a_share_is_split_among_those_that_crowd() -> None:
    assert limit_of(None) is None
    assert limit_of(ACME) is None
    assert limit_of(msgspec.structs.replace(ACME, max_concurrency=7)) == Blocks(1, 7)
    assert [share_of(100, crowding).count for crowding in (1, 2, 3, 4, 80, 1_000)] == [75, 37, 25, 18, 1, 1]
    assert share_of(1, 1) == Blocks(1, None)
    assert share_of(10, 1).count == 7
