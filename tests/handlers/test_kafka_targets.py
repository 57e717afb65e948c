"""Kafka topics as targets: the deployment must have a cluster, and the client must list the topic."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.targets.kafka.target import KafkaTarget
from tests.handlers.handlers import Api
from tests.support.examples import ACME, ADMIN, release_in

TARGET = {"type": "kafka", "topic": "orders.created", "key": "order-17"}


def api_with_kafka(*topics: str) -> Api:
    """A deployment with a cluster, in which acme may target these topics."""
    api = Api(kafka_release_queue_url="https://sqs/kafka")
    api.clockwork.clients.put(msgspec.structs.replace(ACME, allowed_topics=topics))
    return api


@pytest.mark.parametrize("allowed", ["orders.created", "orders.*", "*"])
def test_a_listed_topic_is_accepted_and_kept_with_its_key(allowed: str) -> None:
    api = api_with_kafka(allowed)
    answer = api.create(target=TARGET)
    assert answer.status == 201
    assert api.call("GET", f"/v1/jobs/{answer.body['jobId']}").body["target"] == TARGET


@pytest.mark.parametrize("allowed", ["orders", "orders.create", "orders.createdd", "order*s"])
def test_a_topic_that_is_not_listed_is_refused(allowed: str) -> None:
    answer = api_with_kafka(allowed).create(target=TARGET)
    assert (answer.status, answer.pointers) == (422, ["/target/topic"])
    assert answer.details == ["is not among the client's allowedTopics"]


def test_a_deployment_without_a_cluster_says_so() -> None:
    api = Api()
    api.clockwork.clients.put(msgspec.structs.replace(ACME, allowed_topics=("*",)))
    answer = api.create(target=TARGET)
    assert (answer.status, answer.pointers) == (422, ["/target/type"])
    assert answer.details == ["is not supported by this deployment"]


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"topic": ""}, "/target/topic"),
        ({"topic": "a" * 250}, "/target/topic"),
        ({"topic": "orders created"}, "/target/topic"),
        ({"topic": "orders\n"}, "/target/topic"),
        ({"topic": 1}, "/target/topic"),
        ({"key": ""}, "/target/key"),
        ({"key": "k" * 257}, "/target/key"),
        ({"partition": 1}, "/target/partition"),
    ],
)
def test_a_topic_or_key_that_kafka_would_refuse_is_refused(changes: dict[str, Any], pointer: str) -> None:
    answer = api_with_kafka("*").create(target={**TARGET, **changes})
    assert (answer.status, answer.pointers) == (422, [pointer])


def test_a_kafka_target_that_is_due_now_is_released_with_its_target() -> None:
    api = api_with_kafka("*")
    api.clockwork.poll_all()
    assert api.create(target=TARGET, schedule={"delaySeconds": 1}).status == 201
    (message,) = api.clockwork.queue.messages.values()
    assert release_in(message.body).occurrence.target == KafkaTarget("orders.created", "order-17")


def test_a_client_lists_its_topics() -> None:
    api = Api()
    put = api.call("PUT", "/v1/clients/initech", {"allowedTopics": ["orders.*", "bills"]}, caller=ADMIN)
    assert (put.status, put.body["allowedTopics"]) == (200, ["orders.*", "bills"])
    got = api.call("GET", "/v1/clients/initech", caller=ADMIN)
    assert got.body["allowedTopics"] == ["orders.*", "bills"]


@pytest.mark.parametrize("topic", ["", "a b", "a*b", "a" * 250, "**"])
def test_a_topic_that_cannot_be_is_not_listed(topic: str) -> None:
    answer = Api().call("PUT", "/v1/clients/initech", {"allowedTopics": [topic]}, caller=ADMIN)
    assert (answer.status, answer.pointers) == (422, ["/allowedTopics/0"])
