"""Parses `-c kafka=...` and lists every fault of its value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

AUTHS = ("plain", "tls", "scram", "iam")
SERVERLESS = "serverless"
SECRET_PREFIX = "clockwork/"  # noqa: S105 - where secrets are, none itself
_SERVERS = re.compile(r"[A-Za-z0-9.-]+:[0-9]{1,5}(,[A-Za-z0-9.-]+:[0-9]{1,5})*")
_CLUSTER_ARN = re.compile(r"arn:[a-z-]+:kafka:[a-z0-9-]+:[0-9]{12}:cluster/[^/]+/[A-Za-z0-9-]+")
_TEXTS = ("create", "bootstrapServers", "auth", "secret", "clusterArn", "ingestionTopic", "vpcId")
_LISTS = ("subnetIds", "securityGroupIds", "topics")
_IDS = {"vpcId": "vpc-", "subnetIds": "subnet-", "securityGroupIds": "sg-"}
#: https://docs.aws.amazon.com/msk/latest/developerguide/create-serverless-cluster.html
LEAST_SUBNETS = 2


class InvalidCluster(Exception):
    """The value of `-c kafka=` cannot be used; the message says what to give instead."""


def parsed(value: object) -> Mapping[str, Any]:
    """The JSON object that the context has as text or from cdk.json. Raises InvalidCluster with every fault."""
    try:
        given = json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise InvalidCluster(f"is no JSON: {error}") from None
    if not isinstance(given, Mapping):
        raise InvalidCluster(
            'must be a JSON object such as {"create": "serverless"} or '
            '{"clusterArn": "arn:aws:kafka:...", "auth": "iam", "subnetIds": [...], "securityGroupIds": [...]}'
        )
    faults = [*_faults_of_types(given), *_faults({name: _of_its_type(name, value) for name, value in given.items()})]
    if faults:
        raise InvalidCluster("; ".join(faults))
    return given


def _faults_of_types(given: Mapping[str, Any]) -> Iterator[str]:
    for name, value in given.items():
        if name not in _TEXTS + _LISTS:
            yield f"{name} is none of {', '.join(_TEXTS + _LISTS)}"
        elif _of_its_type(name, value) is not value:
            yield f"{name} must be {'a text' if name in _TEXTS else 'a list of texts'}"


def _of_its_type(name: str, value: Any) -> Any:
    """The value if it has its type, otherwise an empty one of that type, so that the other checks can go on."""
    if name in _TEXTS:
        return value if isinstance(value, str) else ""
    return value if isinstance(value, list) and all(isinstance(one, str) for one in value) else []


def _faults(given: Mapping[str, Any]) -> Iterator[str]:
    for name, prefix in _IDS.items():
        value = given.get(name, [])
        ids = [value] if isinstance(value, str) else value
        yield from (f"{name}: {one!r} must begin with {prefix}" for one in ids if not one.startswith(prefix))
    yield from _faults_of_new(given) if "create" in given else _faults_of_existing(given)


def _faults_of_new(given: Mapping[str, Any]) -> Iterator[str]:
    if given["create"] != SERVERLESS:
        yield f"create must be {SERVERLESS}"
    if given.get("auth", "iam") != "iam":
        yield "auth must be iam, or left out, with create: MSK Serverless knows no other"
    for name in ("bootstrapServers", "clusterArn", "secret"):
        if name in given:
            yield f"{name} cannot be given with create: it is of a cluster that exists"
    subnets = given.get("subnetIds", [])
    has_guard = bool(given.get("securityGroupIds")) or bool(given.get("vpcId"))
    if subnets and len(subnets) < LEAST_SUBNETS:
        yield f"subnetIds must be at least {LEAST_SUBNETS}, in different zones"
    if subnets and not has_guard:
        yield "subnetIds need vpcId, in which a security group is made, or securityGroupIds"
    if has_guard and not subnets:
        yield "vpcId and securityGroupIds need subnetIds; without all three a network is made"


def _faults_of_existing(given: Mapping[str, Any]) -> Iterator[str]:
    is_msk = _CLUSTER_ARN.fullmatch(given.get("clusterArn", "")) is not None
    if "clusterArn" in given and not is_msk:
        yield "clusterArn must be the ARN of an MSK cluster"
    if "bootstrapServers" in given and not _SERVERS.fullmatch(given["bootstrapServers"]):
        yield "bootstrapServers must be host:port, separated by commas"
    if not is_msk and "bootstrapServers" not in given:
        yield "bootstrapServers must be host:port, separated by commas, unless clusterArn names an MSK cluster"
    auth = given.get("auth", "plain")
    if auth not in AUTHS:
        yield f"auth must be one of {', '.join(AUTHS)}"
    if auth == "iam" and not is_msk:
        yield "clusterArn must be the ARN of the cluster, for which auth iam gives permissions"
    if given.get("ingestionTopic") and not (is_msk and auth != "scram"):
        yield "ingestionTopic needs the clusterArn of an MSK cluster, and an auth other than scram"
    if auth == "scram" and not given.get("secret", "").startswith(SECRET_PREFIX):
        yield f"secret must name a secret below {SECRET_PREFIX}, with which auth scram logs in"
    if bool(given.get("subnetIds")) != bool(given.get("securityGroupIds")):
        yield "subnetIds and securityGroupIds go together"
    if "vpcId" in given:
        yield "vpcId is for create alone: the deliverer's network is subnetIds and securityGroupIds"
