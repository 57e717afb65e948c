"""The Kafka clusters of the tests: their topics can be read back, and one of them fails by name on demand."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from local.broker import broker

READ_SECONDS = 10.0

_names = itertools.count(1)


class Topics:
    """The topics of a cluster at these addresses (host:port, separated by commas)."""

    def __init__(self, addresses: str) -> None:
        self.addresses = addresses

    def make_topic(self, name: str, partitions: int) -> None:
        """Makes a topic."""
        admin = AdminClient({"bootstrap.servers": self.addresses})
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(READ_SECONDS)

    def topic(self, partitions: int = 1, name: str | None = None) -> str:
        """A new topic."""
        name = name or f"topic-{next(_names)}"
        self.make_topic(name, partitions)
        return name

    def write(self, topic: str, *values: Any, key: str | None = None) -> None:
        """Produces values, in order: bytes unchanged, all others as JSON."""
        producer = Producer({"bootstrap.servers": self.addresses})
        for value in values:
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            producer.produce(topic, body, key)
        assert producer.flush(READ_SECONDS) == 0

    def read(self, topic: str, count: int, partition: int = 0) -> list[Message]:
        """The first `count` messages of a partition. Fails the test if they do not come."""
        found = self._read(topic, count, partition)
        assert len(found) == count, f"{len(found)} of {count} messages came"
        return found

    def count(self, topic: str, partition: int = 0) -> int:
        """How many messages a partition holds."""
        return len(self._read(topic, None, partition))

    def _read(self, topic: str, most: int | None, partition: int) -> list[Message]:
        """The messages of a partition up to its end. With `most`, so many of them are waited for."""
        with consumer(self.addresses) as reader:
            reader.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
            found: list[Message] = []
            ends = time.monotonic() + READ_SECONDS
            while time.monotonic() < ends and (most is None or len(found) < most):
                for one in reader.consume(1 if most is None else most - len(found), 0.1):
                    error = one.error()
                    if error is None:
                        found.append(one)
                    elif most is None and error.code() == KafkaError._PARTITION_EOF:
                        return found
            return found


class KafkaCluster(Topics):
    """A cluster of three brokers on 127.0.0.1. broker.py has the methods that can be called besides those here."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        super().__init__(self._answer())

    def make_topic(self, name: str, partitions: int) -> None:
        self("make_topic", name, partitions)

    def __call__(self, method: str, *arguments: object) -> None:
        """Calls a method in the broker process, and waits until it is done."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([method, arguments]) + "\n")
        self._process.stdin.flush()
        assert self._answer() == "done"

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def headers_of(message: Message) -> dict[str, str]:
    """The headers of a received message."""
    headers = message.headers()
    assert isinstance(headers, list)
    return {name: value.decode() for name, value in headers if isinstance(value, bytes)}


@contextmanager
def consumer(addresses: str, group: str = "reader") -> Iterator[Consumer]:
    """A consumer that does not commit offsets by itself."""
    opened = Consumer(
        {
            "bootstrap.servers": addresses,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 20,
        }
    )
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def kafka_cluster() -> Iterator[KafkaCluster]:
    """Runs a cluster in a process of its own, which ends with the block."""
    command = [sys.executable, str(Path(__file__).with_name("broker.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield KafkaCluster(process)
        finally:
            process.kill()


@contextmanager
def tansu() -> Iterator[Topics]:
    """Runs the broker of the development server, which is no mock and ends with the block."""
    with broker() as address:
        yield Topics(address)
