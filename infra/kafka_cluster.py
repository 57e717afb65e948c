"""An existing Kafka cluster, MSK or another, as `-c kafka=...` names it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

AUTHS = ("plain", "tls", "scram", "iam")
SECRET_PREFIX = "clockwork/"  # noqa: S105 - where secrets are, none itself
_SERVERS = re.compile(r"[A-Za-z0-9.-]+:[0-9]{1,5}(,[A-Za-z0-9.-]+:[0-9]{1,5})*")
_CLUSTER_ARN = re.compile(r"arn:[a-z-]+:kafka:[a-z0-9-]+:[0-9]{12}:cluster/[^/]+/[A-Za-z0-9-]+")
_TEXTS = ("bootstrapServers", "auth", "secret", "clusterArn", "ingestionTopic")
_LISTS = ("subnetIds", "securityGroupIds", "topics")


class InvalidCluster(Exception):
    """What `-c kafka=` says cannot be used; the message says what to give instead."""


@dataclass(frozen=True, kw_only=True)
class KafkaCluster:
    """Where the cluster is and how the deliverer says who it is.

    Without subnets the deliverer is in no network of yours. `topics` (patterns) are what IAM lets it write to.
    """

    bootstrap_servers: str
    auth: str = "plain"
    secret: str = ""
    cluster_arn: str = ""
    subnet_ids: tuple[str, ...] = ()
    security_group_ids: tuple[str, ...] = ()
    topics: tuple[str, ...] = ("*",)
    #: The topic of messages that create and cancel jobs; MSK alone.
    ingestion_topic: str = ""

    @staticmethod
    def from_context(value: object) -> KafkaCluster | None:
        """The cluster that a JSON object, as text or from cdk.json, describes; None if there is none.

        Raises InvalidCluster.
        """
        if value in (None, ""):
            return None
        given = _parsed(value)
        faults = list(_faults(given))
        if faults:
            raise InvalidCluster("; ".join(faults))
        return KafkaCluster(
            bootstrap_servers=given["bootstrapServers"],
            auth=given.get("auth", "plain"),
            secret=given.get("secret", ""),
            cluster_arn=given.get("clusterArn", ""),
            subnet_ids=tuple(given.get("subnetIds", ())),
            security_group_ids=tuple(given.get("securityGroupIds", ())),
            topics=tuple(given.get("topics", ("*",))),
            ingestion_topic=given.get("ingestionTopic", ""),
        )


def _parsed(value: object) -> Mapping[str, Any]:
    try:
        given = json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise InvalidCluster(f"is no JSON: {error}") from None
    if not isinstance(given, Mapping):
        raise InvalidCluster('must be a JSON object such as {"bootstrapServers": "b-1...:9098", "auth": "iam", ...}')
    return given


def _faults(given: Mapping[str, Any]) -> Iterator[str]:
    yield from _faults_of_types(given)
    if not _SERVERS.fullmatch(str(given.get("bootstrapServers", ""))):
        yield "bootstrapServers must be host:port, separated by commas"
    auth = given.get("auth", "plain")
    if auth not in AUTHS:
        yield f"auth must be one of {', '.join(AUTHS)}"
    is_msk = _CLUSTER_ARN.fullmatch(str(given.get("clusterArn", ""))) is not None
    if auth == "iam" and not is_msk:
        yield "clusterArn must be the ARN of the cluster, for which auth iam gives permissions"
    if given.get("ingestionTopic") and not (is_msk and auth != "scram"):
        yield "ingestionTopic needs the clusterArn of an MSK cluster, and an auth other than scram"
    if auth == "scram" and not str(given.get("secret", "")).startswith(SECRET_PREFIX):
        yield f"secret must name a secret below {SECRET_PREFIX}, with which auth scram logs in"
    if bool(given.get("subnetIds")) != bool(given.get("securityGroupIds")):
        yield "subnetIds and securityGroupIds go together"


def _faults_of_types(given: Mapping[str, Any]) -> Iterator[str]:
    for name, value in given.items():
        if name in _TEXTS and not isinstance(value, str):
            yield f"{name} must be a text"
        elif name in _LISTS and not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
            yield f"{name} must be a list of texts"
        elif name not in _TEXTS + _LISTS:
            yield f"{name} is none of {', '.join(_TEXTS + _LISTS)}"
