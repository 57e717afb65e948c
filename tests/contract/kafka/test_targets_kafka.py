"""Kafka deliveries to a test cluster that speaks the real protocol, with the faults of a real cluster."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from clockwork.domain.executions import Outcome, State
from clockwork.domain.instants import to_text
from clockwork.domain.releases import Delivery
from clockwork.settings import Settings
from clockwork.targets.kafka.producer import make_producer
from clockwork.targets.kafka.target import KafkaTarget
from clockwork.targets.kafka.targets import KafkaTargets
from clockwork.targets.message import Payload
from clockwork.targets.sqs import SqsTarget
from tests.contract.receiver import WallClock, delivery_to
from tests.support.kafka.cluster import KafkaCluster, Topics, headers_of

TARGETS = list[KafkaTargets]
#: Of a test with faults, which the mock alone has on demand.
MOCK = pytest.mark.parametrize("cluster", ["mock"], indirect=True)


@pytest.fixture
def connect(cluster: Topics) -> Iterator[Callable[..., KafkaTargets]]:
    """Makes Kafka targets with the producer that ships."""
    made: TARGETS = []

    def make(timeout_seconds: int = 5) -> KafkaTargets:
        settings = Settings(kafka_bootstrap_servers=cluster.addresses, kafka_timeout_seconds=timeout_seconds)
        made.append(KafkaTargets(lambda: make_producer(settings, None, "us-east-1"), WallClock()))
        return made[-1]

    yield make
    for targets in made:
        targets.close()


def to_topic(topic: str, payload: bytes = b'{"n":1}', key: str | None = None, **more: Any) -> Delivery:
    return delivery_to(KafkaTarget(topic, key), Payload(payload), **more)


def deliver(targets: KafkaTargets, deliveries: Sequence[Delivery]) -> list[Outcome]:
    """Deliver a batch; returns the outcomes in the order of the batch."""
    for slot, delivery in enumerate(deliveries):
        targets.begin(slot, delivery)
    outcomes: dict[int, Outcome] = {}
    while ended := targets.collect():
        outcomes |= dict(ended)
    assert sorted(outcomes) == list(range(len(deliveries)))
    return [outcomes[slot] for slot in range(len(deliveries))]


def test_the_payload_is_the_value_and_the_facts_are_its_headers(
    cluster: Topics, connect: Callable[..., KafkaTargets]
) -> None:
    topic = cluster.topic()
    delivery = to_topic(topic, '{"name":"grüße 🎉"}'.encode(), attempt=2)
    before = WallClock().now()
    (outcome,) = deliver(connect(), [delivery])
    assert outcome == Outcome(State.SUCCEEDED, outcome.started_at, outcome.ended_at)
    assert before <= outcome.started_at <= outcome.ended_at <= WallClock().now() + 1
    (message,) = cluster.read(topic, 1)
    assert message.value() == '{"name":"grüße 🎉"}'.encode()
    assert message.key() == b"ajob"
    assert headers_of(message) == {
        "executionId": delivery.execution_id,
        "jobId": "ajob",
        "attempt": "2",
        "dueAt": to_text(delivery.occurrence.due_at),
    }


def test_the_key_may_be_chosen_and_equal_keys_stay_in_order(
    cluster: Topics, connect: Callable[..., KafkaTargets]
) -> None:
    topic = cluster.topic(partitions=8)
    outcomes = deliver(connect(), [to_topic(topic, str(n).encode(), key="order-17") for n in range(10)])
    assert {outcome.state for outcome in outcomes} == {State.SUCCEEDED}
    (partition,) = [number for number in range(8) if cluster.count(topic, number)]
    messages = cluster.read(topic, 10, partition)
    assert [message.value() for message in messages] == [str(n).encode() for n in range(10)]
    assert {message.key() for message in messages} == {b"order-17"}


def test_five_thousand_messages_of_many_keys_stay_in_order_over_three_partitions(
    cluster: Topics, connect: Callable[..., KafkaTargets]
) -> None:
    topic, targets = cluster.topic(partitions=3), connect()
    for first in range(0, 5_000, 100):
        batch = [to_topic(topic, str(n).encode(), key=f"k{n % 97}") for n in range(first, first + 100)]
        assert {outcome.state for outcome in deliver(targets, batch)} == {State.SUCCEEDED}
    came: defaultdict[bytes, list[int]] = defaultdict(list)
    for partition in range(3):
        for message in cluster.read(topic, cluster.count(topic, partition), partition):
            came[message.key() or b""].append(int(message.value() or b""))
    assert came == {f"k{key}".encode(): list(range(key, 5_000, 97)) for key in range(97)}


def test_an_ordered_job_keeps_its_order_in_the_topic_by_its_ordering_key(
    cluster: Topics, connect: Callable[..., KafkaTargets]
) -> None:
    topic = cluster.topic()
    delivery = to_topic(topic)
    ordered = msgspec.structs.replace(delivery.occurrence, ordering_key="account-7")
    deliver(connect(), [msgspec.structs.replace(delivery, occurrence=ordered)])
    assert cluster.read(topic, 1)[0].key() == b"account-7"


def test_an_empty_payload_is_an_empty_value_and_no_tombstone(
    cluster: Topics, connect: Callable[..., KafkaTargets]
) -> None:
    topic = cluster.topic()
    deliver(connect(), [to_topic(topic, b"")])
    assert cluster.read(topic, 1)[0].value() == b""


@MOCK
def test_what_kafka_refuses_for_a_moment_is_delivered_once(
    cluster: KafkaCluster, connect: Callable[..., KafkaTargets]
) -> None:
    topic = cluster.topic()
    cluster("refuse", KafkaError.REQUEST_TIMED_OUT, KafkaError.NOT_LEADER_FOR_PARTITION)
    outcomes = deliver(connect(), [to_topic(topic, str(n).encode()) for n in range(5)])
    assert {outcome.state for outcome in outcomes} == {State.SUCCEEDED}
    assert cluster.count(topic) == 5


@MOCK
@pytest.mark.parametrize(
    ("code", "permanent", "words"),
    [
        (KafkaError.MSG_SIZE_TOO_LARGE, True, "Kafka did not take the message: Broker: Message size too large"),
        (KafkaError.TOPIC_EXCEPTION, True, "Kafka did not take the message: Broker: Invalid topic"),
        (
            KafkaError.TOPIC_AUTHORIZATION_FAILED,
            False,
            "the topic denies access: Clockwork's deliverer must be allowed",
        ),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, False, "the cluster denies access"),
    ],
)
def test_only_a_fault_of_the_message_is_permanent(
    cluster: KafkaCluster, connect: Callable[..., KafkaTargets], code: int, permanent: bool, words: str
) -> None:
    topic = cluster.topic()
    cluster("refuse", code)
    (outcome,) = deliver(connect(), [to_topic(topic)])
    assert (outcome.state, outcome.permanent) == (State.FAILED, permanent)
    assert (outcome.error or "").startswith(words)
    assert cluster.count(topic) == 0


@MOCK
def test_of_a_batch_only_those_fail_whose_broker_refuses(
    cluster: KafkaCluster, connect: Callable[..., KafkaTargets]
) -> None:
    good, bad = cluster.topic(), cluster.topic()
    targets = connect()
    assert deliver(targets, [to_topic(good)])[0].state is State.SUCCEEDED
    cluster("lose_topic", bad, KafkaError.UNKNOWN_TOPIC_OR_PART)
    outcomes = deliver(targets, [to_topic(topic) for topic in (good, bad, good)])
    assert [outcome.state for outcome in outcomes] == [State.SUCCEEDED, State.FAILED, State.SUCCEEDED]
    assert outcomes[1].permanent is False
    assert (outcomes[1].error or "").startswith("the topic does not exist")
    assert cluster.count(good) == 3


@MOCK
def test_what_is_not_acknowledged_in_time_has_timed_out_while_the_others_are_delivered(
    cluster: KafkaCluster, connect: Callable[..., KafkaTargets]
) -> None:
    lost, kept = cluster.topic(), cluster.topic()
    cluster("lead", lost, 0, 1)
    cluster("lead", kept, 0, 2)
    # Long enough for a slow machine to connect to both brokers, short enough to wait for once.
    targets = connect(timeout_seconds=4)
    assert {outcome.state for outcome in deliver(targets, [to_topic(lost), to_topic(kept)])} == {State.SUCCEEDED}
    cluster("set_down", 1, True)
    try:
        outcomes = deliver(targets, [to_topic(lost), to_topic(kept)])
    finally:
        cluster("set_down", 1, False)
    assert [outcome.state for outcome in outcomes] == [State.TIMED_OUT, State.SUCCEEDED]
    assert outcomes[0].permanent is False
    assert outcomes[0].error == "Kafka did not acknowledge the message in time (_MSG_TIMED_OUT)"
    # The same producer goes on once the broker is back.
    assert deliver(connect(), [to_topic(lost)])[0].state is State.SUCCEEDED


@MOCK
def test_no_attempt_outlives_its_deadline_and_nothing_leaves_after_it(
    cluster: KafkaCluster, connect: Callable[..., KafkaTargets]
) -> None:
    topic = cluster.topic()
    targets = connect(timeout_seconds=60)
    cluster("lead", topic, 0, 1)
    cluster("set_down", 1, True)
    began = time.monotonic()
    try:
        (outcome,) = deliver(targets, [to_topic(topic, seconds=0.5)])
    finally:
        cluster("set_down", 1, False)
    assert outcome.state is State.TIMED_OUT
    assert time.monotonic() - began < 3
    assert deliver(targets, [to_topic(topic, b"later")])[0].state is State.SUCCEEDED
    assert [message.value() for message in cluster.read(topic, 1)] == [b"later"]
    assert cluster.count(topic) == 1


@MOCK
def test_what_is_forgotten_is_not_collected_and_the_same_producer_goes_on(
    cluster: KafkaCluster, connect: Callable[..., KafkaTargets]
) -> None:
    topic = cluster.topic()
    targets = connect()
    assert deliver(targets, [to_topic(topic)])[0].state is State.SUCCEEDED
    cluster("set_latency", 300)
    try:
        for slot in range(3):
            targets.begin(slot, to_topic(topic, b"of another invocation"))
        targets.forget()
        assert targets.collect() == []
    finally:
        cluster("set_latency", 0)
    outcomes = deliver(targets, [to_topic(topic, b"ours"), to_topic("no such topic")])
    assert [outcome.state for outcome in outcomes] == [State.SUCCEEDED, State.FAILED]


@MOCK
def test_what_is_forgotten_does_not_leave_later_and_the_next_message_does(
    cluster: KafkaCluster, connect: Callable[..., KafkaTargets]
) -> None:
    topic = cluster.topic()
    targets = connect(timeout_seconds=30)
    assert deliver(targets, [to_topic(topic, b"before")])[0].state is State.SUCCEEDED
    cluster("lead", topic, 0, 1)
    cluster("set_down", 1, True)
    try:
        for slot in range(3):
            targets.begin(slot, to_topic(topic, b"of an invocation that failed"))
        time.sleep(0.3)
        targets.forget()
    finally:
        cluster("set_down", 1, False)
    (outcome,) = deliver(targets, [to_topic(topic, b"after")])
    assert outcome.state is State.SUCCEEDED, outcome.error
    assert [message.value() for message in cluster.read(topic, 2)] == [b"before", b"after"]
    assert cluster.count(topic) == 2


@MOCK
def test_what_is_on_the_wire_when_it_is_forgotten_breaks_no_later_message(
    cluster: KafkaCluster, connect: Callable[..., KafkaTargets]
) -> None:
    topic = cluster.topic()
    targets = connect()
    assert deliver(targets, [to_topic(topic, b"before")])[0].state is State.SUCCEEDED
    cluster("set_latency", 300)
    try:
        for slot in range(3):
            targets.begin(slot, to_topic(topic, b"on the wire"))
        time.sleep(0.1)
        targets.forget()
        outcomes = deliver(targets, [to_topic(topic, b"%d" % number) for number in range(3)])
    finally:
        cluster("set_latency", 0)
    assert [outcome.state for outcome in outcomes] == [State.SUCCEEDED] * 3
    kept = [
        value for message in cluster.read(topic, cluster.count(topic)) if (value := message.value()) != b"on the wire"
    ]
    assert kept == [b"before", b"0", b"1", b"2"]


@MOCK
def test_what_is_on_the_wire_at_its_deadline_breaks_no_later_message(
    cluster: KafkaCluster, connect: Callable[..., KafkaTargets]
) -> None:
    topic = cluster.topic()
    targets = connect()
    assert deliver(targets, [to_topic(topic, b"before")])[0].state is State.SUCCEEDED
    cluster("set_latency", 600)
    try:
        assert deliver(targets, [to_topic(topic, b"on the wire", seconds=0.3)])[0].state is State.TIMED_OUT
    finally:
        cluster("set_latency", 0)
    assert deliver(targets, [to_topic(topic, b"after")])[0].state is State.SUCCEEDED


class _Late:
    """A producer that, once it is waited for, acknowledges the first message that it got and refuses the others."""

    def __init__(self) -> None:
        self.given: list[Callable[..., None]] = []

    def purge(self) -> None:
        """The first message is on the wire already, and its acknowledgement comes all the same."""

    def produce(self, *_: object, on_delivery: Callable[..., None], **__: object) -> None:
        self.given.append(on_delivery)

    def flush(self, seconds: float) -> None:
        if not seconds:
            return

        class Acknowledged:
            def latency(self) -> float:
                return 0.01

        refused = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)
        for place, note in enumerate(self.given):
            note(refused if place else None, Acknowledged())


def test_the_acknowledgement_of_what_is_forgotten_says_nothing_of_what_has_its_slot() -> None:
    late: Any = _Late()
    targets = KafkaTargets(lambda: late, WallClock())
    targets.begin(0, to_topic("jobs"))
    targets.forget()
    (outcome,) = deliver(targets, [to_topic("jobs")])
    assert (outcome.state, outcome.permanent) == (State.FAILED, True)


@MOCK
def test_a_slow_cluster_is_waited_for(cluster: KafkaCluster, connect: Callable[..., KafkaTargets]) -> None:
    topic = cluster.topic()
    targets = connect()
    deliver(targets, [to_topic(topic)])
    cluster("set_latency", 200)
    try:
        (outcome,) = deliver(targets, [to_topic(topic)])
    finally:
        cluster("set_latency", 0)
    assert outcome.state is State.SUCCEEDED
    assert outcome.ended_at - outcome.started_at >= 150


def test_another_kind_of_target_fails_and_says_that_it_is_in_the_wrong_place(
    connect: Callable[..., KafkaTargets],
) -> None:
    (outcome,) = deliver(connect(), [delivery_to(SqsTarget("arn:aws:sqs:us-east-1:123456789012:jobs"))])
    assert (outcome.state, outcome.error) == (
        State.FAILED,
        "this deliverer delivers to Kafka alone, not to SqsTarget",
    )


class _Broken:
    """A producer with a fatal error, as after the cluster has lost librdkafka's sequence: it can only be replaced."""

    def produce(self, *_: object, **__: object) -> None:
        raise KafkaException(KafkaError(KafkaError._FATAL))


class _Full(_Broken):
    """A producer whose queue is full."""

    def produce(self, *_: object, **__: object) -> None:
        raise BufferError("Local: Queue full")


def test_a_producer_that_is_beyond_repair_is_replaced_and_the_message_goes_out(
    cluster: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    topic = cluster.topic()
    made: list[Any] = [_Broken(), Producer({"bootstrap.servers": cluster.addresses})]
    targets = KafkaTargets(lambda: made.pop(0), WallClock())
    with caplog.at_level(logging.WARNING):
        assert deliver(targets, [to_topic(topic)])[0].state is State.SUCCEEDED
    assert cluster.count(topic) == 1
    assert [record.__dict__.get("action") for record in caplog.records] == ["kafka_producer_renewed"]


def test_a_queue_that_is_full_is_a_transient_failure() -> None:
    full: Any = _Full()
    (outcome,) = deliver(KafkaTargets(lambda: full, WallClock()), [to_topic("jobs")])
    assert (outcome.state, outcome.permanent) == (State.FAILED, False)
    assert (outcome.error or "").startswith("too many messages wait for Kafka")
