"""Ordered jobs from create to delivery: one job of a key at a time, by due instant, then by sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from clockwork.domain import keys
from clockwork.domain.clients import Client
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.ids import derive
from clockwork.domain.jobs import Occurrence
from clockwork.domain.ordering import group_of, partition_of, policy_of
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Delivery, Refused, Release
from clockwork.domain.storage.codec import decode_message
from clockwork.domain.storage.rows import releases_of
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.ordered import OrderedMessage, _come_back
from clockwork.flows.deliver.waiting import InPlace
from clockwork.flows.requests.create import CreatedJob, create_jobs
from clockwork.flows.requests.redrive import DeadFilter, redrive_dead
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from clockwork.targets.kafka.target import KafkaTarget
from clockwork.targets.message import Payload
from clockwork.targets.registry import Target
from clockwork.targets.sqs import SqsTarget
from tests.support.examples import ACME, NOW, STEADY, failure, new_job, request, success

KEY = "order-17"
TIMEOUT_SECONDS = Settings.for_local().deliverer_timeout_seconds
QUEUE = "arn:aws:sqs:eu-central-1:111122223333:orders"


def ordered(clockwork: MemoryClockwork, *jobs: dict[str, Any]) -> Sequence[CreatedJob]:
    """Create ordered jobs; `name` becomes the payload."""
    defaults = {"ordering_key": KEY, "retry_policy": STEADY}
    wanted = []
    for job in jobs:
        asked = {name: value for name, value in job.items() if name != "name"}
        wanted.append(new_job(**{**defaults, **asked, "payload": Payload(job["name"].encode())}))
    return create_jobs(clockwork.world, request(*wanted), ensure_shards(clockwork.world))


def ready(answer: Callable[[Delivery], Outcome] | None = None) -> MemoryClockwork:
    clockwork = MemoryClockwork(answer=answer)
    clockwork.clients.put(ACME)
    return clockwork


def delivered(clockwork: MemoryClockwork) -> list[str]:
    return [delivery.occurrence.payload.body.decode() for delivery in clockwork.targets.delivered]


def kept(clockwork: MemoryClockwork, ordering_key: str = KEY) -> Occurrence:
    """The only job of the key's shard."""
    place = partition_of("acme", ordering_key, clockwork.settings.ordered_shards)
    (row,) = clockwork.timeline.read(place, keys.BEGINNING, keys.END, 10).rows
    return releases_of(row)[0].occurrence


def record_of(clockwork: MemoryClockwork, job: CreatedJob) -> Execution:
    return next(record for record in clockwork.executions.all() if record.job_id == job.job_id)


def run(clockwork: MemoryClockwork, ms: int) -> None:
    clockwork.run_until(clockwork.clock.at + ms)


def failing_first(name: bytes) -> Callable[[Delivery], Outcome]:
    def answer(delivery: Delivery) -> Outcome:
        fails = delivery.occurrence.payload.body == name and delivery.attempt == 1
        return failure() if fails else success()

    return answer


def test_jobs_of_a_key_are_delivered_by_due_instant_whenever_they_were_created() -> None:
    clockwork = ready()
    ordered(clockwork, {"name": "third", "delay_ms": 9_000}, {"name": "first", "delay_ms": 5_000})
    ordered(clockwork, {"name": "second", "delay_ms": 7_000})
    run(clockwork, 20_000)
    assert delivered(clockwork) == ["first", "second", "third"]


def test_ties_are_delivered_by_sequence() -> None:
    clockwork = ready()
    at = clockwork.clock.at + 5_000
    numbers = [10, 9, 2, 1, 11, 2**53]
    ordered(clockwork, *({"name": str(number), "at": at, "sequence": number} for number in numbers))
    run(clockwork, 10_000)
    assert delivered(clockwork) == [str(number) for number in sorted(numbers)]


def test_nothing_of_a_key_overtakes_a_head_that_fails_and_other_keys_go_on() -> None:
    clockwork = ready(failing_first(b"a1"))
    ordered(
        clockwork,
        {"name": "a1", "delay_ms": 1_000},
        {"name": "a2", "delay_ms": 1_100},
        {"name": "b1", "delay_ms": 1_200, "ordering_key": "order-18"},
    )
    run(clockwork, 4_000)
    assert delivered(clockwork) == ["a1", "b1"]
    run(clockwork, 10_000)
    assert delivered(clockwork) == ["a1", "b1", "a1", "a2"]
    assert clockwork.ordered_queue.messages == {}


