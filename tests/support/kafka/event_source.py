"""A topic as Lambda reads it: in a consumer group, it calls a handler with events and commits the handled offsets.

https://docs.aws.amazon.com/lambda/latest/dg/with-msk-process.html
"""

from __future__ import annotations

import base64
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, Message, TopicPartition

from tests.support.kafka.cluster import READ_SECONDS, Topics

ARN = "arn:aws:kafka:us-east-1:123456789012:cluster/jobs/abc-1"
#: A new group each time: the cluster of the tests hands no messages to a group whose members have all left.
_groups = itertools.count(1)
Handler = Callable[[dict[str, Any], Any], Any]


class EventSource:
    """Feeds a handler from a topic. After a failed message, it reads that partition again from there.

    A handler that raises TimeoutError stands for an invocation that ended before it answered.
    """

    def __init__(self, consumer: Consumer, handler: Handler, context: Any) -> None:
        self._consumer = consumer
        self._handler = handler
        self._context = context

    def feed(self, count: int, batch: int = 100) -> int:
        """Waits for messages and invokes the handler once with them; returns how many these were (at most `count`)."""
        messages: list[Message] = []
        ends = time.monotonic() + READ_SECONDS
        while not messages:
            assert time.monotonic() < ends, "no message came"
            messages = [one for one in self._consumer.consume(min(count, batch), 0.1) if one.error() is None]
        event = _event(messages)
        try:
            failures = self._handler(event, self._context)["batchItemFailures"]
        except TimeoutError:  # the invocation ended early: all of its messages come again
            failures = [
                {"itemIdentifier": {"partition": lane, "offset": records[0]["offset"]}}
                for lane, records in event["records"].items()
            ]
        self._go_on(messages, failures)
        return len(messages)

    def _go_on(self, messages: list[Message], failures: list[dict[str, Any]]) -> None:
        ends: dict[tuple[str, int], int] = {}
        for one in messages:
            place = (str(one.topic()), _number(one.partition()))
            ends[place] = max(ends.get(place, 0), _number(one.offset()) + 1)
        for failure in failures:
            lane, offset = failure["itemIdentifier"]["partition"], failure["itemIdentifier"]["offset"]
            topic, _, partition = lane.rpartition("-")
            ends[topic, int(partition)] = offset
            self._consumer.seek(TopicPartition(topic, int(partition), offset))
        offsets = [TopicPartition(topic, partition, offset) for (topic, partition), offset in ends.items()]
        self._consumer.commit(offsets=offsets, asynchronous=False)


@contextmanager
def event_source(cluster: Topics, topic: str, handler: Handler, context: Any) -> Iterator[EventSource]:
    """An event source that begins at the first message of the topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.addresses,
            "group.id": f"ingestion-{next(_groups)}",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 20,
            # Tansu lets a group begin half of this time after its first member came.
            "session.timeout.ms": 2_000,
            "heartbeat.interval.ms": 300,
        }
    )
    consumer.subscribe([topic])
    try:
        yield EventSource(consumer, handler, context)
    finally:
        consumer.close()


def _event(messages: list[Message]) -> dict[str, Any]:
    records: dict[str, list[dict[str, Any]]] = {}
    for one in messages:
        kind, at = one.timestamp()
        record: dict[str, Any] = {
            "topic": one.topic(),
            "partition": one.partition(),
            "offset": one.offset(),
            "timestamp": at,
            "timestampType": {1: "CREATE_TIME", 2: "LOG_APPEND_TIME"}[kind],
            "key": _encoded(one.key()),
            "value": _encoded(one.value()),
            "headers": [],
        }
        records.setdefault(f"{one.topic()}-{one.partition()}", []).append(record)
    return {"eventSource": "aws:kafka", "eventSourceArn": ARN, "bootstrapServers": "", "records": records}


def _encoded(raw: bytes | None) -> str | None:
    return None if raw is None else base64.b64encode(raw).decode()


def _number(value: int | None) -> int:
    assert value is not None
    return value
