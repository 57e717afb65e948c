"""Ingestion from Kafka: every message of a topic is done once and in the order of its partition, despite repeats."""

from __future__ import annotations

from typing import Any

from clockwork.domain.errors import Unavailable
from clockwork.domain.named_jobs import NamedJob
from tests.handlers.handlers import CONTEXT
from tests.handlers.test_ingester import NIGHTLY, Ingester, create
from tests.support.kafka.cluster import Topics
from tests.support.kafka.event_source import event_source

CANCEL = {"op": "cancel", "clientId": "acme", "jobKey": "nightly"}


def test_all_messages_of_all_partitions_become_jobs(cluster: Topics) -> None:
    topic = cluster.topic(partitions=4)
    for number in range(40):
        cluster.write(topic, create(number), key=f"order-{number}")
    ingester = Ingester()
    with event_source(cluster, topic, ingester.handle, CONTEXT) as source:
        left = 40
        while left:
            left -= source.feed(left, batch=7)
    assert ingester.payloads() == sorted(str(number).encode() for number in range(40))


def test_a_create_and_its_cancel_keep_their_order_though_the_first_has_to_come_again(cluster: Topics) -> None:
    topic = cluster.topic()
    cluster.write(topic, create("old", **NIGHTLY), CANCEL, create("new", **NIGHTLY), b"no json", create("last"))
    ingester = Ingester()
    fails = [True, True, False]
    save = ingester.clockwork.jobs.save

    def moody(*args: Any) -> bool:
        if fails and fails.pop(0):
            raise Unavailable("throttled")
        return save(*args)

    ingester.clockwork.jobs.save = moody  # type: ignore[method-assign, assignment]
    with event_source(cluster, topic, ingester.handle, CONTEXT) as source:
        while ingester.payloads() != [b"last"]:
            source.feed(5)
    (job,) = ingester.clockwork.jobs.get([("acme", "nightly")])
    assert isinstance(job, NamedJob)
    assert (job.is_alive, job.incarnation, job.definition.payload.body) == (True, 2, b"new")
    assert [one.body for one in ingester.rejects.rejected] == [b"no json"]


def test_what_was_done_but_not_answered_is_done_again_without_a_second_job(cluster: Topics) -> None:
    topic = cluster.topic(partitions=2)
    for number in range(10):
        cluster.write(topic, create(number), key=str(number))
    ingester = Ingester()
    taken: list[int] = []

    def dies_at_first(event: dict[str, Any], context: Any) -> Any:
        answer = ingester.handle(event, context)
        taken.append(sum(len(records) for records in event["records"].values()))
        if len(taken) == 1:
            raise TimeoutError
        return answer

    with event_source(cluster, topic, dies_at_first, CONTEXT) as source:
        while sum(taken[1:]) < 10:
            source.feed(10)
    assert ingester.payloads() == [str(number).encode() for number in range(10)]