def test_a_retry_waits_as_its_policy_says_though_its_followers_were_received_with_it() -> None:
    clockwork = ready(failing_first(b"a1"))
    ordered(clockwork, *({"name": f"a{n}", "delay_ms": 1_000 + n} for n in (1, 2, 3)))
    run(clockwork, 5_900)
    assert delivered(clockwork) == ["a1"]
    run(clockwork, 1_200)
    assert delivered(clockwork) == ["a1", "a1", "a2", "a3"]


def behind_a_poller_that_died(clockwork: MemoryClockwork, seconds: int) -> None:
    """A poller publishes its horizon and dies before it has read anything."""
    clockwork.clock.at += seconds * 1000
    now = clockwork.clock.at
    place = partition_of("acme", KEY, clockwork.settings.ordered_shards)
    assert clockwork.world.shards.acquire(place, "dies", now, now + 1_000, keys.edge_key(now)) is not None


def test_a_repeat_does_not_release_ahead_of_what_the_poller_has_yet_to_read() -> None:
    clockwork = ready()
    ordered(clockwork, {"name": "first", "delay_ms": 5_000})
    second = new_job(delay_ms=6_000, payload=Payload(b"second"), ordering_key=KEY, retry_policy=STEADY)
    for seconds, refused in ((0, False), (7, True)):
        if refused:
            behind_a_poller_that_died(clockwork, seconds)
        with pytest.raises(Unavailable, match="in order") if refused else nullcontext():
            create_jobs(clockwork.world, request(second, key="k"), ensure_shards(clockwork.world))
    assert not clockwork.ordered_queue.messages
    clockwork.clock.at += 2_000  # the lease ends
    run(clockwork, 10_000)
    create_jobs(clockwork.world, request(second, key="k"), ensure_shards(clockwork.world))
    run(clockwork, 10_000)
    assert delivered(clockwork) == ["first", "second"]


def test_what_was_asked_for_too_late_for_its_place_is_released_at_once() -> None:
    clockwork = ready()
    ordered(clockwork, {"name": "in time", "delay_ms": 5_000})
    behind_a_poller_that_died(clockwork, 7)
    ordered(clockwork, {"name": "late", "delay_ms": 0})
    clockwork.deliver_ordered()
    assert delivered(clockwork) == ["late"]


