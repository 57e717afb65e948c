"""MSK on request only: a serverless cluster in a network of its own, and a lookup of brokers if none are named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.infra.conftest import synthesize
from tests.infra.template import Resource, Template, as_list, strings

EXISTING = "arn:aws:kafka:us-east-1:123456789012:cluster/jobs/abc-1"
NETWORK = {"subnetIds": ["subnet-1", "subnet-2"], "securityGroupIds": ["sg-1"]}
#: Types of resources that a stack has only if it makes a cluster or a network, or asks MSK for brokers.
ON_REQUEST = ("EC2::", "MSK::", "Custom::AWS")


def template_of(**kafka: Any) -> Template:
    return synthesize(kafka=json.dumps(kafka))


@pytest.fixture(scope="module")
def made() -> Template:
    """The template of an account that asks for a new cluster."""
    return template_of(create="serverless", ingestionTopic="requests", topics=["orders"])


def on_request(template: Template) -> list[str]:
    kinds = [one["Type"].removeprefix("AWS::") for one in template.body["Resources"].values()]
    return sorted(kind for kind in kinds if kind.startswith(ON_REQUEST))


def cluster_of(template: Template) -> Resource:
    return template.one("MSK::ServerlessCluster", "KafkaCluster")


def brokers_of(template: Template) -> Resource:
    (asked,) = [one for one in template.body["Resources"].values() if one["Type"] == "Custom::AWS"]
    found: Resource = asked
    return found


def group_of(template: Template) -> dict[str, Any]:
    group = template.one("EC2::SecurityGroup", "KafkaCluster")
    return {"Fn::GetAtt": [template.logical_id(group), "GroupId"]}


def servers_of(template: Template) -> Any:
    return template.function("KafkaDeliverer")["Properties"]["Environment"]["Variables"]["KAFKA_BOOTSTRAP_SERVERS"]


def network_of_deliverer(template: Template) -> Any:
    return template.function("KafkaDeliverer")["Properties"]["VpcConfig"]


def test_without_kafka_there_is_no_network_no_cluster_and_nobody_asks_msk(account: Template, local: Template) -> None:
    assert (on_request(account), on_request(local)) == ([], [])
    assert [key for key in account.all("Lambda::LayerVersion") if "Kafka" in key] == []
    assert len(account.all("Lambda::Function")) == 6


def test_whoever_names_the_brokers_has_nothing_made_and_nobody_asked() -> None:
    assert on_request(template_of(bootstrapServers="b:9098", clusterArn=EXISTING, auth="iam", **NETWORK)) == []


@pytest.mark.parametrize(
    ("auth", "field"),
    [
        ("plain", "BootstrapBrokerString"),
        ("tls", "BootstrapBrokerStringTls"),
        ("scram", "BootstrapBrokerStringSaslScram"),
        ("iam", "BootstrapBrokerStringSaslIam"),
    ],
)
def test_a_cluster_without_brokers_is_asked_for_those_of_its_auth_when_it_is_deployed(auth: str, field: str) -> None:
    secret = {"secret": "clockwork/kafka"} if auth == "scram" else {}
    template = template_of(clusterArn=EXISTING, auth=auth, **NETWORK, **secret)
    asked = brokers_of(template)
    assert servers_of(template) == {"Fn::GetAtt": [template.logical_id(asked), field]}
    for moment in ("Create", "Update"):
        call = json.loads(asked["Properties"][moment])
        assert (call["service"], call["action"]) == ("kafka", "GetBootstrapBrokers")
        assert (call["parameters"], call["outputPaths"]) == ({"ClusterArn": EXISTING}, [field])
    assert "Delete" not in asked["Properties"]
    assert asked["Properties"]["InstallLatestAwsSdk"] is False


def test_who_asks_may_do_nothing_else(made: Template) -> None:
    provider = brokers_of(made)["Properties"]["ServiceToken"]["Fn::GetAtt"][0]
    role = made.all("Lambda::Function")[provider]["Properties"]["Role"]["Fn::GetAtt"][0]
    allowed = {
        action: json.dumps(statement["Resource"])
        for policy in made.all("IAM::Policy").values()
        if policy["Properties"]["Roles"] == [{"Ref": role}]
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        for action in as_list(statement["Action"])
    }
    log = made.logical_id(made.one("Logs::LogGroup", "KafkaBrokers"))
    assert allowed == {
        "kafka:GetBootstrapBrokers": json.dumps("*"),
        **dict.fromkeys(("logs:CreateLogStream", "logs:PutLogEvents"), json.dumps({"Fn::GetAtt": [log, "Arn"]})),
    }
    assert "ManagedPolicyArns" not in made.all("IAM::Role")[role]["Properties"]


def test_a_cluster_that_is_made_knows_iam_alone_and_so_does_the_deliverer(made: Template) -> None:
    cluster = cluster_of(made)
    assert cluster["Properties"]["ClientAuthentication"] == {"Sasl": {"Iam": {"Enabled": True}}}
    variables = made.function("KafkaDeliverer")["Properties"]["Environment"]["Variables"]
    assert variables["KAFKA_AUTH"] == "iam"
    assert servers_of(made) == {"Fn::GetAtt": [made.logical_id(brokers_of(made)), "BootstrapBrokerStringSaslIam"]}


def test_its_topics_are_named_by_its_own_arn(made: Template) -> None:
    arn = {"Fn::GetAtt": [made.logical_id(cluster_of(made)), "Arn"]}
    parts = [{"Fn::Select": [place, {"Fn::Split": [":cluster/", arn]}]} for place in (0, 1)]
    topic = {"Fn::Join": ["", [parts[0], ":topic/", parts[1], "/orders"]]}
    allowed = made.allowed("KafkaDeliverer", "kafka-cluster:")
    assert set(allowed) == {json.dumps(arn), json.dumps(topic)}
    source = made.one("Lambda::EventSourceMapping", "IngestionTopic")
    assert source["Properties"]["EventSourceArn"] == arn


def test_cluster_deliverer_and_endpoints_share_a_network_of_two_zones_with_no_way_out(made: Template) -> None:
    subnets = [{"Ref": key} for key in made.all("EC2::Subnet")]
    assert len(subnets) == 2
    assert network_of_deliverer(made) == {"SubnetIds": subnets, "SecurityGroupIds": [group_of(made)]}
    assert cluster_of(made)["Properties"]["VpcConfigs"] == [
        {"SubnetIds": subnets, "SecurityGroups": [group_of(made)]},
    ]
    for kind in ("InternetGateway", "NatGateway", "Route"):
        assert made.all(f"EC2::{kind}") == {}


@pytest.mark.parametrize(
    ("topic", "services"),
    [({}, {"dynamodb", "sqs"}), ({"ingestionTopic": "requests"}, {"dynamodb", "sqs", "lambda", "sts"})],
)
def test_a_network_that_is_made_leads_to_what_its_lambdas_call_and_nowhere_else(
    topic: dict[str, str], services: set[str]
) -> None:
    template = template_of(create="serverless", **topic)
    endpoints = [one["Properties"] for one in template.all("EC2::VPCEndpoint").values()]
    assert {list(strings(one["ServiceName"]))[-1].lstrip(".") for one in endpoints} == services
    guarded = [one["SecurityGroupIds"] for one in endpoints if one["VpcEndpointType"] == "Interface"]
    assert guarded == [[group_of(template)]] * (len(services) - 1)


def test_the_security_group_lets_in_its_own_members_alone(made: Template) -> None:
    rules = [one["Properties"] for one in made.all("EC2::SecurityGroupIngress").values()]
    assert {rule["FromPort"] for rule in rules} == {rule["ToPort"] for rule in rules} == {9098, 443}
    for rule in rules:
        assert rule["GroupId"] == rule["SourceSecurityGroupId"] == group_of(made)
    assert "SecurityGroupIngress" not in made.one("EC2::SecurityGroup", "KafkaCluster")["Properties"]


def test_cluster_and_network_outlive_the_stack(made: Template) -> None:
    kept = [one for key, one in made.body["Resources"].items() if key.startswith("KafkaCluster")]
    assert len(kept) > 10
    assert {(one["DeletionPolicy"], one["UpdateReplacePolicy"]) for one in kept} == {("Retain", "Retain")}
    assert {"KafkaClusterArn", "KafkaSubnetIds", "KafkaSecurityGroupIds"} <= set(made.body["Outputs"])


def test_in_a_network_of_ones_own_a_security_group_is_made_unless_one_is_named() -> None:
    subnets = NETWORK["subnetIds"]
    template = template_of(create="serverless", vpcId="vpc-1", subnetIds=subnets)
    assert template.one("EC2::SecurityGroup", "KafkaCluster")["Properties"]["VpcId"] == "vpc-1"
    assert network_of_deliverer(template) == {"SubnetIds": subnets, "SecurityGroupIds": [group_of(template)]}
    assert template.all("EC2::VPC") == template.all("EC2::VPCEndpoint") == {}
    named = template_of(create="serverless", **NETWORK)
    assert on_request(named) == ["Custom::AWS", "MSK::ServerlessCluster"]
    assert network_of_deliverer(named) == {"SubnetIds": subnets, "SecurityGroupIds": ["sg-1"]}


def test_whoever_asks_msk_is_in_no_network(made: Template) -> None:
    placed = [key for key, one in made.all("Lambda::Function").items() if "VpcConfig" in one["Properties"]]
    assert placed == [made.logical_id(made.function("KafkaDeliverer"))]
