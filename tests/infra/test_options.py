"""A wrong `-c` value is refused by name, before anything is deployed."""

from __future__ import annotations

import json

import aws_cdk as cdk
import pytest

from infra.options import InvalidContext, Options


def options(**context: object) -> Options:
    return Options.from_context(cdk.App(context=context).node)


def test_without_a_context_the_account_is_meant_and_nobody_is_admin() -> None:
    chosen = options()
    assert (chosen.settings.stage, chosen.settings.admin_principals, chosen.target_queue_arns) == ("account", (), ())
    assert not chosen.is_local


def test_an_empty_list_of_admins_is_nobody() -> None:
    assert options(adminPrincipals="").settings.admin_principals == ()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("stage", "prod", "-c stage=prod"),
        ("shards", "0", "-c shards=0"),
        ("shards", "1001", "from 1 to 1000"),
        ("shards", "four", "-c shards=four"),
        ("releaseQueues", "0", "-c releaseQueues=0"),
        ("releaseQueues", "25", "from 1 to 24"),
        ("queuePollers", "1", "-c queuePollers=1: give a whole number from 2 to 200"),
        ("queuePollers", "201", "from 2 to 200"),
        ("adminPrincipals", "alice", "'alice' is no ARN"),
        ("kafka", "{", "-c kafka: is no JSON"),
        ("kafka", "[]", "-c kafka: must be a JSON object"),
        ("kafka", "{}", "bootstrapServers must be host:port"),
        ("kafka", '{"bootstrapServers":"a b"}', "bootstrapServers must be host:port"),
        ("kafka", '{"bootstrapServers":"a:1","auth":"mtls"}', "auth must be one of plain, tls, scram, iam"),
        ("kafka", '{"bootstrapServers":"a:1","auth":"iam"}', "clusterArn must be the ARN of the cluster"),
        (
            "kafka",
            '{"bootstrapServers":"a:1","auth":"scram","secret":"kafka"}',
            "secret must name a secret below clockwork/",
        ),
        ("kafka", '{"bootstrapServers":"a:1","subnetIds":["s"]}', "subnetIds and securityGroupIds go together"),
        ("kafka", '{"bootstrapServers":"a:1","subnetIds":"s","securityGroupIds":["g"]}', "subnetIds must be a list"),
        ("kafka", '{"bootstrapServers":1}', "bootstrapServers must be a text"),
        ("kafka", '{"bootstrapServers":"a:1","subnetIds":["s"]}', "subnetIds: 's' must begin with subnet-"),
        ("kafka", '{"clusterArn":"jobs"}', "clusterArn must be the ARN of an MSK cluster; bootstrapServers must be"),
        ("kafka", '{"bootstrapServers":"a:1","vpcId":"vpc-1"}', "vpcId is for create alone"),
        ("kafka", '{"create":"msk"}', "create must be serverless"),
        ("kafka", '{"create":1}', "create must be a text"),
        ("kafka", '{"create":"serverless","auth":"tls"}', "auth must be iam, or left out, with create"),
        ("kafka", '{"create":"serverless","clusterArn":"x"}', "clusterArn cannot be given with create"),
        (
            "kafka",
            '{"create":"serverless","vpcId":"vpc-1","subnetIds":["subnet-1"]}',
            "subnetIds must be at least 2, in different zones",
        ),
        (
            "kafka",
            '{"create":"serverless","subnetIds":["subnet-1","subnet-2"]}',
            "subnetIds need vpcId, in which a security group is made, or securityGroupIds",
        ),
        ("kafka", '{"create":"serverless","vpcId":"vpc-1"}', "vpcId and securityGroupIds need subnetIds"),
        ("kafka", '{"bootstrapServers":"a:1","vpc":"v"}', "vpc is none of create, bootstrapServers, auth"),
        ("targetQueueArns", "arn:aws:sqs:a:b:c,orders", "'orders' is no ARN"),
        ("targetArns", "arn:aws:lambda:*:123456789012:function:*,arn:aws:s3:::x", "'arn:aws:s3:::x' is of none of"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(name: str, value: str, said: str) -> None:
    with pytest.raises(InvalidContext, match=said):
        options(**{name: value})


def test_all_faults_of_a_cluster_are_told_at_once() -> None:
    given = {"create": "large", "auth": "scram", "secret": "x", "subnetIds": ["a"], "topics": "all", "color": "red"}
    with pytest.raises(InvalidContext) as refused:
        options(kafka=given)
    assert str(refused.value).count(";") == 7


@pytest.mark.parametrize(
    "given",
    [{"create": "serverless"}, {"clusterArn": "arn:aws:kafka:us-east-1:123456789012:cluster/jobs/abc-1"}],
)
def test_the_local_stage_has_no_msk_to_ask(given: dict[str, str]) -> None:
    with pytest.raises(InvalidContext, match="the local stage has no MSK: give bootstrapServers"):
        options(stage="local", kafka=given)
    assert options(kafka=given).kafka is not None


def test_a_cluster_from_cdk_json_is_as_good_as_a_text() -> None:
    given = {"bootstrapServers": "a:1,b:2", "topics": ["orders.*"]}
    chosen = options(kafka=given).kafka
    assert chosen == options(kafka=json.dumps(given)).kafka
    assert chosen is not None
    assert (chosen.bootstrap_servers, chosen.auth, chosen.topics) == ("a:1,b:2", "plain", ("orders.*",))
    assert options().kafka is None


def test_a_number_from_cdk_json_is_as_good_as_a_text() -> None:
    assert options(shards=7, releaseQueues=3).settings.shards == 7
    assert options(shards=7, releaseQueues=3).settings.release_queues == 3
