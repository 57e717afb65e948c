"""The rules that hold for an account whatever its options are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.infra.option_sets import OPTION_SETS, template_of
from tests.infra.template import Resource, Template, strings

pytestmark = pytest.mark.parametrize("name", OPTION_SETS)


def sources(template: Template) -> Iterator[Resource]:
    """The properties of every event source."""
    for one in template.all("Lambda::EventSourceMapping").values():
        yield one["Properties"]


def test_no_queue_and_no_table_goes_with_its_messages_or_rows(name: str) -> None:
    template = template_of(name)
    # Events that tell ends are hints: the deliverer asks as well.
    queues = [one for key, one in template.all("SQS::Queue").items() if not key.startswith("EndsQueue")]
    kept = [*queues, *template.all("DynamoDB::GlobalTable").values()]
    assert len(kept) >= 9
    assert {one["DeletionPolicy"] for one in kept} <= {"Retain", "RetainExceptOnCreate"}
    assert {one["UpdateReplacePolicy"] for one in kept} == {"Retain"}


def test_every_event_source_has_a_bound_of_its_own(name: str) -> None:
    for properties in sources(template_of(name)):
        bounds = [
            properties.get("ScalingConfig", {}).get("MaximumConcurrency"),
            properties.get("ProvisionedPollerConfig", {}).get("MaximumPollers"),
        ]
        # Lambda takes one of the two.
        assert len([bound for bound in bounds if bound]) == 1, properties


def test_every_trigger_names_the_alias_of_a_whole_version(name: str) -> None:
    template = template_of(name)
    clocks = [
        one["Properties"] for one in template.all("Events::Rule").values() if "EventPattern" not in one["Properties"]
    ]
    rules = [rule["Targets"][0]["Arn"] for rule in clocks]
    called = [one["Properties"]["IntegrationUri"] for one in template.all("ApiGatewayV2::Integration").values()]
    allowed = [one["Properties"]["FunctionName"] for one in template.all("Lambda::Permission").values()]
    fed = [one["FunctionName"] for one in sources(template)]
    started = [template.started(one) for one in [*rules, *called, *allowed, *fed]]
    assert len(rules) == 2
    assert len(called) == (2 if "pools" in OPTION_SETS[name] else 1)
    ours = {key for key in template.all("Lambda::Function") if key.startswith("Functions")}
    # Pollers are started by name: by ticker, sweeper and api, and by pollers before them.
    assert ours - {key for key in ours if key.startswith("FunctionsPoller")} == set(started)
    for moment in ("Api", "Ticker", "Sweeper"):
        variables = template.function(moment)["Properties"]["Environment"]["Variables"]
        assert variables["POLLER_FUNCTION"]["Fn::Join"][1][1] == ":live"


def test_a_version_holds_every_function_and_stays_to_go_back_to(name: str) -> None:
    template = template_of(name)
    ours = {key for key in template.all("Lambda::Function") if key.startswith("Functions")}
    versions = list(template.all("Lambda::Version").values())
    assert {one["Properties"]["FunctionName"]["Ref"] for one in versions} == ours
    assert {one["DeletionPolicy"] for one in versions} <= {"Retain", "RetainExceptOnCreate"}


def test_the_deliverers_of_all_queues_are_no_more_than_the_options_say(name: str) -> None:
    template, options = template_of(name), OPTION_SETS[name]
    to_kafka, to_private, others = 0, 0, 0
    for properties in sources(template):
        function = "".join(strings(properties["FunctionName"]))
        most = properties.get("ScalingConfig", {}).get("MaximumConcurrency")
        if "EndsQueue" in "".join(strings(properties["EventSourceArn"])):
            # Readers of ends come on top.
            assert most == options.get("delivererConcurrency", 100) // 10
        elif "KafkaDeliverer" in function:
            to_kafka += most
        elif "PrivateDeliverer" in function:
            to_private += most
        elif "Deliverer" in function:
            others += most or properties["ProvisionedPollerConfig"]["MaximumPollers"] * 10
    asked = options.get("delivererConcurrency", 100)
    assert asked * 9 // 10 - options.get("releaseQueues", 1) * 10 <= others <= asked
    assert to_kafka == (20 if "kafka" in options else 0)
    assert to_private == (20 if "network" in options else 0)


def test_nothing_is_reserved_unless_asked(name: str) -> None:
    reserved = [
        function["Properties"]["ReservedConcurrentExecutions"]
        for function in template_of(name).all("Lambda::Function").values()
        if "ReservedConcurrentExecutions" in function["Properties"]
    ]
    assert sorted(reserved) == ([2, 48] if OPTION_SETS[name].get("reserve") else [])


def test_the_metrics_and_secrets_of_one_stack_are_never_those_of_another(name: str) -> None:
    template, stack = template_of(name), OPTION_SETS[name].get("name", "Clockwork")
    own = [
        one["Properties"]["Dimensions"]
        for one in template.all("CloudWatch::Alarm").values()
        if one["Properties"].get("Namespace") == "Clockwork"
    ]
    assert own
    assert all(dimensions == [{"Name": "stack", "Value": stack}] for dimensions in own)
    texts = [json.dumps(statement) for moment in ("Api",) for statement in template.statements(moment)]
    secrets = [text for text in texts if "secretsmanager:" in text or "ssm:" in text]
    assert secrets
    assert all(f"{stack.lower()}/*" in text for text in secrets)


def test_names_that_the_stack_gives_begin_with_its_own(name: str) -> None:
    template, stack = template_of(name), OPTION_SETS[name].get("name", "Clockwork")
    given = ("QueueName", "FunctionName", "RoleName", "TableName", "LogGroupName", "ClusterName")
    named: list[tuple[str, Any]] = [
        (key, one["Properties"][prop])
        for key, one in template.body["Resources"].items()
        for prop in given
        if prop in one.get("Properties", {}) and one["Type"] in NAMING
    ]
    assert named
    for key, value in named:
        begins = "".join(strings(value)).removeprefix("/aws/vendedlogs/")
        # The CDK leaves the hyphens of a stack's name out of a cluster's.
        assert begins.startswith((stack, stack.replace("-", ""))), key


#: Types for which the property is a name that is given, not a reference to another resource.
NAMING = {
    "AWS::SQS::Queue",
    "AWS::Lambda::Function",
    "AWS::IAM::Role",
    "AWS::DynamoDB::GlobalTable",
    "AWS::Logs::LogGroup",
    "AWS::MSK::ServerlessCluster",
}


def test_functions_and_layers_are_of_one_architecture(name: str) -> None:
    template = template_of(name)
    wanted = OPTION_SETS[name].get("architecture", "arm64")
    # The function that asks MSK for brokers is the CDK's own, and says nothing of its architecture.
    ours = [one for key, one in template.all("Lambda::Function").items() if key.startswith("Functions")]
    layers = template.all("Lambda::LayerVersion").values()
    assert {json.dumps(one["Properties"]["Architectures"]) for one in ours} == {json.dumps([wanted])}
    assert {json.dumps(one["Properties"]["CompatibleArchitectures"]) for one in layers} == {json.dumps([wanted])}


def test_every_layer_is_one_that_is_compiled(name: str) -> None:
    """`test_bytecode.py` looks at the byte code of these."""
    layers = set(template_of(name).all("Lambda::LayerVersion"))
    compiled = ("LayersCore", "LayersVendor", "LayersEdge", *(["LayersKafka"] if "kafka" in OPTION_SETS[name] else []))
    assert len(layers) == len(compiled)
    assert {one for one in layers if not one.startswith(compiled)} == set()
