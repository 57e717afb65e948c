"""Pools: their queues, the Lambda of their workers, what each of ours may do with them, and what a worker may do."""

from __future__ import annotations

import json
from fnmatch import fnmatch

import pytest

from clockwork.routes import ROUTES
from clockwork.settings import Settings
from tests.infra.conftest import synthesize
from tests.infra.option_sets import KEY
from tests.infra.template import MOMENTS, Resource, Template, as_list, strings
from tests.infra.test_limits import OWN_ENVIRONMENT_BYTES, size_of
from tests.support.iam.calls import REGION, Call
from tests.support.iam.policies import Account
from tests.support.iam.simulator import ALLOWED, verdicts

ACCOUNT = "123456789012"
POOLS = json.dumps([{"name": "batch-etl"}, {"name": "gpu", "priorities": ["normal"]}])
FIRST = {
    *(f"Clockwork-Pool-batch-etl-{priority}" for priority in ("high", "normal", "low")),
    "Clockwork-Pool-gpu-normal",
}
#: Each priority has a second queue.
NAMES = {*FIRST, *(f"{name}-overflow" for name in FIRST)}
DEAD = {"Clockwork-PoolDead-batch-etl", "Clockwork-PoolDead-gpu"}
SEND = {"sqs:SendMessage"}
#: The actions of the workers Lambda on tickets that it has answered, or puts off; AWS has no rights of batches.
ANSWERED = ("DeleteMessage", "GetQueueAttributes", "ChangeMessageVisibility")
RECEIVE = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"}


@pytest.fixture(scope="module")
def pooled() -> Template:
    return synthesize(pools=POOLS)


def queue(template: Template, name: str) -> Resource:
    (found,) = [one for one in template.all("SQS::Queue").values() if one["Properties"].get("QueueName") == name]
    return found


def names_of(template: Template) -> set[str]:
    named = (one["Properties"].get("QueueName", "") for one in template.all("SQS::Queue").values())
    return {name for name in named if "-Pool" in name}


def actions_on(template: Template, moment: str, name: str) -> set[str]:
    """The actions that a Lambda may do with a queue, by its ARN or by a pattern."""
    arn = json.dumps({"Fn::GetAtt": [template.logical_id(queue(template, name)), "Arn"]})
    allowed = template.allowed(moment, "sqs:").items()
    return {
        action
        for resource, actions in allowed
        for action in actions
        if resource == arn or fnmatch(f":{name}", "*:" + "".join(strings(json.loads(resource))).rpartition(":")[2])
    }


def test_ten_pools_fit_into_every_environment() -> None:
    pools = json.dumps([{"name": f"pool-{number}-with-a-name-as-it-may-be"} for number in range(10)])
    template = synthesize(pools=pools)
    for moment in (*MOMENTS, "Workers"):
        variables = template.function(moment)["Properties"]["Environment"]["Variables"]
        assert size_of(variables, template, "Clockwork") <= OWN_ENVIRONMENT_BYTES


def test_a_deployment_without_pools_has_nothing_of_them(account: Template) -> None:
    assert names_of(account) == set()
    assert not [key for key in account.all("Lambda::Function") if key.startswith("FunctionsWorkers")]
    assert not account.all("IAM::ManagedPolicy")
    assert not [key for key in account.body["Outputs"] if "Pool" in key or "Workers" in key]


