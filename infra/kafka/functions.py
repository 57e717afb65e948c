"""Gives the Kafka deliverer access to the cluster: to its network, and the permissions to authenticate there."""

from __future__ import annotations

from collections.abc import Iterator

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

from infra.kafka.cluster import KafkaCluster
from infra.network import place


def reach(function: lambda_.Function, cluster: KafkaCluster) -> None:
    """Put a function into the cluster's network, and let it authenticate there as the cluster's `auth` asks."""
    if cluster.subnet_ids:
        place(function, cluster.subnet_ids, cluster.security_group_ids)
    if cluster.auth == "iam":
        for actions, resources in _iam(cluster):
            function.add_to_role_policy(iam.PolicyStatement(actions=actions, resources=resources))
    if cluster.auth == "scram":
        secret = cdk.Stack.of(function).format_arn(
            service="secretsmanager",
            resource="secret",
            resource_name=f"{cluster.secret}-??????",  # Secrets Manager ends every ARN with six characters of its own
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )
        statement = iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=[secret])
        function.add_to_role_policy(statement)


def _iam(cluster: KafkaCluster) -> Iterator[tuple[list[str], list[str]]]:
    """The actions, with their resources, by which IAM lets a producer into the cluster.

    https://docs.aws.amazon.com/msk/latest/developerguide/iam-access-control-actions.html
    """
    yield ["kafka-cluster:Connect", "kafka-cluster:WriteDataIdempotently"], [cluster.cluster_arn]
    yield (
        ["kafka-cluster:DescribeTopic", "kafka-cluster:WriteData"],
        [cluster.arn_of("topic", one) for one in cluster.topics],
    )
