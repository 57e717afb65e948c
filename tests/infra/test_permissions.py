"""Least privilege: a role for each Lambda, exact actions, named resources."""

from __future__ import annotations

import json

import pytest

from tests.infra.conftest import TARGETS, synthesize
from tests.infra.template import MOMENTS, Template, as_list, strings


def test_every_lambda_has_a_role_that_no_other_has(account: Template) -> None:
    roles = [account.function(moment)["Properties"]["Role"]["Fn::GetAtt"][0] for moment in MOMENTS]
    assert len(set(roles)) == len(MOMENTS)


def test_no_statement_allows_an_action_on_everything(account: Template) -> None:
    resources = [
        resource
        for moment in MOMENTS
        for statement in account.statements(moment)
        for resource in as_list(statement["Resource"])
    ]
    assert resources
    assert "*" not in resources


def test_no_statement_allows_a_family_of_actions(account: Template) -> None:
    actions = [
        action
        for moment in MOMENTS
        for statement in account.statements(moment)
        for action in as_list(statement["Action"])
    ]
    assert actions
    assert not [action for action in actions if "*" in action]


def test_no_role_has_a_managed_policy(account: Template) -> None:
    assert not [one for one in account.all("IAM::Role").values() if one["Properties"].get("ManagedPolicyArns")]


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_lambda_writes_to_its_own_log_only(account: Template, moment: str) -> None:
    log = account.logical_id(account.one("Logs::LogGroup", f"Functions{moment}Log"))
    expected = {json.dumps({"Fn::GetAtt": [log, "Arn"]}): {"logs:CreateLogStream", "logs:PutLogEvents"}}
    assert account.allowed(moment, "logs:") == expected


def test_who_finds_a_shard_unread_starts_pollers_and_a_poller_its_successor(account: Template) -> None:
    allowed = {moment for moment in MOMENTS if account.allowed(moment, "lambda:")}
    assert allowed == {"Api", "Ticker", "Sweeper", "Poller"}


def test_the_api_alone_starts_the_sweeper(account: Template) -> None:
    arn = {"Fn::GetAtt": [account.logical_id(account.function("Sweeper")), "Arn"]}
    sweeper = json.dumps({"Fn::Join": ["", [arn, ":live"]]})
    assert {moment for moment in MOMENTS if sweeper in account.allowed(moment, "lambda:")} == {"Api"}
    variables = {m: account.function(m)["Properties"]["Environment"]["Variables"] for m in MOMENTS}
    assert {moment for moment in MOMENTS if "SWEEPER_FUNCTION" in variables[moment]} == {"Api"}


def test_nothing_deletes_from_the_timeline(account: Template) -> None:
    timeline = account.logical_id(account.table("Timeline"))
    deleting = [
        moment
        for moment in MOMENTS
        for resource, actions in account.allowed(moment, "dynamodb:").items()
        if timeline in resource and "dynamodb:DeleteItem" in actions
    ]
    assert deleting == []


def test_the_ticker_sees_the_registry_of_shards_and_no_job(account: Template) -> None:
    shards = account.logical_id(account.table("Shards"))
    actions = {f"dynamodb:{name}" for name in ("GetItem", "BatchGetItem", "PutItem", "UpdateItem", "Scan")}
    assert account.allowed("Ticker", "dynamodb:") == {json.dumps({"Fn::GetAtt": [shards, "Arn"]}): actions}


def test_nothing_deletes_a_shard(account: Template) -> None:
    shards = json.dumps({"Fn::GetAtt": [account.logical_id(account.table("Shards")), "Arn"]})
    assert all("dynamodb:DeleteItem" not in account.allowed(moment, "dynamodb:").get(shards, ()) for moment in MOMENTS)


def test_secrets_are_read_by_the_deliverer_only_and_under_one_prefix(account: Template) -> None:
    reading = {"secretsmanager:GetSecretValue", "ssm:GetParameter", "kms:Decrypt"}
    readers = {moment for moment in MOMENTS if reading & allowed_of_secrets(account, moment)}
    assert readers == {"Deliverer"}
    assert allowed_of_secrets(account, "Deliverer") == reading
    for prefix, ending in PREFIXES.items():
        (resource,) = account.allowed("Deliverer", prefix)
        assert "".join(strings(json.loads(resource))).endswith(ending)


def test_the_api_may_ask_whether_a_secret_exists_and_no_more(account: Template) -> None:
    assert {moment for moment in MOMENTS if allowed_of_secrets(account, moment)} == {"Api", "Deliverer"}
    assert allowed_of_secrets(account, "Api") == {"secretsmanager:DescribeSecret", "ssm:ListTagsForResource"}
    for prefix, ending in PREFIXES.items():
        (resource,) = account.allowed("Api", prefix)
        assert "".join(strings(json.loads(resource))).endswith(ending)


