"""A Kafka cluster brings a queue and a deliverer of its own; without a cluster neither exists."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clockwork.settings import Settings
from tests.infra.conftest import synthesize
from tests.infra.template import Resource, Template, strings

CLUSTER = "arn:aws:kafka:us-east-1:123456789012:cluster/jobs/abc-1"
SERVERS = "b-1.jobs.kafka.us-east-1.amazonaws.com:9098,b-2.jobs.kafka.us-east-1.amazonaws.com:9098"
IAM = {
    "bootstrapServers": SERVERS,
    "clusterArn": CLUSTER,
    "auth": "iam",
    "subnetIds": ["subnet-1", "subnet-2"],
    "securityGroupIds": ["sg-1"],
    "topics": ["orders.*"],
}


@pytest.fixture(scope="module")
def kafka() -> Template:
    """The template of an account that names an existing cluster."""
    return synthesize(kafka=json.dumps(IAM), alarms="all")


def environment(template: Template, moment: str) -> dict[str, Any]:
    variables: dict[str, Any] = template.function(moment)["Properties"]["Environment"]["Variables"]
    return variables


def queue_of(template: Template, name: str) -> Resource:
    return template.one("SQS::Queue", f"Queues{name}")


def test_without_a_cluster_there_is_no_network_no_layer_and_no_queue_of_it(account: Template) -> None:
    assert [key for key in account.body["Resources"] if "kafka" in key.lower()] == []
    assert [key for key in account.body["Outputs"] if "kafka" in key.lower()] == []
    assert all("VpcConfig" not in one["Properties"] for one in account.all("Lambda::Function").values())
    assert [one for one in strings(account.body) if one.startswith(("ec2:", "kafka-cluster:"))] == []
    assert len(account.all("SQS::Queue")) == 4
    assert "KAFKA_RELEASE_QUEUE_URL" not in environment(account, "Api")


def test_a_cluster_has_a_release_queue_and_a_dead_letter_queue_like_the_others(kafka: Template) -> None:
    ours, others = queue_of(kafka, "KafkaRelease")["Properties"], queue_of(kafka, "Release")["Properties"]
    dead_letters = kafka.logical_id(queue_of(kafka, "KafkaDeadLetters"))
    redrive = {
        "deadLetterTargetArn": {"Fn::GetAtt": [dead_letters, "Arn"]},
        "maxReceiveCount": Settings.for_account().max_receive_count,
    }
    assert ours == {**others, "QueueName": "Clockwork-KafkaRelease", "RedrivePolicy": redrive}


def test_only_its_deliverer_is_in_its_network_and_has_its_layer(kafka: Template) -> None:
    placed = {
        key: one["Properties"]["VpcConfig"]
        for key, one in kafka.all("Lambda::Function").items()
        if "VpcConfig" in one["Properties"]
    }
    deliverer = kafka.function("KafkaDeliverer")
    expected = {"SubnetIds": ["subnet-1", "subnet-2"], "SecurityGroupIds": ["sg-1"]}
    assert placed == {kafka.logical_id(deliverer): expected}
    layer = {"Ref": kafka.logical_id(kafka.one("Lambda::LayerVersion", "LayersKafka"))}
    laid = [key for key, one in kafka.all("Lambda::Function").items() if layer in one["Properties"].get("Layers", [])]
    assert laid == [kafka.logical_id(deliverer)]


def test_both_deliverers_are_the_same_code_and_only_one_knows_the_cluster(kafka: Template) -> None:
    ours, others = kafka.function("KafkaDeliverer")["Properties"], kafka.function("Deliverer")["Properties"]
    for name in ("Code", "Handler", "Timeout", "MemorySize", "RecursiveLoop"):
        assert ours[name] == others[name]
    assert environment(kafka, "KafkaDeliverer")["KAFKA_BOOTSTRAP_SERVERS"] == SERVERS
    assert environment(kafka, "KafkaDeliverer")["KAFKA_AUTH"] == "iam"
    for moment in ("Api", "Poller", "Deliverer", "Sweeper", "Ticker"):
        assert "KAFKA_BOOTSTRAP_SERVERS" not in environment(kafka, moment)


@pytest.mark.parametrize("moment", ["Api", "Poller", "Deliverer", "KafkaDeliverer", "Sweeper"])
def test_whoever_releases_may_release_to_kafka(kafka: Template, moment: str) -> None:
    queue = kafka.logical_id(queue_of(kafka, "KafkaRelease"))
    named = queue_of(kafka, "KafkaRelease")["Properties"]["QueueName"]
    assert environment(kafka, moment)["KAFKA_RELEASE_QUEUE_URL"] == named
    assert "sqs:SendMessage" in kafka.allowed(moment, "sqs:")[json.dumps({"Fn::GetAtt": [queue, "Arn"]})]


def test_each_deliverer_takes_from_its_own_queue_and_the_sweeper_from_both_dead_letter_queues(kafka: Template) -> None:
    def consumers(name: str) -> set[str]:
        arn = json.dumps({"Fn::GetAtt": [kafka.logical_id(queue_of(kafka, name)), "Arn"]})
        moments = ("Api", "Poller", "Deliverer", "KafkaDeliverer", "Sweeper", "Ticker")
        return {one for one in moments if "sqs:DeleteMessage" in kafka.allowed(one, "sqs:").get(arn, ())}

    assert (consumers("Release"), consumers("KafkaRelease")) == ({"Deliverer"}, {"KafkaDeliverer"})
    assert (consumers("DeadLetters"), consumers("KafkaDeadLetters")) == ({"Sweeper"}, {"Sweeper"})


def test_releases_to_kafka_reach_its_deliverer_like_all_others(kafka: Template) -> None:
    sources = {
        one["Properties"]["EventSourceArn"]["Fn::GetAtt"][0]: kafka.started(one["Properties"]["FunctionName"])
        for one in kafka.all("Lambda::EventSourceMapping").values()
    }
    assert sources == {
        kafka.logical_id(queue_of(kafka, "Release")): kafka.logical_id(kafka.function("Deliverer")),
        kafka.logical_id(queue_of(kafka, "OrderedRelease")): kafka.logical_id(kafka.function("Deliverer")),
        kafka.logical_id(queue_of(kafka, "KafkaRelease")): kafka.logical_id(kafka.function("KafkaDeliverer")),
        kafka.logical_id(queue_of(kafka, "KafkaOrderedRelease")): kafka.logical_id(kafka.function("KafkaDeliverer")),
    }


def test_iam_lets_the_deliverer_write_to_the_topics_that_the_deployment_names(kafka: Template) -> None:
    assert kafka.allowed("KafkaDeliverer", "kafka-cluster:") == {
        json.dumps(CLUSTER): {"kafka-cluster:Connect", "kafka-cluster:WriteDataIdempotently"},
        json.dumps("arn:aws:kafka:us-east-1:123456789012:topic/jobs/abc-1/orders.*"): {
            "kafka-cluster:DescribeTopic",
            "kafka-cluster:WriteData",
        },
    }


def test_it_may_do_with_tables_what_the_other_deliverer_may(kafka: Template) -> None:
    assert kafka.allowed("KafkaDeliverer", "dynamodb:") == kafka.allowed("Deliverer", "dynamodb:")


def test_with_scram_it_reads_the_one_secret_and_without_subnets_it_is_in_no_network() -> None:
    cluster = {"bootstrapServers": "kafka.example.com:9094", "auth": "scram", "secret": "clockwork/kafka"}
    template = synthesize(kafka=json.dumps(cluster))
    (resource,) = template.allowed("KafkaDeliverer", "secretsmanager:")
    assert "".join(strings(json.loads(resource))).endswith(":secret:clockwork/kafka-??????")
    assert "VpcConfig" not in template.function("KafkaDeliverer")["Properties"]
    assert template.allowed("KafkaDeliverer", "ec2:") == {}


@pytest.mark.parametrize(
    "name", ["KafkaQueueAge", "KafkaInFlight", "KafkaDeadLetters", "KafkaDelivererErrors", "KafkaDelivererThrottles"]
)
def test_its_queues_and_its_deliverer_are_watched(kafka: Template, name: str) -> None:
    assert kafka.one("CloudWatch::Alarm", f"Alarms{name}")


def test_the_outputs_name_its_parts(kafka: Template) -> None:
    assert {"KafkaReleaseQueueUrl", "KafkaDeadLetterQueueUrl", "KafkaDelivererFunction"} <= set(kafka.body["Outputs"])
