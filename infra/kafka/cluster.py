"""A Kafka cluster as `-c kafka=...` names it: MSK or another that exists, or one to be made."""

from __future__ import annotations

from dataclasses import dataclass

import aws_cdk as cdk

from infra.kafka.context import parsed


@dataclass(frozen=True, kw_only=True)
class KafkaCluster:
    """Where the cluster is and how the deliverer says who it is.

    Without subnets the deliverer is in no network of yours, unless the cluster is to be made: then a network is made,
    too. Without servers MSK is asked for them. `topics` (patterns) are what IAM lets the deliverer write to.
    """

    #: Whether the stack makes it, MSK Serverless.
    is_new: bool = False
    bootstrap_servers: str = ""
    auth: str = "plain"
    secret: str = ""
    cluster_arn: str = ""
    vpc_id: str = ""
    subnet_ids: tuple[str, ...] = ()
    security_group_ids: tuple[str, ...] = ()
    topics: tuple[str, ...] = ("*",)
    #: The topic of messages that create and cancel jobs; MSK alone.
    ingestion_topic: str = ""

    @property
    def is_asked_of_msk(self) -> bool:
        """Whether MSK has to be asked for something when the stack is deployed."""
        return not self.bootstrap_servers

    @staticmethod
    def from_context(value: object) -> KafkaCluster | None:
        """The cluster that a JSON object, as text or from cdk.json, describes; None if there is none.

        Raises InvalidCluster.
        """
        if value in (None, ""):
            return None
        given = parsed(value)
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
        )

    def arn_of(self, kind: str, name: str) -> str:
        """The ARN of a `topic` or `group` of the cluster, as IAM names it."""
        around = cdk.Fn.split(":cluster/", self.cluster_arn)
        return f"{cdk.Fn.select(0, around)}:{kind}/{cdk.Fn.select(1, around)}/{name}"
