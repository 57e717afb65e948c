"""A network that exists, into which the stack puts a Lambda: its subnets and security groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

from infra.deployment.schema import OPTIONS

#: Actions that a Lambda in a VPC needs: https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html
INTERFACES = (
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
)
_DELIVERERS: int = OPTIONS["network"]["properties"]["delivererConcurrency"]["default"]


@dataclass(frozen=True, kw_only=True)
class Network:
    """The network of private targets, as the option `network` describes it, and how many deliverers run there."""

    subnet_ids: tuple[str, ...]
    security_group_ids: tuple[str, ...]
    deliverer_concurrency: int = _DELIVERERS

    @staticmethod
    def of(given: Mapping[str, Any]) -> Network:
        """The network that the option, which has been checked, describes."""
        return Network(
            subnet_ids=tuple(given["subnetIds"]),
            security_group_ids=tuple(given["securityGroupIds"]),
            deliverer_concurrency=given.get("delivererConcurrency", _DELIVERERS),
        )


def place(function: lambda_.Function, subnet_ids: Sequence[str], security_group_ids: Sequence[str]) -> None:
    """Put a function into a network.

    It is set at the CloudFormation resource: a CDK construct of the network would need details of it, and so a lookup
    in the account.
    """
    resource = function.node.default_child
    assert isinstance(resource, lambda_.CfnFunction)
    resource.vpc_config = lambda_.CfnFunction.VpcConfigProperty(
        subnet_ids=list(subnet_ids), security_group_ids=list(security_group_ids)
    )
    # These actions cannot be limited to resources.
    function.add_to_role_policy(iam.PolicyStatement(actions=list(INTERFACES), resources=["*"]))
