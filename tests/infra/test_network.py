"""A network brings queues and a deliverer of its own for private targets; without one neither exists."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clockwork.settings import Settings
from infra.deployment.document import InvalidDeployment
from tests.infra.conftest import synthesize
from tests.infra.option_sets import NETWORK, template_of
from tests.infra.template import Resource, Template


@pytest.fixture(scope="module")
def network() -> Template:
    """The template of an account with a network, and without a cluster."""
    return synthesize(network=NETWORK)


def queue_of(template: Template, name: str) -> Resource:
    return template.one("SQS::Queue", f"Queues{name}")


def arn_of(template: Template, name: str) -> Any:
    return {"Fn::GetAtt": [template.logical_id(queue_of(template, name)), "Arn"]}


def test_without_a_network_there_is_no_queue_and_no_deliverer_of_it() -> None:
    plain = template_of("plain")
    assert [key for key in plain.body["Resources"] if "private" in key.lower()] == []
    assert plain.function("Api")["Properties"]["Environment"]["Variables"].get("HAS_NETWORK") is None


def test_only_its_deliverer_is_in_the_network(network: Template) -> None:
    placed = {
        key: one["Properties"]["VpcConfig"]
        for key, one in network.all("Lambda::Function").items()
        if "VpcConfig" in one["Properties"]
    }
    expected = {"SubnetIds": NETWORK["subnetIds"], "SecurityGroupIds": NETWORK["securityGroupIds"]}
    assert placed == {network.logical_id(network.function("PrivateDeliverer")): expected}
    assert "ec2:CreateNetworkInterface" in network.allowed("PrivateDeliverer", "ec2:")[json.dumps("*")]
    knows = {
        moment: network.function(moment)["Properties"]["Environment"]["Variables"]
        for moment in ("Api", "Poller", "Deliverer", "PrivateDeliverer", "Sweeper", "Ticker")
    }
    assert {one["HAS_NETWORK"] for one in knows.values()} == {"1"}
    assert [moment for moment, one in knows.items() if one.get("IN_NETWORK") == "1"] == ["PrivateDeliverer"]


def test_the_queues_have_the_names_from_which_the_lambdas_derive_their_addresses(network: Template) -> None:
    first = "https://sqs.us-east-1.amazonaws.com/123456789012/first"
    settings = Settings.for_account().with_(release_queue_url=first, has_network=True)
    for name, like, url in (
        ("PrivateRelease", "Release", settings.lanes["private"][0]),
        ("PrivateOrderedRelease", "OrderedRelease", settings.lanes["private"][1]),
    ):
        ours, theirs = (queue_of(network, one)["Properties"] for one in (name, like))
        assert ours == {**theirs, "QueueName": url.rpartition("/")[2]}


@pytest.mark.parametrize("name", ["PrivateRelease", "PrivateOrderedRelease"])
def test_whoever_releases_may_release_to_private_targets_and_its_deliverer_alone_takes(
    network: Template, name: str
) -> None:
    arn = arn_of(network, name)
    moments = ("Api", "Poller", "Deliverer", "PrivateDeliverer", "Sweeper", "Ticker")
    allowed = {moment: network.allowed(moment, "sqs:").get(json.dumps(arn), set()) for moment in moments}
    assert {one for one in moments if "sqs:SendMessage" in allowed[one]} == {*moments} - {"Ticker"}
    assert {one for one in moments if "sqs:DeleteMessage" in allowed[one]} == {"PrivateDeliverer"}
    (source,) = (
        one["Properties"]
        for one in network.all("Lambda::EventSourceMapping").values()
        if one["Properties"]["EventSourceArn"] == arn
    )
    assert network.started(source["FunctionName"]) == network.logical_id(network.function("PrivateDeliverer"))
    assert source["ScalingConfig"]["MaximumConcurrency"] == (4 if "Ordered" in name else 16)


def test_it_may_do_with_tables_and_signing_secrets_what_the_other_deliverer_may(network: Template) -> None:
    for service in ("dynamodb:", "secretsmanager:", "ssm:", "kms:"):
        assert network.allowed("PrivateDeliverer", service) == network.allowed("Deliverer", service) != {}


def test_its_queues_and_its_deliverer_are_watched_and_dead_letters_once() -> None:
    alarms = synthesize(network=NETWORK, alarms="all").all("CloudWatch::Alarm")
    names = [key.removeprefix("Alarms") for key in alarms if "Private" in key]
    assert sorted(name[:-8] for name in names) == [
        *("PrivateDelivererErrors", "PrivateDelivererThrottles", "PrivateInFlight", "PrivateOrderedAge"),
        *("PrivateOrderedBacklog", "PrivateOrderedHidden", "PrivateQueueAge"),
    ]


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"network": {"subnetIds": ["subnet-1"]}}, "securityGroupIds"),
        ({"network": {"subnetIds": [], "securityGroupIds": ["sg-1"]}}, "network.subnetIds"),
        ({"network": {"subnetIds": ["vpc-1"], "securityGroupIds": ["sg-1"]}}, "network.subnetIds.0"),
        ({"network": NETWORK, "stage": "local"}, "network: the local stage"),
        ({"network": NETWORK, "adopt": {"queues": {"PrivateRelease": "Other-PrivateRelease"}}}, "would have to be"),
    ],
)
def test_a_network_that_cannot_be_is_refused_with_its_fault(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(InvalidDeployment, match=fault):
        synthesize(**options)
