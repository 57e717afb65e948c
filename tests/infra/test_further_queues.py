"""Several release queues: each like the first, taken by the same deliverer, and kept with its messages when removed."""

from __future__ import annotations

import json

import pytest

from infra.deployment.schema import OPTIONS
from tests.infra.conftest import synthesize
from tests.infra.template import MOMENTS, Resource, Template, as_list

KAFKA = json.dumps({"bootstrapServers": "b-1:9092"})
#: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
MOST_RESOURCES = 500
FURTHER = (1, 2)
MOST_RELEASE_QUEUES: int = OPTIONS["releaseQueues"]["maximum"]


@pytest.fixture(scope="module")
def three() -> Template:
    """The template with three release queues."""
    return synthesize(releaseQueues="3", alarms="all")


@pytest.fixture(scope="module")
def own() -> Template:
    """The same with a deliverer for each of them."""
    return synthesize(releaseQueues="3", alarms="all", delivererForEachQueue="true")


def queue_of(template: Template, number: int) -> Resource:
    """One of the queues after the first."""
    name = f"Clockwork-Release-{number}"
    (found,) = [one for one in template.all("SQS::Queue").values() if one["Properties"].get("QueueName") == name]
    return found


def deliverer_of(template: Template, number: int) -> Resource:
    """The deliverer of a queue after the first."""
    mapping = mapping_of(template, number)
    return dict(template.body["Resources"][template.started(mapping["Properties"]["FunctionName"])])


def mapping_of(template: Template, number: int) -> Resource:
    """The event source mapping from a queue after the first to its deliverer."""
    arn = {"Fn::GetAtt": [template.logical_id(queue_of(template, number)), "Arn"]}
    mappings = template.all("Lambda::EventSourceMapping").values()
    (found,) = [one for one in mappings if one["Properties"]["EventSourceArn"] == arn]
    return found


def first_of(template: Template, kind: str, output: str) -> Resource:
    """The resource that an output of the stack names."""
    found: Resource = template.all(kind)[template.body["Outputs"][output]["Value"]["Ref"]]
    return found


def test_one_queue_is_the_default_and_has_the_name_of_its_use(account: Template) -> None:
    names = {one["Properties"]["QueueName"] for one in account.all("SQS::Queue").values()}
    uses = ("Release", "DeadLetters", "OrderedRelease.fifo", "OrderedDeadLetters.fifo")
    assert names == {f"Clockwork-{use}" for use in uses}
    assert len(account.all("Lambda::EventSourceMapping")) == 2
    assert len([key for key in account.all("Lambda::Function") if key.startswith("Functions")]) == len(MOMENTS)


@pytest.mark.parametrize("number", FURTHER)
def test_a_further_queue_is_like_the_first_and_shares_its_dead_letters(three: Template, number: int) -> None:
    first = first_of(three, "SQS::Queue", "ReleaseQueueUrl")["Properties"]
    assert queue_of(three, number)["Properties"] == {**first, "QueueName": f"Clockwork-Release-{number}"}


@pytest.mark.parametrize("number", FURTHER)
def test_the_first_deliverer_takes_from_it_unless_each_queue_is_to_have_its_own(
    three: Template, own: Template, number: int
) -> None:
    assert deliverer_of(three, number) == first_of(three, "Lambda::Function", "DelivererFunction")
    first = first_of(own, "Lambda::Function", "DelivererFunction")
    started = own.started(mapping_of(own, number)["Properties"]["FunctionName"])
    assert started != own.logical_id(first)
    assert deliverer_of(own, number)["Properties"] == first["Properties"]


def test_a_deliverer_for_each_queue_is_five_resources_more_than_a_shared_one_with_its_alarms(
    three: Template, own: Template
) -> None:
    assert len(own.body["Resources"]) - len(three.body["Resources"]) == 5 * len(FURTHER)


@pytest.mark.parametrize("number", FURTHER)
def test_messages_reach_it_as_they_reach_the_first(three: Template, number: int) -> None:
    properties = mapping_of(three, number)["Properties"]
    assert {name: value for name, value in properties.items() if name not in ("EventSourceArn", "FunctionName")} == {
        "BatchSize": 10,
        "MaximumBatchingWindowInSeconds": 0,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        # Four fifths of a hundred deliverers, divided among three queues.
        "ScalingConfig": {"MaximumConcurrency": 26},
    }


