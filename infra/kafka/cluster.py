"""A Kafka cluster as the option `kafka` describes it: one that exists (MSK or another), or one that the stack makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk

from infra.deployment.schema import OPTIONS

#: Deliverers to Kafka that run at once at most: each has connections of its own, of which a broker takes 3,000, and 100
#: new ones a second. https://docs.aws.amazon.com/msk/latest/developerguide/limits.html
DELIVERERS: int = OPTIONS["kafka"]["properties"]["delivererConcurrency"]["default"]


@dataclass(frozen=True, kw_only=True)
class KafkaCluster:
    """The addresses of a cluster, its network, and how the deliverer authenticates.

    Without subnets the deliverer is in no network of yours, unless the stack makes the cluster: then it makes a
    network, too. Without servers the stack asks MSK for them. `topics` are patterns of the topics to which IAM lets the
    deliverer write.
    """

    #: Whether the stack makes the cluster, with MSK Serverless.
    is_new: bool = False
    bootstrap_servers: str = ""
    auth: str = "plain"
    secret: str = ""
    cluster_arn: str = ""
    vpc_id: str = ""
    subnet_ids: tuple[str, ...] = ()
    security_group_ids: tuple[str, ...] = ()
    topics: tuple[str, ...] = ("*",)
    #: The topic whose messages create and cancel jobs; only a cluster of MSK may have one. Empty: none.
    ingestion_topic: str = ""
    #: The zones of a network that is made. Empty: the first two of the region.
    zones: tuple[str, ...] = ()
    deliverer_concurrency: int = DELIVERERS

    @property
    def is_asked_of_msk(self) -> bool:
        """Whether a deployment of the stack asks MSK for the brokers' addresses."""
        return not self.bootstrap_servers

    @staticmethod
    def of(given: Mapping[str, Any]) -> KafkaCluster:
        """The cluster that the option, which has been checked, describes."""
        is_new = "create" in given
        return KafkaCluster(
            is_new=is_new,
            bootstrap_servers=given.get("bootstrapServers", ""),
            auth="iam" if is_new else given.get("auth", "plain"),
            secret=given.get("secret", ""),
            cluster_arn=given.get("clusterArn", ""),
            vpc_id=given.get("vpcId", ""),
            subnet_ids=tuple(given.get("subnetIds", ())),
            security_group_ids=tuple(given.get("securityGroupIds", ())),
            topics=tuple(given.get("topics", ("*",))),
            ingestion_topic=given.get("ingestionTopic", ""),
            zones=tuple(given.get("zones", ())),
            deliverer_concurrency=given.get("delivererConcurrency", DELIVERERS),
        )

    def arn_of(self, kind: str, name: str) -> str:
        """The ARN of a `topic` or `group` of the cluster, as IAM names it."""
        around = cdk.Fn.split(":cluster/", self.cluster_arn)
        return f"{cdk.Fn.select(0, around)}:{kind}/{cdk.Fn.select(1, around)}/{name}"
