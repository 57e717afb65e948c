"""Preflight refuses what CloudFormation would refuse halfway: sizes as AWS judges them, and ARNs of elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from rollout.checks import REFUSED, judge, may_deploy
from rollout.sizes import ENVIRONMENT_BYTES, MANAGED_CHARACTERS, ROLE_CHARACTERS, TEMPLATE_BYTES, too_large
from rollout.template import Template
from tests.infra.account import FACTS
from tests.infra.conftest import ADMIN, synthesize
from tests.infra.option_sets import OPTION_SETS, template_of

ARN = {"Fn::GetAtt": ["Queue", "Arn"]}


def many(count: int) -> list[str]:
    return [f"arn:aws:sqs:us-east-1:123456789012:jobs-of-the-billing-team-number-{number}" for number in range(count)]


def policy(characters: int, kind: str = "AWS::IAM::Policy", **more: Any) -> dict[str, Any]:
    """A policy whose document has so many characters."""
    return {"Type": kind, "Properties": {"PolicyDocument": {"a": "x" * (characters - len('{"a":""}'))}, **more}}


def told(**resources: Any) -> list[tuple[str, int]]:
    """Everything that is too large in a template of these resources, with its size."""
    return [(one.what, one.size) for one in too_large(Template({"Resources": resources}))]


def test_more_targets_than_a_policy_has_room_for_are_refused_before_the_deployment() -> None:
    wanted = Template(synthesize(adminPrincipals=ADMIN, targetQueueArns=many(150)).body)
    rows = [row for row in judge(FACTS, wanted) if row.state == REFUSED]
    assert {row.needed for row in rows} == {f"{MANAGED_CHARACTERS} at most"}
    assert all("`jobs-*`" in row.then for row in rows)
    assert not may_deploy(judge(FACTS, wanted))


@pytest.mark.parametrize("name", OPTION_SETS)
def test_no_set_of_options_is_taken_for_too_large(name: str) -> None:
    assert list(too_large(Template(template_of(name).body))) == []


def test_all_inline_policies_of_a_role_count_together() -> None:
    role = {"Type": "AWS::IAM::Role", "Properties": {"Policies": [{"PolicyDocument": {"a": "x" * 92}}]}}
    of_role: dict[str, Any] = {"Roles": [{"Ref": "Role"}]}
    assert told(Role=role, One=policy(ROLE_CHARACTERS - 100, **of_role)) == []
    more = told(Role=role, One=policy(ROLE_CHARACTERS - 200, **of_role), Two=policy(101, **of_role))
    assert more == [("policies of Role", ROLE_CHARACTERS + 1)]


def test_managed_policies_and_environments_have_sizes_of_their_own() -> None:
    managed = [policy(MANAGED_CHARACTERS + more, "AWS::IAM::ManagedPolicy") for more in (0, 1)]
    assert [told(Policy=one) for one in managed] == [[], [("policy Policy", MANAGED_CHARACTERS + 1)]]
    functions = [
        {"Type": "AWS::Lambda::Function", "Properties": {"Environment": {"Variables": {"A": "x" * size}}}}
        for size in (ENVIRONMENT_BYTES - 8, ENVIRONMENT_BYTES - 7)
    ]
    sizes = [told(Function=one) for one in functions]
    assert sizes == [[], [("environment of Function", ENVIRONMENT_BYTES + 1)]]


def test_what_cloudformation_fills_in_counts_at_its_longest() -> None:
    joined = {"Fn::Join": [":", ["arn", {"Ref": "AWS::Region"}, "jobs"]]}
    document = {"a": [ARN] * 50 + [joined]}
    ((_, size),) = told(Policy={"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": document}})
    assert size == 50 * len(f'"{"x" * 140}",') + len('{"a":["arn:ap-southeast-2:jobs"]}')


def test_a_template_of_a_megabyte_is_refused() -> None:
    (found,) = told(Large={"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "x" * TEMPLATE_BYTES}})
    assert found[0] == "template"


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"alarmTopicArn": "arn:aws:sns:eu-west-1:123456789012:ops"}, "alarms"),
        ({"keyArn": "arn:aws:kms:eu-west-1:123456789012:key/1a2b"}, "key"),
        ({"keyArn": "arn:aws:kms:us-east-1:210987654321:key/1a2b"}, "key"),
    ],
)
def test_a_topic_or_key_of_elsewhere_is_refused(options: dict[str, str], what: str) -> None:
    wanted = Template({"Metadata": {"Clockwork": {"options": {"adminPrincipals": [ADMIN], **options}}}})
    assert [row.what for row in judge(FACTS, wanted) if row.state == REFUSED] == [what]
    near = {
        name: one.replace("eu-west-1", "us-east-1").replace("210987654321", "123456789012")
        for name, one in options.items()
    }
    here = Template({"Metadata": {"Clockwork": {"options": {"adminPrincipals": [ADMIN], **near}}}})
    assert may_deploy(judge(FACTS, here))
