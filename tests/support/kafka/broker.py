"""A Kafka cluster as a process: librdkafka's mock, which speaks the real protocol and fails on demand.

The process prints its addresses. It then reads lines of JSON from standard input, each with a method of `Cluster` and
its arguments, and answers each with a line. It ends with its input. It supports neither SASL nor TLS nor permissions.

https://github.com/confluentinc/librdkafka/blob/master/src/rdkafka_mock.h
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

import confluent_kafka

BROKERS = 3
PRODUCER = 0
PRODUCE = 0  # https://kafka.apache.org/protocol#protocol_api_keys


class Cluster:
    """The cluster, through the C library in confluent-kafka's wheel."""

    def __init__(self) -> None:
        (path,) = Path(confluent_kafka.__file__).parent.with_suffix(".libs").glob("librdkafka*.so*")
        self._c = ctypes.CDLL(str(path))
        for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new"):
            getattr(self._c, name).restype = ctypes.c_void_p
        self._c.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
        error = ctypes.create_string_buffer(512)
        owner = self._c.rd_kafka_new(PRODUCER, ctypes.c_void_p(self._c.rd_kafka_conf_new()), error, 512)
        assert owner, error.value
        self._cluster = ctypes.c_void_p(self._c.rd_kafka_mock_cluster_new(ctypes.c_void_p(owner), BROKERS))
        self._c.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, 50)

    @property
    def addresses(self) -> str:
        """host:port of each broker, separated by commas."""
        return str(self._c.rd_kafka_mock_cluster_bootstraps(self._cluster).decode())

    def make_topic(self, topic: str, partitions: int) -> None:
        """Makes a topic with one replica; the brokers share the lead of its partitions."""
        assert self._c.rd_kafka_mock_topic_create(self._cluster, topic.encode(), partitions, 1) == 0

    def refuse(self, *codes: int) -> None:
        """Answers the next requests to produce with these errors, one each."""
        array = (ctypes.c_int * len(codes))(*codes)
        self._c.rd_kafka_mock_push_request_errors_array(
            self._cluster, ctypes.c_int16(PRODUCE), ctypes.c_size_t(len(codes)), array
        )

    def lose_topic(self, topic: str, code: int) -> None:
        """Answers all questions about a topic with this error (0: none)."""
        self._c.rd_kafka_mock_topic_set_error(self._cluster, topic.encode(), code)

    def lead(self, topic: str, partition: int, broker: int) -> None:
        """Makes a broker (from 1) the leader of a partition."""
        self._c.rd_kafka_mock_partition_set_leader(self._cluster, topic.encode(), partition, broker)

    def set_down(self, broker: int, down: bool) -> None:
        """Disconnects a broker (from 1), or connects it again."""
        act = self._c.rd_kafka_mock_broker_set_down if down else self._c.rd_kafka_mock_broker_set_up
        act(self._cluster, broker)

    def set_latency(self, milliseconds: int) -> None:
        """Delays every broker's answers."""
        self._c.rd_kafka_mock_broker_set_rtt(self._cluster, -1, milliseconds)


def main() -> None:
    """Serves until standard input ends."""
    cluster = Cluster()
    print(cluster.addresses, flush=True)
    for line in sys.stdin:
        method, arguments = json.loads(line)
        getattr(cluster, method)(*arguments)
        print("done", flush=True)


if __name__ == "__main__":
    main()
