"""Keys of KMS: those of targets, and one of Clockwork's own tables and queues, are used through services only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.deployment.document import InvalidDeployment
from tests.infra.conftest import synthesize
from tests.infra.option_sets import KEY, TARGET_KEY
from tests.infra.template import Resource, Template, as_list, strings

MOMENTS = ("Api", "Ticker", "Poller", "Deliverer", "Sweeper", "PrivateDeliverer", "KafkaDeliverer", "Ingester")


@pytest.fixture(scope="module")
def keyed() -> Template:
    """The template of an account with keys."""
    kafka = {"bootstrapServers": "b-1.example.com:9092", "auth": "plain"}
    network = {"subnetIds": ["subnet-1"], "securityGroupIds": ["sg-1"]}
    options = {"kafka": kafka, "network": network, "ingestionQueue": True}
    return synthesize(targetKeyArns=[TARGET_KEY], keyArn=KEY, **options)


def uses(template: Template, moment: str, key: str) -> list[Resource]:
    return [one for one in template.statements(moment) if key in as_list(one["Resource"])]


def services(statement: Resource) -> set[str]:
    """The services through which a statement lets a key be used."""
    ((operator, conditions),) = statement["Condition"].items()
    assert (operator, list(conditions)) == ("StringEquals", ["kms:ViaService"])
    texts = ("".join(strings(one)) for one in as_list(conditions["kms:ViaService"]))
    return {text.partition(".")[0] for text in texts}


@pytest.mark.parametrize("moment", MOMENTS)
def test_keys_of_targets_are_used_by_those_who_send_and_through_the_services_alone(
    keyed: Template, moment: str
) -> None:
    found = uses(keyed, moment, TARGET_KEY)
    sends = {"Deliverer", "PrivateDeliverer", "KafkaDeliverer"}
    if moment not in {*sends, "Poller", "Sweeper"}:
        assert found == []
        return
    (statement,) = found
    assert set(statement["Action"]) == {"kms:GenerateDataKey", "kms:Decrypt"}
    # Poller and sweeper send notices of deaths to queues; who delivers also reads secrets.
    assert services(statement) == ({"sqs", "sns", "kinesis", "secretsmanager"} if moment in sends else {"sqs"})


@pytest.mark.parametrize("moment", MOMENTS)
def test_every_lambda_may_use_the_key_of_tables_and_queues_through_these(keyed: Template, moment: str) -> None:
    (statement,) = uses(keyed, moment, KEY)
    assert services(statement) == {"dynamodb", "sqs"}
    assert {"kms:Decrypt", "kms:GenerateDataKey*"} <= set(statement["Action"])


def test_all_tables_and_queues_are_encrypted_with_the_key(keyed: Template) -> None:
    for one in keyed.all("DynamoDB::GlobalTable").values():
        assert one["Properties"]["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}
        assert [r["SSESpecification"] for r in one["Properties"]["Replicas"]] == [{"KMSMasterKeyId": KEY}]
    queues = keyed.all("SQS::Queue").values()
    assert len(queues) >= 13
    assert {one["Properties"].get("KmsMasterKeyId") for one in queues} == {KEY}
    assert not any("SqsManagedSseEnabled" in one["Properties"] for one in queues)


def test_without_the_options_no_key_is_named(account: Template) -> None:
    assert [one for one in account.all("SQS::Queue").values() if "KmsMasterKeyId" in one["Properties"]] == []
    assert [one for one in strings(account.body) if one == "kms:GenerateDataKey"] == []


@pytest.mark.parametrize("moment", ["Deliverer", "Poller", "Sweeper", "PrivateDeliverer", "KafkaDeliverer"])
def test_roles_that_others_have_to_name_have_stable_names_and_an_output(keyed: Template, moment: str) -> None:
    role = keyed.function(moment)["Properties"]["Role"]
    properties = keyed.body["Resources"][role["Fn::GetAtt"][0]]["Properties"]
    assert properties["RoleName"] == {"Fn::Join": ["", ["Clockwork-", {"Ref": "AWS::Region"}, f"-{moment}"]]}
    assert keyed.body["Outputs"][f"{moment}RoleArn"]["Value"] == role


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"keyArn": "arn:aws:kms:us-east-1:123456789012:alias/mine"}, "no alias"),
        ({"targetKeyArns": ["arn:aws:kms:us-east-1:123456789012:alias/mine"]}, "no aliases"),
        ({"keyArn": KEY, "region": "eu-central-1"}, "keyArn: the key is of us-east-1, and the region is eu-central-1"),
        ({"keyArn": KEY, "account": "210987654321"}, "keyArn: the key is of 123456789012, and the account is"),
    ],
)
def test_a_key_that_cannot_be_used_is_refused_with_its_fault(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(InvalidDeployment, match=fault):
        synthesize(**options)


def test_a_dropped_key_of_targets_is_a_removal() -> None:
    from rollout.removals import removals
    from rollout.template import Template as Wanted

    def of(options: dict[str, Any]) -> Wanted:
        return Wanted({"Metadata": {"Clockwork": {"options": options}}})

    (found,) = removals(of({"targetKeyArns": [TARGET_KEY]}), of({}))
    assert (found.name, json.dumps(found.what).count(TARGET_KEY)) == ("targetKeyArns", 1)
