"""Bundles: occurrences of one client in one second share a message if their target takes many, until they fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.keys import row_key
from clockwork.domain.messages.bundles import LARGEST_BUNDLE, MOST_IN_BUNDLE, plan_bundles
from clockwork.domain.policies import RecordLevel
from clockwork.domain.releases import Deliver, Delivery
from clockwork.domain.storage.codec import decode_message, encode_message
from clockwork.flows.sweep.dead_letters import sweep_dead_letters
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import DeadLetter, Refused, Saved
from clockwork.targets.eventbridge import EventBridgeTarget
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from clockwork.targets.registry import Target
from clockwork.targets.sqs import SqsTarget
from tests.support.examples import ACME, NOW, occurrence, release, release_in

QUEUE = SqsTarget("arn:aws:sqs:us-east-1:111111111111:orders")
OTHER = SqsTarget("arn:aws:sqs:us-east-1:111111111111:others")
BUS = EventBridgeTarget("arn:aws:events:us-east-1:111111111111:event-bus/orders", "shop", "order due")
RELEASES = st.lists(
    st.builds(
        lambda target, client_id, run_at, attempt, size: release(
            occurrence=occurrence(target=target, client_id=client_id, payload=Payload(b"x" * size)),
            run_at=run_at,
            attempt=attempt,
        ),
        st.sampled_from([QUEUE, OTHER, HttpTarget("https://example.com")]),
        st.sampled_from(["acme", "other"]),
        st.integers(NOW - 3_000, NOW + 3_000),
        st.sampled_from([1, 1, 1, 2]),
        st.sampled_from([1, 20_000]),
    ),
    max_size=80,
)


def sending(**given: Any) -> MemoryClockwork:
    """A Clockwork whose client may send to the queues and the bus of these tests."""
    clockwork = MemoryClockwork(**given)
    queues = (QUEUE.queue_arn, OTHER.queue_arn)
    clockwork.clients.put(msgspec.structs.replace(ACME, allowed_queue_arns=queues, allowed_target_arns=(BUS.bus_arn,)))
    return clockwork


@given(releases=RELEASES)
def test_every_release_is_in_one_message_and_those_of_a_bundle_belong_together(releases: list[Deliver]) -> None:
    bundles = plan_bundles(releases, NOW)
    assert sorted(index for bundle in bundles for index in bundle.indexes) == list(range(len(releases)))
    for bundle in bundles:
        carried = [releases[index] for index in bundle.indexes]
        assert bundle.run_at == min(one.run_at for one in carried)
        assert decode_message(encode_message(carried)) == carried
        if len(carried) > 1:
            assert len(carried) <= MOST_IN_BUNDLE
            assert sum(len(one.occurrence.payload.body) for one in carried) <= LARGEST_BUNDLE
            kinds = {
                (one.occurrence.client_id, one.occurrence.target.queue_arn, max(one.run_at, NOW) // 1000, one.attempt)
                for one in carried
                if isinstance(one.occurrence.target, SqsTarget)
            }
            assert len(kinds) == 1 and kinds.pop()[3] == 1


def test_sixteen_of_the_largest_fit_into_a_message() -> None:
    tags = {f"{number:064d}": "\U0001f600" * 256 for number in range(20)}
    largest = [release(occurrence=occurrence(target=QUEUE, tags=tags, payload=Payload(b"x" * 4_096)))] * 16
    assert len(plan_bundles(largest, NOW)) == 1
    assert len(encode_message(largest)) < 1_048_576


def test_what_failed_once_in_company_travels_alone() -> None:
    alone = release(occurrence=occurrence(target=QUEUE), alone=True)
    swept = release(occurrence=occurrence(target=QUEUE), sweeps=1)
    assert len(plan_bundles([alone, alone, swept, swept], NOW)) == 4


def test_events_for_one_bus_share_a_message_whatever_their_source() -> None:
    other = EventBridgeTarget(f"{BUS.bus_arn}-2", "shop", "order due")
    returned = EventBridgeTarget(BUS.bus_arn, "other", "order returned")
    releases = [release(occurrence=occurrence(target=target)) for target in (BUS, other, BUS, returned)]
    assert [bundle.indexes for bundle in plan_bundles(releases, NOW)] == [(0, 2, 3), (1,)]


def herd(clockwork: MemoryClockwork, count: int, record: RecordLevel = "full", target: Target = QUEUE) -> list[Deliver]:
    now = clockwork.clock.at
    releases = [
        release(
            job_id=AnonymousJob("p000", row_key(now, "x" * 22), number).job_id,
            occurrence=occurrence(
                target=target, due_at=now, created_at=now, record=record, payload=Payload(b"%d" % number)
            ),
            run_at=now,
        )
        for number in range(count)
    ]
    assert clockwork.world.releases.send(releases, now) == []
    return releases


def bodies(clockwork: MemoryClockwork) -> list[bytes]:
    return [delivery.occurrence.payload.body for delivery in clockwork.targets.delivered]


def refusing(body: bytes) -> Callable[[Delivery], Outcome]:
    def answer(delivery: Delivery) -> Outcome:
        bad = delivery.occurrence.payload.body == body
        return Outcome(State.FAILED if bad else State.SUCCEEDED, NOW, NOW, error="no" if bad else None)

    return answer


@pytest.mark.parametrize("record", ["none", "full"])
def test_a_bundle_is_delivered_whole_and_acknowledged_at_once(record: RecordLevel) -> None:
    clockwork = sending()
    herd(clockwork, 10, record)
    assert len(clockwork.queue.messages) == 1
    report = clockwork.deliver_visible()
    assert (report.succeeded, report.failed_messages) == (10, [])
    assert not clockwork.queue.messages
    assert len(clockwork.executions.all()) == (10 if record == "full" else 0)


@pytest.mark.parametrize("target", [QUEUE, BUS], ids=["queue", "bus"])
@pytest.mark.parametrize("record", ["none", "full"])
def test_one_bad_occurrence_of_a_bundle_retries_alone(record: RecordLevel, target: Target) -> None:
    clockwork = sending(answer=refusing(b"3"))
    sent = herd(clockwork, 8, record, target)
    assert len(clockwork.queue.messages) == 1
    clockwork.run_until(clockwork.clock.at + 100_000)
    assert sorted(bodies(clockwork)) == sorted([b"%d" % n for n in range(8)] + [b"3", b"3"])
    assert [kept.job_id for kept in clockwork.executions.all() if kept.state is State.DEAD] == [sent[3].job_id]


def test_what_cannot_be_recorded_comes_back_alone_and_the_rest_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = sending()
    sent = herd(clockwork, 4)
    save = clockwork.executions.save

    def failing(changes: Sequence[tuple[Execution | None, Execution]]) -> list[Saved]:
        return [
            Saved(ok=False, unavailable="throttled") if after.job_id == sent[2].job_id else save([(before, after)])[0]
            for before, after in changes
        ]

    with monkeypatch.context() as patched:
        patched.setattr(clockwork.executions, "save", failing)
        report = clockwork.deliver_visible()
    assert (report.succeeded, report.failed_messages) == (3, [])
    (message,) = clockwork.queue.messages.values()
    left = release_in(message.body)
    assert (left.job_id, left.travels.alone) == (sent[2].job_id, True)
    assert clockwork.deliver_visible().succeeded == 1


def test_a_bundle_received_again_is_split_before_anything_of_it_is_started() -> None:
    clockwork = sending()
    herd(clockwork, 5)
    clockwork.queue.receive()  # by a deliverer that then dies
    clockwork.clock.advance(clockwork.settings.visibility_seconds * 1000)
    report = clockwork.deliver_visible()
    assert (report.succeeded, report.deferred, report.failed_messages) == (0, 5, [])
    carried = [release_in(message.body) for message in clockwork.queue.messages.values()]
    assert [one.travels.alone for one in carried] == [True] * 5
    assert clockwork.deliver_visible().succeeded == 5


def test_a_bundle_comes_back_whole_if_it_cannot_be_split(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = sending()
    herd(clockwork, 3)
    clockwork.queue.receive()
    clockwork.clock.advance(clockwork.settings.visibility_seconds * 1000)
    with monkeypatch.context() as patched:
        patched.setattr(clockwork.queue, "send", lambda releases, now: [Refused(1, False, "throttled")])
        assert len(clockwork.deliver_visible().failed_messages) == 1
    assert len(clockwork.queue.messages) == 1


def test_of_a_dead_lettered_bundle_that_is_taken_in_part_only_that_counts_and_the_letter_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = sending()
    letters = iter([[DeadLetter("receipt", encode_message([release()] * 3))], []])
    monkeypatch.setattr(clockwork.world.dead_letters, "receive", lambda: next(letters))
    monkeypatch.setattr(clockwork.world.releases, "send", lambda some, now: [Refused(1, False, "full")])
    report = sweep_dead_letters(clockwork.world, clockwork.clock.at + 60_000)
    assert (report.released, report.left) == (2, 1)


def test_a_dead_lettered_bundle_is_released_one_by_one() -> None:
    clockwork = sending()
    herd(clockwork, 3)
    (message,) = clockwork.queue.messages.values()
    clockwork.queue.dead[message.message_id] = clockwork.queue.messages.pop(message.message_id)
    message.visible_at = clockwork.clock.at
    report = sweep_dead_letters(clockwork.world, clockwork.clock.at + 60_000)
    assert report.released == 3
    assert not clockwork.queue.dead
    clockwork.deliver_visible()
    assert len(bodies(clockwork)) == 3
