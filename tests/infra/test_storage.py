"""Properties of tables that the emulator ignores and an account must have."""

from __future__ import annotations

import pytest

from tests.infra.conftest import compose, synthesize
from tests.infra.template import TABLES, Template

KEYS = {
    "Timeline": ["partitionId", "scheduleTime"],
    "Jobs": ["clientId", "jobKey"],
    "Executions": ["jobId", "executionId"],
    "Shards": ["partitionId"],
    "Clients": ["clientId", "item"],
}


def test_there_are_the_five_tables_and_no_other(account: Template) -> None:
    assert len(account.all("DynamoDB::GlobalTable")) == len(TABLES)
    assert not account.all("DynamoDB::Table")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_the_keys_of_the_design(account: Template, name: str) -> None:
    properties = account.table(name)["Properties"]
    assert [key["AttributeName"] for key in properties["KeySchema"]] == KEYS[name]
    assert [key["KeyType"] for key in properties["KeySchema"]] == ["HASH", "RANGE"][: len(KEYS[name])]
    assert {attribute["AttributeType"] for attribute in properties["AttributeDefinitions"]} == {"S"}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_survives_the_stack_mistakes_and_thieves(account: Template, name: str) -> None:
    table = account.table(name)
    assert (table["DeletionPolicy"], table["UpdateReplacePolicy"]) == ("Retain", "Retain")
    (replica,) = table["Properties"]["Replicas"]
    assert replica["DeletionProtectionEnabled"] is True
    assert replica["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    # A key that AWS owns: nobody is billed for its use.
    assert table["Properties"]["SSESpecification"] == {"SSEEnabled": False}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_paid_by_request(account: Template, name: str) -> None:
    assert account.table(name)["Properties"]["BillingMode"] == "PAY_PER_REQUEST"


@pytest.mark.parametrize("name", ["Timeline", "Jobs", "Executions", "Clients"])
def test_rows_expire(account: Template, name: str) -> None:
    expected = {"AttributeName": "expiresAt", "Enabled": True}
    assert account.table(name)["Properties"]["TimeToLiveSpecification"] == expected


def test_the_registry_of_shards_never_expires(account: Template) -> None:
    assert "TimeToLiveSpecification" not in account.table("Shards")["Properties"]


def test_only_executions_have_indexes_over_what_needs_attention_and_over_what_has_ended(account: Template) -> None:
    indexes = {name: account.table(name)["Properties"].get("GlobalSecondaryIndexes", []) for name in TABLES}
    attention, runs = indexes.pop("Executions")
    assert not any(indexes.values())
    assert attention["IndexName"] == "attention"
    assert [key["AttributeName"] for key in attention["KeySchema"]] == ["attentionClientId", "attentionKey"]
    assert runs["IndexName"] == "runs"
    assert [key["AttributeName"] for key in runs["KeySchema"]] == ["runsClientId", "runsKey"]
    assert runs["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["state"]}


@pytest.mark.parametrize("name", TABLES)
def test_a_local_table_goes_with_its_stack(local: Template, name: str) -> None:
    table = local.table(name)
    assert table["DeletionPolicy"] == "Delete"
    assert table["Properties"]["Replicas"][0].get("DeletionProtectionEnabled", False) is False


def test_nothing_has_a_physical_name_but_queues_and_roles_that_policies_of_others_name(account: Template) -> None:
    access_log = account.logical_id(account.one("Logs::LogGroup", "ApiAccessLog"))
    names = {"TableName", "QueueName", "FunctionName", "RoleName", "LogGroupName", "LayerName", "AlarmName"}
    owners = {"Lambda::Function", "DynamoDB::GlobalTable", "SQS::Queue", "IAM::Role", "Logs::LogGroup"}
    named = [
        key
        for kind in owners
        for key, resource in account.all(kind).items()
        if names & set(resource.get("Properties", {})) and key != access_log
    ]
    roles = {account.function(one)["Properties"]["Role"]["Fn::GetAtt"][0] for one in ("Deliverer", "Poller", "Sweeper")}
    assert set(named) == roles | set(account.all("SQS::Queue"))


def test_the_busiest_tables_can_be_warm_before_the_first_load(account: Template) -> None:
    warm = synthesize(warmThroughput='{"writeUnitsPerSecond": 20000}')
    asked = {name: warm.table(name)["Properties"].get("WarmThroughput") for name in TABLES}
    busiest = {name: {"WriteUnitsPerSecond": 20_000} for name in ("Timeline", "Executions")}
    assert asked == {**dict.fromkeys(TABLES), **busiest}
    assert not [name for name in TABLES if "WarmThroughput" in account.table(name)["Properties"]]


def test_a_stack_can_be_protected_from_its_deletion() -> None:
    for asked, protected in (("true", True), ("false", False)):
        app = compose(terminationProtection=asked)
        assert bool(app.synth().get_stack_artifact("Clockwork").termination_protection) is protected