@pytest.mark.parametrize(
    ("wait_ms", "hidden_seconds"), [(-5_000, 0), (999, 0), (1_000, 1), (10**9, 43_200 - TIMEOUT_SECONDS)]
)
def test_a_head_is_hidden_for_whole_seconds_and_never_later_than_it_is_wanted(
    wait_ms: int, hidden_seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clockwork = ready()
    hidden: list[int] = []
    monkeypatch.setattr(clockwork.world.visibility, "hide", lambda receipts, seconds: hidden.append(seconds))
    message = OrderedMessage("m", "", 1, receipt="r", group="g", sent_at=NOW)
    waiting = InPlace(clockwork.world, {"m": 1})
    waiting.back_at["m"] = clockwork.clock.at + wait_ms
    _come_back(Batch(clockwork.world, clockwork.clock.at + 60_000, waiting), waiting, [message])
    assert hidden == [hidden_seconds]


def test_a_dead_head_lets_its_followers_go() -> None:
    clockwork = ready(lambda d: failure() if d.occurrence.payload.body == b"a1" else success())
    (head, _) = ordered(clockwork, {"name": "a1", "delay_ms": 1_000}, {"name": "a2", "delay_ms": 1_001})
    run(clockwork, 60_000)
    assert delivered(clockwork) == ["a1", "a1", "a1", "a2"]
    assert record_of(clockwork, head).state is State.DEAD


@pytest.mark.long
def test_the_jobs_of_a_client_that_was_paused_for_days_are_delivered_in_their_order() -> None:
    clockwork = ready()
    clockwork.clients.put(msgspec.structs.replace(ACME, paused=True))
    ordered(clockwork, *({"name": str(n), "delay_ms": 1_000 * n} for n in range(1, 4)))
    clockwork.run_until(NOW + 4 * 86_400_000)
    assert (delivered(clockwork), dict(clockwork.ordered_queue.dead)) == ([], {})
    clockwork.clients.put(ACME)
    clockwork.run_until(NOW + 5 * 86_400_000)
    assert delivered(clockwork) == ["1", "2", "3"]


def test_a_paused_client_holds_its_heads_in_their_place_and_they_are_shown_as_set_aside() -> None:
    clockwork = ready()
    clockwork.clients.put(msgspec.structs.replace(ACME, paused=True))
    (head, _) = ordered(clockwork, {"name": "a1", "delay_ms": 1_000}, {"name": "a2", "delay_ms": 1_001})
    run(clockwork, 30_000)
    assert delivered(clockwork) == []
    assert record_of(clockwork, head).state is State.PARKED
    assert list(clockwork.regulation.parked()) == []
    clockwork.clients.put(ACME)
    run(clockwork, 90_000)
    assert delivered(clockwork) == ["a1", "a2"]


def test_a_capped_client_gets_its_jobs_in_order_at_its_pace_and_each_takes_one_slot() -> None:
    clockwork = ready()
    clockwork.clients.put(Client(client_id="acme", principals=ACME.principals, max_rate_per_second=0.2))
    ordered(clockwork, *({"name": f"a{n}", "delay_ms": 1_000 + n} for n in range(4)))
    began_at = clockwork.clock.at
    run(clockwork, 60_000)
    assert delivered(clockwork) == ["a0", "a1", "a2", "a3"]
    starts = sorted(record.attempts[0].started_at - began_at for record in clockwork.executions.all())
    assert all(4_900 <= later - earlier <= 6_000 for earlier, later in pairwise(starts))


def test_a_head_that_waits_for_a_permit_under_a_rate_cap_writes_that_it_has_no_slot_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = ready()
    acme = Client(client_id="acme", principals=ACME.principals, max_rate_per_second=1.0, max_concurrency=1)
    clockwork.clients.put(acme)
    ordered(clockwork, {"name": "a1", "delay_ms": 1_000}, {"name": "a2", "delay_ms": 1_001})
    now, save, saved = clockwork.clock.at, clockwork.executions.save, list[Any]()
    assert clockwork.regulation.lease("acme", 0, "other", now, now + 90_000)

    def noted(changes: Any) -> Any:
        saved.extend(after for _, after in changes)
        return save(changes)

    monkeypatch.setattr(clockwork.executions, "save", noted)
    run(clockwork, 80_000)
    assert [(one.state, one.waits.paced) for one in saved] == [(State.PENDING, False)]
    run(clockwork, 200_000)
    assert delivered(clockwork) == ["a1", "a2"]


def test_redriven_ordered_jobs_keep_the_pace_too() -> None:
    is_down = True
    starts: list[int] = []

    def answer(_: Delivery) -> Outcome:
        starts.append(clockwork.clock.at)
        return failure(permanent=True) if is_down else success()

    clockwork = ready(answer)
    clockwork.clients.put(Client(client_id="acme", principals=ACME.principals, max_rate_per_second=0.2))
    ordered(clockwork, *({"name": f"a{n}", "delay_ms": 1_000 + n} for n in range(4)))
    run(clockwork, 60_000)
    is_down = False
    assert redrive_dead(clockwork.world, "acme", DeadFilter(), 10, None, admit=lambda *_: None).changed == len(starts)
    run(clockwork, 120_000)
    assert {record.state for record in clockwork.executions.all()} == {State.SUCCEEDED}
    assert all(later - earlier >= 4_900 for earlier, later in pairwise(starts))


def test_a_message_whose_deliverer_was_lost_is_tried_again_before_its_followers() -> None:
    clockwork = ready()
    ordered(clockwork, {"name": "a1", "delay_ms": 1_000}, {"name": "a2", "delay_ms": 1_001})
    lost: list[str] = []

    def answer(delivery: Delivery) -> Outcome:
        if not lost:
            lost.append(delivery.execution_id)
            raise KeyboardInterrupt
        return success()

    clockwork.targets._answer = answer
    with pytest.raises(KeyboardInterrupt):
        run(clockwork, 10_000)
    run(clockwork, 120_000)
    assert delivered(clockwork) == ["a1", "a1", "a2"]


def test_a_head_that_nobody_can_read_blocks_its_followers_until_the_queue_gives_it_up() -> None:
    clockwork = ready()
    ordered(clockwork, {"name": "a2", "delay_ms": 1_000})
    clockwork.ordered_queue.put("garbage", group_of(kept(clockwork)), "g")
    run(clockwork, 10_000)
    assert delivered(clockwork) == []
    assert len(clockwork.ordered_queue.messages) == 2


def test_what_is_sent_twice_is_delivered_once() -> None:
    clockwork = ready()
    ordered(clockwork, {"name": "a1", "delay_ms": 1_000}, {"name": "a2", "delay_ms": 1_001})
    clockwork.clock.advance(2_000)
    clockwork.poll_all()
    sent = [one for m in clockwork.ordered_queue.messages.values() for one in decode_message(m.body)]
    clockwork.clock.advance(600_000)  # beyond the queue's deduplication window
    clockwork.world.releases.send(sent, clockwork.clock.at)
    run(clockwork, 10_000)
    assert delivered(clockwork) == ["a1", "a2"]


def test_an_invocation_without_time_for_all_of_a_group_leaves_the_rest_in_order() -> None:
    clockwork = ready()

    def slow(delivery: Delivery) -> Outcome:
        clockwork.clock.advance(8_000)
        return success(clockwork.clock.at)

    clockwork.targets._answer = slow
    ordered(clockwork, *({"name": f"a{n}", "delay_ms": 1_000 + n} for n in range(5)))
    run(clockwork, 100_000)
    assert delivered(clockwork) == [f"a{n}" for n in range(5)]


def test_nothing_of_a_key_is_sent_behind_what_the_queue_did_not_take() -> None:
    clockwork = ready()
    put = clockwork.ordered_queue._send_turn
    refusing = [True]

    def send_turn(turn: Sequence[Release]) -> Sequence[Refused]:
        if refusing and turn[0].occurrence.payload.body == b"a2":
            refusing.clear()
            return [Refused(0, False, "throttled")]
        return put(turn)

    clockwork.ordered_queue._send_turn = send_turn  # type: ignore[method-assign]
    ordered(clockwork, *({"name": f"a{n}", "delay_ms": 1_000} | {"sequence": n} for n in (1, 2, 3)))
    run(clockwork, 90_000)
    assert delivered(clockwork) == ["a1", "a2", "a3"]


def test_what_of_a_send_is_refused_for_good_does_not_stop_its_key() -> None:
    clockwork = ready()
    ordered(clockwork, *({"name": f"a{n}", "delay_ms": 1_000} | {"sequence": n} for n in (1, 2)))
    clockwork.clock.advance(2_000)
    put = clockwork.ordered_queue._send_turn
    clockwork.ordered_queue._send_turn = lambda turn: (  # type: ignore[method-assign]
        [Refused(0, True, "too large")] if turn[0].occurrence.payload.body == b"a1" else put(turn)
    )
    run(clockwork, 5_000)
    assert delivered(clockwork) == ["a2"]


def test_a_job_is_never_retried_for_longer_than_its_queue_can_hide_it() -> None:
    day = RetryPolicy(max_age_seconds=86_400)
    assert policy_of(day, KEY).max_age_seconds == 43_200
    assert policy_of(day, None) is day


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (KafkaTarget("topic"), KafkaTarget("topic", key=KEY)),
        (KafkaTarget("topic", key="its own"), KafkaTarget("topic", key="its own")),
        (SqsTarget(f"{QUEUE}.fifo"), SqsTarget(f"{QUEUE}.fifo", message_group_id=derive("group", KEY))),
        (SqsTarget(f"{QUEUE}.fifo", message_group_id="g"), SqsTarget(f"{QUEUE}.fifo", message_group_id="g")),
        (SqsTarget(QUEUE), SqsTarget(QUEUE)),
    ],
)
def test_a_target_with_an_order_of_its_own_is_told_the_key_where_there_is_one(target: Target, told: Target) -> None:
    assert target.in_order(KEY) == told


def test_keys_of_two_clients_never_meet() -> None:
    clockwork = ready()
    ordered(clockwork, {"name": "a", "ordering_key": "b-c"})
    mine = kept(clockwork, "b-c")
    theirs = msgspec.structs.replace(mine, client_id="acme-b", ordering_key="c")
    assert group_of(mine) != group_of(theirs)


def test_a_refused_hide_leaves_the_order_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready(failing_first(b"a1"))

    def refuse(receipts: Sequence[str], seconds: int) -> None:
        raise Unavailable("throttled")

    monkeypatch.setattr(clockwork.ordered_queue, "hide", refuse)
    ordered(clockwork, {"name": "a1", "delay_ms": 1_000}, {"name": "a2", "delay_ms": 1_001})
    run(clockwork, 120_000)
    assert delivered(clockwork) == ["a1", "a1", "a2"]
