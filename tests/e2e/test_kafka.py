"""Jobs with a Kafka target, from a signed request to a message in a topic, on a stack deployed with a cluster."""

from __future__ import annotations

import json
import time

import pytest
from confluent_kafka import KafkaError

from clockwork.domain import keys
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.instants import from_text
from clockwork.domain.jobs import Occurrence
from clockwork.domain.releases import Deliver, Of
from clockwork.domain.storage.codec import encode_release
from clockwork.targets.kafka.target import KafkaTarget
from clockwork.targets.message import Payload
from tests.e2e.deployment import Deployment
from tests.e2e.tenant import Tenant
from tests.e2e.waiting import lateness_ms
from tests.support.kafka.cluster import KafkaCluster, headers_of

#: As late as webhooks may be, and the producer's first connection.
COLD_MS = 4_000


@pytest.fixture(scope="module")
def shop(deployment: Deployment) -> Tenant:
    """A client that may write to some topics."""
    return deployment.tenant("shop", allowedTopics=["orders.*"])


def target(topic: str, **more: str) -> dict[str, str]:
    return {"type": "kafka", "topic": topic, **more}


def test_a_message_arrives_in_a_topic_on_time_with_its_headers(
    deployment: Deployment, kafka: KafkaCluster, shop: Tenant
) -> None:
    topic = kafka.topic(name="orders.created")
    created = shop.create(target=target(topic, key="order-17"), payload={"order": 17, "city": "Zürich"})
    execution = shop.await_job(created["jobId"], "SUCCEEDED")["lastExecution"]
    (message,) = kafka.read(topic, 1)
    assert json.loads(message.value() or b"") == {"order": 17, "city": "Zürich"}
    assert message.key() == b"order-17"
    assert headers_of(message) == {
        "executionId": execution["executionId"],
        "jobId": created["jobId"],
        "attempt": "1",
        "dueAt": created["dueAt"],
    }
    assert from_text(execution["attempts"][0]["startedAt"]) >= from_text(created["dueAt"])
    assert 0 <= lateness_ms(message.timestamp()[1], created["dueAt"]) < COLD_MS
    deployment.await_empty("KafkaReleaseQueueUrl")


def test_what_the_cluster_refuses_is_told_and_tried_again(kafka: KafkaCluster, shop: Tenant) -> None:
    topic = kafka.topic(name="orders.refused")
    kafka("refuse", KafkaError.TOPIC_AUTHORIZATION_FAILED)
    policy = {"maxAttempts": 2, "backoff": "fixed", "initialSeconds": 1, "jitter": "none"}
    created = shop.create(target=target(topic), retryPolicy=policy, schedule={"delaySeconds": 0})
    attempts = shop.await_job(created["jobId"], "SUCCEEDED")["lastExecution"]["attempts"]
    assert [attempt["state"] for attempt in attempts] == ["FAILED", "SUCCEEDED"]
    assert attempts[0]["error"].startswith("the topic denies access")
    (message,) = kafka.read(topic, 1)
    assert (headers_of(message)["attempt"], message.key()) == ("2", created["jobId"].encode())


def test_a_message_that_is_too_large_for_the_cluster_is_given_up_at_once(kafka: KafkaCluster, shop: Tenant) -> None:
    topic = kafka.topic(name="orders.large")
    kafka("refuse", KafkaError.MSG_SIZE_TOO_LARGE)
    created = shop.create(target=target(topic), schedule={"delaySeconds": 0})
    execution = shop.await_job(created["jobId"], "DEAD")["lastExecution"]
    assert [attempt["state"] for attempt in execution["attempts"]] == ["FAILED"]
    assert kafka.count(topic) == 0


def test_a_dead_letter_of_kafka_is_swept_and_delivered(
    deployment: Deployment, kafka: KafkaCluster, shop: Tenant
) -> None:
    topic = kafka.topic(name="orders.unrecorded")
    now = time.time_ns() // 1_000_000
    due = Occurrence("shop", now, now, KafkaTarget(topic), Payload(b"left behind", is_text=True), record="none")
    job_id = AnonymousJob("p000", keys.row_key(now, "x" * 22), 0).job_id
    deployment.send_dead_letter(encode_release(Deliver(Of(job_id), due, now)), "KafkaDeadLetterQueueUrl")
    deployment.invoke("sweeper", {})
    assert kafka.read(topic, 1)[0].value() == b"left behind"
    deployment.await_empty("KafkaReleaseQueueUrl")


def test_a_topic_that_the_client_does_not_list_is_refused(shop: Tenant) -> None:
    job = {"clientId": "shop", "schedule": {"delaySeconds": 1}, "target": target("bills")}
    answer = shop.api.request("POST", "/v1/jobs", job)
    assert (answer.status, answer.body["errors"][0]["pointer"]) == (422, "/target/topic")
