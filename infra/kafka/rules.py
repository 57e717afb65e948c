"""The rules between the fields of the option `kafka`. The schema has the rules of each field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: https://docs.aws.amazon.com/msk/latest/developerguide/create-serverless-cluster.html
LEAST_SUBNETS = 2


def faults_of_cluster(given: Mapping[str, Any], secret_prefix: str) -> Iterator[str]:
    """The faults of a cluster whose single fields are good. Names of secrets begin with the prefix."""
    yield from _faults_of_new(given) if "create" in given else _faults_of_existing(given, secret_prefix)


def _faults_of_new(given: Mapping[str, Any]) -> Iterator[str]:
    if given.get("auth", "iam") != "iam":
        yield "auth must be iam, or left out, with create: MSK Serverless knows no other"
    for name in ("bootstrapServers", "clusterArn", "secret"):
        if name in given:
            yield f"{name} cannot be given with create: it is of a cluster that exists"
    subnets = given.get("subnetIds", [])
    has_guard = "securityGroupIds" in given or "vpcId" in given
    if subnets and len(subnets) < LEAST_SUBNETS:
        yield f"subnetIds must be at least {LEAST_SUBNETS}, in different zones"
    if subnets and not has_guard:
        yield "subnetIds need vpcId, in which a security group is made, or securityGroupIds"
    if has_guard and not subnets:
        yield "vpcId and securityGroupIds need subnetIds; without all three a network is made"
    if subnets and "zones" in given:
        yield "zones are for a network that is made; subnetIds have theirs"


def _faults_of_existing(given: Mapping[str, Any], secret_prefix: str) -> Iterator[str]:
    is_msk = "clusterArn" in given
    if not is_msk and "bootstrapServers" not in given:
        yield "bootstrapServers must be host:port, separated by commas, unless clusterArn names an MSK cluster"
    auth = given.get("auth", "plain")
    if auth == "iam" and not is_msk:
        yield "clusterArn must be the ARN of the cluster, for which auth iam gives permissions"
    if given.get("ingestionTopic") and not (is_msk and auth != "scram"):
        yield "ingestionTopic needs the clusterArn of an MSK cluster, and an auth other than scram"
    if auth == "scram" and not given.get("secret", "").startswith(secret_prefix):
        yield f"secret must name a secret below {secret_prefix}, with which auth scram logs in"
    if ("subnetIds" in given) != ("securityGroupIds" in given):
        yield "subnetIds and securityGroupIds go together"
    for name in ("vpcId", "zones"):
        if name in given:
            yield f"{name} is for create alone: the deliverer's network is subnetIds and securityGroupIds"
