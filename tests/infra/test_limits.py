"""Limits of AWS that a template may meet only when it is deployed: held here, for every set of options."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.infra.option_sets import OPTION_SETS, template_of
from tests.infra.template import Template, as_list, strings

pytestmark = pytest.mark.parametrize("name", OPTION_SETS)
#: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
MOST_RESOURCES, MOST_OUTPUTS, TEMPLATE_BYTES = 500, 200, 1_000_000
#: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
ENVIRONMENT_BYTES, RESOURCE_POLICY_BYTES, MOST_LAYERS = 4_096, 20_480, 5
#: All inline policies of a role, without white space: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
ROLE_POLICY_CHARACTERS = 10_240
#: The longest text that CloudFormation fills in: the ARN of a queue or function, the URL of a queue.
FILLED_IN = 140
#: Of Clockwork's own: a stack that is quick to deploy, and environments and alarms that a person can read.
RESOURCES = {"plain": 90, "largest": 220}
OWN_ENVIRONMENT_BYTES = 1_024
MOST_ALARMS, MOST_ROUTES = 14, 6
_QUEUE_URL = "https://sqs.ap-southeast-2.amazonaws.com/123456789012/"
#: CloudFormation puts so many characters behind the logical id, and cuts the whole to what the service takes.
_SUFFIX = 13
_LONGEST = {"AWS::SQS::Queue": 80, "AWS::Lambda::Function": 64}


def length(value: Any, template: Template, stack: str) -> int:
    """The most characters of a value once CloudFormation has filled it in."""
    if isinstance(value, str):
        return len(value)
    if "Fn::Join" in value:
        return sum(length(part, template, stack) for part in value["Fn::Join"][1])
    one = template.body["Resources"].get(value.get("Ref"))
    if one is None:
        return FILLED_IN
    if named := one["Properties"].get("QueueName"):
        return len(_QUEUE_URL) + len(named)
    made = min(len(f"{stack}-{value['Ref']}-") + _SUFFIX, _LONGEST.get(one["Type"], 255))
    return made + len(_QUEUE_URL) if one["Type"] == "AWS::SQS::Queue" else made


def size_of(variables: dict[str, Any], template: Template, stack: str) -> int:
    """The size of an environment as AWS judges it: that of its JSON."""
    filled = {
        name: value if isinstance(value, str) else "x" * length(value, template, stack)
        for name, value in variables.items()
    }
    return len(json.dumps(filled, separators=(",", ":")))


def test_the_template_is_one_that_cloudformation_takes(name: str) -> None:
    body = template_of(name).body
    assert len(body["Resources"]) < MOST_RESOURCES
    assert len(body["Outputs"]) < MOST_OUTPUTS
    assert len(json.dumps(body, indent=1)) < TEMPLATE_BYTES


def test_every_environment_fits(name: str) -> None:
    template, stack = template_of(name), OPTION_SETS[name].get("name", "Clockwork")
    sizes = {}
    for logical_id, one in template.all("Lambda::Function").items():
        variables = one["Properties"].get("Environment", {}).get("Variables", {})
        sizes[logical_id] = size_of(variables, template, stack)
        assert len(one["Properties"].get("Layers", [])) <= MOST_LAYERS
    print(f"{name}: the largest environment has {max(sizes.values())} bytes")
    assert {one: size for one, size in sizes.items() if size > OWN_ENVIRONMENT_BYTES} == {}
    assert OWN_ENVIRONMENT_BYTES <= ENVIRONMENT_BYTES // 4


def test_a_stack_is_small(name: str) -> None:
    template = template_of(name)
    kinds = {
        "resources": template.body["Resources"],
        "alarms": template.all("CloudWatch::Alarm"),
        "routes": template.all("ApiGatewayV2::Route"),
    }
    counts = {kind: len(found) for kind, found in kinds.items()}
    print(f"{name}: {counts}")
    assert counts["resources"] <= RESOURCES.get(name, RESOURCES["largest"])
    assert counts["alarms"] <= MOST_ALARMS
    assert counts["routes"] <= MOST_ROUTES


def test_the_policies_of_every_role_fit(name: str) -> None:
    sizes: dict[str, int] = {}
    for one in template_of(name).all("IAM::Policy").values():
        for role in one["Properties"]["Roles"]:
            document = one["Properties"]["PolicyDocument"]
            texts = [text for statement in document["Statement"] for text in strings(statement)]
            resources = [
                resource for statement in document["Statement"] for resource in as_list(statement.get("Resource", []))
            ]
            # Texts and JSON's own characters around them, and what stands for a resource that is filled in.
            size = sum(len(text) + 4 for text in texts)
            size += sum(FILLED_IN for resource in resources if not isinstance(resource, str))
            sizes[role["Ref"]] = sizes.get(role["Ref"], 0) + size
    assert sizes
    assert {role: size for role, size in sizes.items() if size >= ROLE_POLICY_CHARACTERS} == {}


def test_the_policy_of_every_function_fits(name: str) -> None:
    sizes: dict[str, int] = {}
    for one in template_of(name).all("Lambda::Permission").values():
        function = json.dumps(one["Properties"]["FunctionName"])
        sizes[function] = sizes.get(function, 0) + 500
    assert sizes
    assert max(sizes.values()) < RESOURCE_POLICY_BYTES // 10


def test_what_is_reserved_leaves_a_hundred_of_a_thousand(name: str) -> None:
    functions = template_of(name).all("Lambda::Function").values()
    reserved = sum(one["Properties"].get("ReservedConcurrentExecutions", 0) for one in functions)
    assert reserved <= 900