#: By service: how the only ARN ends that a Lambda may name there.
PREFIXES = {"secretsmanager:": ":secret:clockwork/*", "ssm:": ":parameter/clockwork/*"}


def allowed_of_secrets(account: Template, moment: str) -> set[str]:
    """The actions that a Lambda may do with secrets, parameters and their keys."""
    services = ("secretsmanager:", "ssm:", "kms:")
    return {
        action for service in services for actions in account.allowed(moment, service).values() for action in actions
    }


def test_keys_decrypt_parameters_below_the_prefix_and_nothing_else(account: Template) -> None:
    (statement,) = [one for one in account.statements("Deliverer") if one["Action"] == "kms:Decrypt"]
    conditions = statement["Condition"]
    (parameters,) = account.allowed("Deliverer", "ssm:")
    assert conditions["StringLike"] == {"kms:EncryptionContext:PARAMETER_ARN": json.loads(parameters)}
    assert "".join(strings(conditions["StringEquals"]["kms:ViaService"])).startswith("ssm.")
    assert set(conditions) == {"StringLike", "StringEquals"}


def test_jobs_may_target_the_queues_that_the_deployment_names(account: Template) -> None:
    assert account.allowed("Deliverer", "sqs:")[json.dumps(TARGETS)] == {"sqs:SendMessage"}


def test_only_who_delivers_or_gives_up_speaks_to_queues_of_clients(account: Template) -> None:
    speaking = {moment for moment in MOMENTS if json.dumps(TARGETS) in account.allowed(moment, "sqs:")}
    assert speaking == {"Deliverer", "Poller", "Sweeper"}


def test_only_the_api_and_the_sweeper_ask_the_index_of_what_is_dead(account: Template) -> None:
    asking = {m for m in MOMENTS if any("/index/attention" in resource for resource in account.allowed(m, "dynamodb:"))}
    assert asking == {"Api", "Sweeper"}
    looking = {m for m in MOMENTS if any("/index/runs" in resource for resource in account.allowed(m, "dynamodb:"))}
    assert looking == {"Api"}


def test_jobs_may_target_the_functions_buses_topics_and_roles_that_the_deployment_names_and_no_others() -> None:
    wanted = {
        "lambda:InvokeFunction": "arn:aws:lambda:*:123456789012:function:jobs-*",
        "events:PutEvents": "arn:aws:events:us-east-1:123456789012:event-bus/jobs",
        "sns:Publish": "arn:aws:sns:us-east-1:123456789012:jobs",
        "sts:AssumeRole": "arn:aws:iam::210987654321:role/clockwork-in",
    }
    template, closed = synthesize(targetArns=",".join(wanted.values())), synthesize()
    for action, arn in wanted.items():
        service = action.split(":")[0]
        assert template.allowed("Deliverer", f"{service}:") == {json.dumps(arn): {action}}
        assert closed.allowed("Deliverer", f"{service}:") == {}
        assert all(json.dumps(arn) not in template.allowed(moment, "") for moment in MOMENTS if moment != "Deliverer")


def test_jobs_may_target_no_queue_unless_the_deployment_names_it() -> None:
    template = synthesize()
    queues = [template.logical_id(template.one("SQS::Queue", f"Queues{kind}Release")) for kind in ("", "Ordered")]
    further = {name for name in template.allowed("Deliverer", "sqs:") if ":Clockwork-Release-*" in name}
    exact = {json.dumps({"Fn::GetAtt": [q, "Arn"]}) for q in queues}
    assert set(template.allowed("Deliverer", "sqs:")) == exact | further


def test_only_the_deliverer_consumes_releases_and_only_the_sweeper_dead_letters(account: Template) -> None:
    consumers = {
        queue: {
            moment
            for moment in MOMENTS
            for resource, actions in account.allowed(moment, "sqs:").items()
            if account.logical_id(account.one("SQS::Queue", queue)) in resource and "sqs:DeleteMessage" in actions
        }
        for queue in ("QueuesRelease", "QueuesDeadLetters")
    }
    assert consumers == {"QueuesRelease": {"Deliverer"}, "QueuesDeadLetters": {"Sweeper"}}


def test_the_emulator_alone_has_the_actions_that_it_checks_for_batches(account: Template) -> None:
    """AWS knows none of them (tests/infra/test_iam.py)."""
    batches = {"sqs:SendMessageBatch", "sqs:ChangeMessageVisibilityBatch"}
    for template, expected in ((account, set()), (synthesize(stage="local"), batches)):
        actions = [
            action for moment in MOMENTS for some in template.allowed(moment, "sqs:").values() for action in some
        ]
        assert batches & set(actions) == expected
