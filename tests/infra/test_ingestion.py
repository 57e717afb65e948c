"""Jobs by message: a queue or a topic if the deployment asks for one, and otherwise no resource for it."""

from __future__ import annotations

import json

import pytest

from clockwork.settings import Settings
from infra.deployment.document import InvalidDeployment
from tests.infra.conftest import synthesize
from tests.infra.template import Template, strings

CLUSTER = "arn:aws:kafka:us-east-1:123456789012:cluster/jobs/abc-1"
KAFKA = {"bootstrapServers": "b-1.example.com:9098", "clusterArn": CLUSTER, "auth": "iam", "ingestionTopic": "requests"}


@pytest.fixture(scope="module")
def queue() -> Template:
    """The template of an account that asks for the inbound queue."""
    return synthesize(ingestionQueue="true")


@pytest.fixture(scope="module")
def topic() -> Template:
    """The template of an account that names a topic."""
    return synthesize(kafka=json.dumps(KAFKA))


def test_without_being_asked_for_there_is_no_ingester(account: Template) -> None:
    assert [key for key in account.body["Resources"] if "ngest" in key] == []
    assert {"InboundQueueUrl", "RejectedQueueUrl"}.isdisjoint(account.body["Outputs"])


def test_the_queue_keeps_the_order_of_each_group_and_what_fails_for_good(queue: Template) -> None:
    ours = [one["Properties"] for key, one in queue.all("SQS::Queue").items() if key.startswith("IngestionInbound")]
    (inbound,) = [one for one in ours if "RedrivePolicy" in one]
    dead_letters = queue.logical_id(queue.one("SQS::Queue", "IngestionInboundDeadLetters"))
    assert (inbound["FifoQueue"], inbound["DeduplicationScope"]) == (True, "messageGroup")
    assert inbound["FifoThroughputLimit"] == "perMessageGroupId"
    assert inbound["RedrivePolicy"]["deadLetterTargetArn"] == {"Fn::GetAtt": [dead_letters, "Arn"]}
    assert inbound["VisibilityTimeout"] > Settings.for_account().ingester_timeout_seconds


def test_every_queue_of_it_is_encrypted_and_refuses_plain_http(queue: Template) -> None:
    ours = {key: one for key, one in queue.all("SQS::Queue").items() if key.startswith("Ingestion")}
    assert len(ours) == 3
    assert all(one["Properties"]["SqsManagedSseEnabled"] for one in ours.values())
    policed = [one["Properties"]["Queues"][0]["Ref"] for one in queue.all("SQS::QueuePolicy").values()]
    assert set(ours) <= set(policed)


def test_the_queue_feeds_the_ingester_and_messages_fail_one_by_one(queue: Template) -> None:
    ingester = queue.logical_id(queue.function("Ingester"))
    mappings = [one["Properties"] for one in queue.all("Lambda::EventSourceMapping").values()]
    (ours,) = [one for one in mappings if queue.started(one["FunctionName"]) == ingester]
    assert (ours["BatchSize"], ours["FunctionResponseTypes"]) == (10, ["ReportBatchItemFailures"])
    assert "MaximumBatchingWindowInSeconds" not in ours


def test_the_ingester_may_do_what_it_needs_and_delete_nothing(queue: Template) -> None:
    tables = queue.allowed("Ingester", "dynamodb:")
    assert not [one for actions in tables.values() for one in actions if "Delete" in one]
    rejected = queue.logical_id(queue.one("SQS::Queue", "IngestionRejected"))
    releases = [queue.logical_id(queue.one("SQS::Queue", f"Queues{name}")) for name in ("Release", "OrderedRelease")]
    sending = {one for one, actions in queue.allowed("Ingester", "sqs:").items() if "sqs:SendMessage" in actions}
    further = {one for one in sending if ":Clockwork-Release-*" in one}
    assert sending == further | {json.dumps({"Fn::GetAtt": [one, "Arn"]}) for one in (rejected, *releases)}
    variables = queue.function("Ingester")["Properties"]["Environment"]["Variables"]
    assert variables["REJECTED_QUEUE_URL"] == queue.body["Resources"][rejected]["Properties"]["QueueName"]
    assert queue.allowed("Ingester", "secretsmanager:") == {}


def test_the_sweeper_counts_the_messages_that_nobody_could_handle_and_takes_none(queue: Template) -> None:
    letters = queue.one("SQS::Queue", "IngestionInboundDeadLetters")
    variables = queue.function("Sweeper")["Properties"]["Environment"]["Variables"]
    assert variables["INBOUND_DEAD_LETTER_QUEUE_URL"] == letters["Properties"]["QueueName"]
    arn = json.dumps({"Fn::GetAtt": [queue.logical_id(letters), "Arn"]})
    assert queue.allowed("Sweeper", "sqs:")[arn] == {"sqs:GetQueueAttributes"}