def test_the_queues_are_those_whose_urls_the_lambdas_derive(pooled: Template) -> None:
    variables = pooled.function("Workers")["Properties"]["Environment"]["Variables"]
    told = Settings.for_account().with_(pools=tuple(json.loads(variables["POOLS"])), release_queue_url="https://q/1")
    derived = [url for by_priority in told.pool_queue_urls.values() for url in by_priority.values()]
    assert {url.removeprefix("https://q/") for url in derived} == NAMES
    assert {url.removeprefix("https://q/") for url in told.pool_dead_letter_queue_urls.values()} == DEAD
    assert names_of(pooled) == NAMES | DEAD


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_queue_keeps_what_waits_for_two_weeks_and_stays_in_the_account(pooled: Template, name: str) -> None:
    found = queue(pooled, name)
    properties = found["Properties"]
    pool = name.removeprefix("Clockwork-Pool-").removesuffix("-overflow").rpartition("-")[0]
    dead = pooled.logical_id(queue(pooled, f"Clockwork-PoolDead-{pool}"))
    assert properties == {
        "QueueName": name,
        "VisibilityTimeout": 60,
        "MessageRetentionPeriod": 14 * 86_400,
        "SqsManagedSseEnabled": True,
        "RedrivePolicy": {"deadLetterTargetArn": {"Fn::GetAtt": [dead, "Arn"]}, "maxReceiveCount": 100},
    }
    assert (found["DeletionPolicy"], found["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")


def test_a_call_of_the_api_takes_less_than_half_of_the_time_for_which_a_ticket_is_hidden() -> None:
    assert 2 * Settings.for_account().api_timeout_seconds < 60


def test_the_workers_lambda_is_the_api_with_a_role_of_its_own(pooled: Template) -> None:
    api, workers = (pooled.function(moment)["Properties"] for moment in ("Api", "Workers"))
    assert (workers["Code"], workers["Layers"], workers["Handler"]) == (api["Code"], api["Layers"], api["Handler"])
    assert workers["Role"] != api["Role"]
    variables = {**api["Environment"]["Variables"]}
    del variables["SWEEPER_FUNCTION"]
    assert workers["Environment"]["Variables"] == variables


@pytest.mark.parametrize("name", sorted(NAMES))
def test_tickets_are_sent_by_who_releases_and_received_by_none_of_ours(pooled: Template, name: str) -> None:
    assert {moment: actions_on(pooled, moment, name) for moment in (*MOMENTS, "Workers")} == {
        "Api": SEND | {"sqs:GetQueueAttributes"},
        "Ticker": set(),
        "Poller": SEND,
        "Deliverer": SEND,
        "Sweeper": SEND,
        "Workers": SEND | {f"sqs:{call}" for call in ANSWERED},
    }


@pytest.mark.parametrize("name", sorted(DEAD))
def test_the_sweeper_alone_takes_dead_tickets(pooled: Template, name: str) -> None:
    allowed = {moment: actions_on(pooled, moment, name) for moment in (*MOMENTS, "Workers")}
    assert allowed == {**{moment: set() for moment in allowed}, "Sweeper": RECEIVE}


def test_the_workers_lambda_has_no_secret_starts_nothing_and_lists_no_client(pooled: Template) -> None:
    for service in ("secretsmanager:", "ssm:", "lambda:", "kms:", "sts:", "sns:", "events:"):
        assert pooled.allowed("Workers", service) == {}
    clients = json.dumps({"Fn::GetAtt": [pooled.logical_id(pooled.table("Clients")), "Arn"]})
    assert "dynamodb:Scan" not in pooled.allowed("Workers", "dynamodb:")[clients]


def policy(template: Template, pool: str) -> Resource:
    """The managed policy that an output names."""
    reference = template.body["Outputs"][f"Pool{pool}PolicyArn"]["Value"]["Ref"]
    found: Resource = template.all("IAM::ManagedPolicy")[reference]["Properties"]["PolicyDocument"]
    return found


def test_a_worker_may_receive_from_its_pool_and_call_its_routes_and_no_more(pooled: Template) -> None:
    receive, call = policy(pooled, "Batchetl")["Statement"]
    queues = {one["Fn::GetAtt"][0] for one in receive["Resource"]}
    wanted = {name for name in NAMES if "batch-etl" in name}
    assert queues == {pooled.logical_id(queue(pooled, name)) for name in wanted}
    assert set(receive["Action"]) == {"sqs:ReceiveMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueUrl"}
    routes = {"".join(strings(one)).rpartition("/$default/")[2] for one in as_list(call["Resource"])}
    keys = {route.key.replace(" ", "").replace("{pool}", "batch-etl") for route in ROUTES if route.worker}
    assert routes == {key.replace("{executionId}", "*") for key in keys}
    assert call["Action"] == "execute-api:Invoke"


def test_with_a_key_of_its_own_a_worker_may_have_its_tickets_decrypted_by_sqs_alone() -> None:
    *_, decrypt = policy(synthesize(pools=POOLS, keyArn=KEY), "Gpu")["Statement"]
    assert (decrypt["Action"], decrypt["Resource"]) == ("kms:Decrypt", KEY)
    (via,) = decrypt["Condition"]["StringEquals"].values()
    assert "".join(strings(via)).startswith("sqs.")


def test_no_lambda_is_told_of_a_queue_before_it_exists(pooled: Template) -> None:
    queues = {pooled.logical_id(queue(pooled, name)) for name in NAMES | DEAD}
    for moment in (*MOMENTS, "Workers"):
        assert queues <= set(as_list(pooled.function(moment)["DependsOn"]))


def test_what_waits_for_a_day_and_what_nobody_claims_rings() -> None:
    pooled = synthesize(pools=POOLS, alarms="all")
    alarms = {key: one["Properties"] for key, one in pooled.all("CloudWatch::Alarm").items() if "Pool" in key}
    watched = {(one["Dimensions"][0]["Value"]["Fn::GetAtt"][0], one["MetricName"]): one for one in alarms.values()}
    assert len(watched) == len(alarms) == len(NAMES | DEAD)
    for name in NAMES:
        alarm = watched[pooled.logical_id(queue(pooled, name)), "ApproximateAgeOfOldestMessage"]
        assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (86_400, "GreaterThanThreshold")
    for name in DEAD:
        alarm = watched[pooled.logical_id(queue(pooled, name)), "ApproximateNumberOfMessagesVisible"]
        assert alarm["Threshold"] == 0


def test_aws_refuses_what_no_policy_of_a_pool_names(pooled: Template) -> None:
    account = Account(pooled, ACCOUNT)
    arns = {name: f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}" for name in NAMES | DEAD}
    role = {moment: account.role_of(pooled.function(moment)) for moment in ("Workers", "Deliverer", "Api")}
    refused = {
        Call(role["Workers"], "sqs:ReceiveMessage", arns["Clockwork-Pool-gpu-normal"]),
        Call(role["Deliverer"], "sqs:ReceiveMessage", arns["Clockwork-Pool-gpu-normal"]),
        Call(role["Api"], "sqs:DeleteMessage", arns["Clockwork-Pool-gpu-normal"]),
        Call(role["Workers"], "sqs:ReceiveMessage", arns["Clockwork-PoolDead-gpu"]),
    }
    assert set(verdicts(account, refused).values()) == {"ImplicitlyDenied"}
    allowed = {Call(role["Workers"], "sqs:DeleteMessage", arns["Clockwork-Pool-gpu-normal"])}
    assert set(verdicts(account, allowed).values()) == {ALLOWED}
