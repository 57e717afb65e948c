"""The account's policies, judged by a simulator of IAM that knows AWS's own actions and resources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clockwork.domain.clients import ADMINS
from tests.infra.option_sets import OPTION_SETS, template_of
from tests.infra.template import as_list
from tests.support.iam.by_aws import calls_of_aws, decryptions
from tests.support.iam.calls import REGION, Call
from tests.support.iam.policies import Account
from tests.support.iam.simulator import ALLOWED, verdicts

ACCOUNT = "123456789012"


def account_of(name: str) -> Account:
    return Account(template_of(name), ACCOUNT)


def roles(account: Account) -> set[str]:
    """The roles of our own functions."""
    functions = account.template.all("Lambda::Function").items()
    return {account.role_of(one) for key, one in functions if key.startswith("Functions")}


def granted(account: Account) -> Iterator[Call]:
    """One call for each action and resource of each statement; `any` stands where a pattern leaves it open."""
    for role in roles(account):
        for statement in account.allowing(role):
            for action in as_list(statement["Action"]):
                for resource in as_list(statement["Resource"]):
                    given = "log-stream:any" if action.startswith("logs:") else "any"
                    named = resource if resource == "*" else resource.replace("*", given)
                    yield Call(role, action, named, tuple(_met(statement)) if action in _BOUND else ())


#: Actions that a condition binds, beside the resource.
_BOUND = ("ecs:RunTask", "ecs:ListTasks", "ecs:DescribeTasks", "ecs:StopTask", "iam:PassRole")


def _met(statement: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Keys of a statement's conditions, each with a value that meets it."""
    for keys in statement["Condition"].values():
        yield from ((key, as_list(values)[0]) for key, values in keys.items())


@pytest.mark.parametrize("name", OPTION_SETS)
def test_aws_may_do_with_the_roles_what_functions_and_event_sources_need(name: str) -> None:
    account = account_of(name)
    judged = verdicts(account, calls_of_aws(account))
    assert roles(account) <= {call.role for call in judged}
    assert {call: verdict for call, verdict in judged.items() if verdict != ALLOWED} == {}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", OPTION_SETS)
def test_every_permission_is_of_an_action_that_aws_has_on_such_a_resource(name: str) -> None:
    account = account_of(name)
    plain = {call for call in granted(account) if not call.action.startswith("kms:")}
    judged = verdicts(account, {*plain, *decryptions(account, plain)})
    assert len(judged) > 50
    assert {(call.action, verdict) for call, verdict in judged.items() if verdict != ALLOWED} == set()


def test_what_no_policy_names_is_refused() -> None:
    account = account_of("plain")
    table = {name: account.arn(account.template.logical_id(account.template.table(name))) for name in TABLES}
    role = {moment: account.role_of(account.template.function(moment)) for moment in MOMENTS}
    secret = f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret"
    calls = {
        Call(role["Ticker"], "dynamodb:GetItem", table["Jobs"]),
        Call(role["Poller"], "dynamodb:DeleteItem", table["Timeline"]),
        Call(role["Api"], "secretsmanager:GetSecretValue", f"{secret}:clockwork/a"),
        Call(role["Deliverer"], "secretsmanager:GetSecretValue", f"{secret}:own"),
        Call(role["Deliverer"], "kms:Decrypt", f"arn:aws:kms:{REGION}:{ACCOUNT}:key/0123-4"),
        Call(role["Deliverer"], "sqs:SendMessage", f"arn:aws:sqs:{REGION}:{ACCOUNT}:payroll"),
    }
    assert set(verdicts(account, calls).values()) == {"ImplicitlyDenied"}
    assert verdicts(account, {Call(role["Ticker"], "dynamodb:GetItem", table["Shards"])}).popitem()[1] == ALLOWED


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", OPTION_SETS)
def test_nobody_but_the_deployment_writes_the_row_of_the_admins(name: str) -> None:
    """A Lambda that could would let its client act for every other one."""
    account = account_of(name)
    functions = account.template.all("Lambda::Function")
    clients = account.arn(account.template.logical_id(account.template.table("Clients")))
    writes = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem")
    of = {
        partition: verdicts(
            account,
            {
                Call(account.role_of(one), f"dynamodb:{write}", clients, (("dynamodb:LeadingKeys", partition),))
                for one in functions.values()
                for write in writes
            },
        )
        for partition in (ADMINS, "acme")
    }
    writer = account.role_of(functions[next(key for key in functions if key.startswith("AdminsWriter"))])
    assert {(call.role, call.action) for call, verdict in of[ADMINS].items() if verdict == ALLOWED} == {
        (writer, "dynamodb:PutItem")
    }
    api = account.role_of(account.template.function("Api"))
    assert of["acme"][Call(api, "dynamodb:PutItem", clients, (("dynamodb:LeadingKeys", "acme"),))] == ALLOWED
    assert [call for call, verdict in of["acme"].items() if call.role == writer and verdict == ALLOWED] == []


TABLES = ("Timeline", "Jobs", "Shards")
MOMENTS = ("Ticker", "Poller", "Api", "Deliverer")