def test_every_plain_queue_keeps_as_many_pollers_ready_as_the_deployment_asks_for(three: Template) -> None:
    asked = synthesize(releaseQueues="2", queuePollers="100", delivererConcurrency="3000", kafka=KAFKA)
    provisioned = {
        one["Properties"]["EventSourceArn"]["Fn::GetAtt"][0]: one["Properties"]["ProvisionedPollerConfig"]
        for one in asked.all("Lambda::EventSourceMapping").values()
        if "ProvisionedPollerConfig" in one["Properties"]
    }
    first = asked.logical_id(first_of(asked, "SQS::Queue", "ReleaseQueueUrl"))
    assert provisioned == {
        key: {"MinimumPollers": 100, "MaximumPollers": 120} for key in (first, asked.logical_id(queue_of(asked, 1)))
    }
    unasked = three.all("Lambda::EventSourceMapping").values()
    assert not [one for one in unasked if "ProvisionedPollerConfig" in one["Properties"]]


@pytest.mark.parametrize("each", [False, True])
def test_what_a_deployment_of_fewer_leaves_out_stays_with_all_that_it_needs_to_run_empty(*, each: bool) -> None:
    template = synthesize(releaseQueues="3", alarms="all", delivererForEachQueue=str(each).lower())
    resources = template.body["Resources"]
    left = {key for key, one in resources.items() if one.get("DeletionPolicy") == "RetainExceptOnCreate"}
    needed = set()
    for number in FURTHER:
        queue = template.logical_id(queue_of(template, number))
        locks = template.all("SQS::QueuePolicy").items()
        needed |= {queue, *(key for key, one in locks if one["Properties"]["Queues"] == [{"Ref": queue}])}
        mapping = mapping_of(template, number)
        needed.add(template.logical_id(mapping))
        if each:
            alias = mapping["Properties"]["FunctionName"]
            needed |= {template.started(alias), alias["Ref"]}
    assert len(needed) == (5 if each else 3) * len(FURTHER)
    assert needed <= left
    # Of the other queues nothing but the queue stays, and who may read it: their deliverer goes with the stack.
    kinds = {resources[key]["Type"] for key in left - needed}
    assert kinds == {"AWS::SQS::Queue", "AWS::SQS::QueuePolicy", "AWS::Lambda::Version"}


def test_what_was_left_behind_may_still_be_sent_to_and_taken_from(account: Template) -> None:
    actions = {
        moment: {
            action
            for name, some in account.allowed(moment, "sqs:").items()
            for action in some
            if ":Clockwork-Release-*" in name
        }
        for moment in ("Api", "Poller", "Deliverer", "Sweeper")
    }
    send = {"sqs:SendMessage"}
    take = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"}
    assert actions == {"Api": send, "Poller": send, "Deliverer": send | take, "Sweeper": send}


@pytest.mark.parametrize("output", [f"{moment}Function" for moment in MOMENTS])
def test_no_lambda_is_told_of_a_queue_before_it_exists(three: Template, output: str) -> None:
    function = first_of(three, "Lambda::Function", output)
    assert {three.logical_id(queue_of(three, number)) for number in FURTHER} <= set(as_list(function["DependsOn"]))
    variables = function["Properties"]["Environment"]["Variables"]
    # The stack has the default's name.
    assert (variables["RELEASE_QUEUES"], "STACK_NAME" in variables) == ("3", False)


@pytest.mark.parametrize("number", FURTHER)
def test_every_queue_is_watched_and_so_is_a_deliverer_of_its_own(three: Template, own: Template, number: int) -> None:
    for template in (three, own):
        queue = {"Fn::GetAtt": [template.logical_id(queue_of(template, number)), "QueueName"]}
        for name in ("QueueAge", "InFlight"):
            assert watched(template, number, name) == queue
    deliverer = {"Ref": own.started(mapping_of(own, number)["Properties"]["FunctionName"])}
    for name in ("DelivererErrors", "DelivererThrottles"):
        assert watched(own, number, name) == deliverer


def watched(template: Template, number: int, name: str) -> object:
    """The resource that an alarm of a further queue watches."""
    (dimension,) = template.one("CloudWatch::Alarm", f"AlarmsFurther{number}{name}")["Properties"]["Dimensions"]
    return dimension["Value"]


def test_the_largest_deployment_fits_into_a_stack_and_into_an_environment() -> None:
    largest, usual = (
        synthesize(releaseQueues=str(n), kafka=KAFKA, ingestionQueue="true") for n in (MOST_RELEASE_QUEUES, 1)
    )
    assert len(largest.body["Resources"]) < MOST_RESOURCES
    of_largest, of_usual = (
        template.function("Api")["Properties"]["Environment"]["Variables"] for template in (largest, usual)
    )
    assert of_largest == {**of_usual, "RELEASE_QUEUES": str(MOST_RELEASE_QUEUES)}