def test_messages_of_the_queue_have_alarms_where_all_are_asked_for_or_nothing_counts_them(queue: Template) -> None:
    """Otherwise `DeadLettersLeft` rings for those that nobody could handle."""
    ours = ("AlarmsRejected", "AlarmsInboundDeadLetters")
    assert not [name for name in queue.all("CloudWatch::Alarm") if name.startswith(ours)]
    every, uncounted = (
        synthesize(ingestionQueue="true", **{key: value}) for key, value in (("alarms", "all"), ("ownMetrics", "none"))
    )
    for template, name in ((every, "InboundDeadLetters"), (every, "Rejected"), (uncounted, "InboundDeadLetters")):
        alarm = template.one("CloudWatch::Alarm", f"Alarms{name}")["Properties"]
        assert (alarm["MetricName"], alarm["Threshold"]) == ("ApproximateNumberOfMessagesVisible", 0)
    assert {"InboundQueueUrl", "RejectedQueueUrl", "IngesterFunction"} <= set(queue.body["Outputs"])


def test_a_topic_feeds_the_ingester_in_the_clusters_network_and_not_in_one_of_its_own(topic: Template) -> None:
    mapping = topic.one("Lambda::EventSourceMapping", "IngestionTopic")["Properties"]
    ingester = topic.function("Ingester")
    assert topic.started(mapping["FunctionName"]) == topic.logical_id(ingester)
    assert (mapping["EventSourceArn"], mapping["Topics"]) == (CLUSTER, ["requests"])
    assert (mapping["StartingPosition"], mapping["FunctionResponseTypes"]) == (
        "TRIM_HORIZON",
        ["ReportBatchItemFailures"],
    )
    # For topics, Lambda supports partial batch answers in provisioned mode only.
    assert mapping["ProvisionedPollerConfig"] == {"MinimumPollers": 1, "MaximumPollers": 4}
    assert "VpcConfig" not in ingester["Properties"]
    assert [key for key in topic.all("SQS::Queue") if "Inbound" in key] == []


def test_with_iam_the_ingester_reads_its_topic_and_no_other(topic: Template) -> None:
    prefix = CLUSTER.split(":cluster/")[0]
    assert topic.allowed("Ingester", "kafka-cluster:") == {
        json.dumps(CLUSTER): {"kafka-cluster:Connect"},
        json.dumps(f"{prefix}:topic/jobs/abc-1/requests"): {"kafka-cluster:DescribeTopic", "kafka-cluster:ReadData"},
        json.dumps(f"{prefix}:group/jobs/abc-1/clockwork-ingestion"): {
            "kafka-cluster:AlterGroup",
            "kafka-cluster:DescribeGroup",
        },
    }
    assert any("kafka:GetBootstrapBrokers" in one for one in strings(topic.statements("Ingester")))


@pytest.mark.parametrize(
    "context",
    [
        {"ingestionQueue": "yes"},
        {"kafka": json.dumps({**KAFKA, "clusterArn": ""})},
        {"kafka": json.dumps({**KAFKA, "auth": "scram", "secret": "clockwork/kafka"})},
    ],
)
def test_what_cannot_be_deployed_is_refused(context: dict[str, str]) -> None:
    with pytest.raises(InvalidDeployment, match=r"ingestionQueue: \"yes\" is not|ingestionTopic needs|clusterArn"):
        synthesize(**context)


def test_who_judges_targets_knows_the_topic_of_ingestion(topic: Template, account: Template) -> None:
    for moment in ("Api", "Ingester"):
        assert topic.function(moment)["Properties"]["Environment"]["Variables"]["INGESTION_TOPIC"] == "requests"
    assert "INGESTION_TOPIC" not in account.function("Api")["Properties"]["Environment"]["Variables"]


#: By kind of resource that a target may name: the property with its name.
NAMED_BY = {
    "SQS::Queue": "QueueName",
    "Lambda::Function": "FunctionName",
    "Events::EventBus": "Name",
    "SNS::Topic": "TopicName",
    "IAM::Role": "RoleName",
}


def test_all_that_a_target_may_name_has_a_name_by_which_it_is_known_as_our_own() -> None:
    template = synthesize(ingestionQueue="true", releaseQueues="3", kafka=json.dumps(KAFKA))
    stack = template.function("Api")["Properties"]["Environment"]["Variables"].get("STACK_NAME", Settings().stack_name)
    seen = 0
    for kind, named_by in NAMED_BY.items():
        for one in template.all(kind).values():
            # Without a name of ours CloudFormation begins it with that of the stack.
            name = one["Properties"].get(named_by, f"{stack}-")
            assert (name if isinstance(name, str) else name["Fn::Join"][1][0]).startswith(f"{stack}-")
            seen += 1
    assert seen > 20
