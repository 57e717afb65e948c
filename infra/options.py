"""Options of a deployment, which the person who deploys gives in the CDK context (`-c name=value`)."""

from __future__ import annotations

from dataclasses import dataclass

from constructs import Node

from clockwork.settings import Settings
from infra.kafka.cluster import KafkaCluster
from infra.kafka.context import InvalidCluster

#: Services whose ARNs `targetArns` may hold. ARNs of SQS queues have an option of their own, `targetQueueArns`.
TARGET_SERVICES = ("lambda", "events", "sns", "iam")
#: CloudFormation allows 500 resources in a stack; a further release queue takes eight, with its deliverer and alarms.
MOST_RELEASE_QUEUES = 24


def service_of(arn: str) -> str:
    """The service that an ARN or a pattern of ARNs names."""
    return arn.split(":")[2] if arn.count(":") > 2 else ""


class InvalidContext(Exception):
    """A `-c name=value` cannot be used; the message says what to give instead."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of one deployment: the settings of the Lambdas, and values that only the stack needs."""

    settings: Settings
    #: Patterns of the ARNs of the SQS queues that jobs may target. Empty: jobs may target none.
    target_queue_arns: tuple[str, ...] = ()
    #: Patterns of the ARNs of the Lambda functions, event buses and SNS topics that jobs may target, and of the roles
    #: that a delivery may assume. Empty: none.
    target_arns: tuple[str, ...] = ()
    #: An SNS topic that every alarm notifies. Empty: alarms show in CloudWatch and notify nobody.
    alarm_topic_arn: str = ""
    #: The Kafka cluster whose topics jobs may target. None: jobs may target no topic.
    kafka: KafkaCluster | None = None
    #: Provisioned pollers that Lambda keeps ready for each plain release queue of the deliverers (not for that of the
    #: Kafka deliverer). 0: Lambda adds pollers as messages come.
    queue_pollers: int = 0
    #: Whether jobs may be created and cancelled by messages to a queue.
    ingestion_queue: bool = False

    @property
    def ingests(self) -> bool:
        """Whether the deployment has an ingester: a queue or a topic whose messages create and cancel jobs."""
        return self.ingestion_queue or (self.kafka is not None and self.kafka.ingestion_topic != "")

    @property
    def is_local(self) -> bool:
        """Whether the stack is for the emulator and may vanish with it."""
        return self.settings.stage == "local"

    @staticmethod
    def from_context(node: Node) -> Options:
        """The options that the CDK context asks for; values that it does not give have their defaults.

        The context's names are `stage`, `adminPrincipals`, `shards`, `releaseQueues`, `queuePollers`,
        `targetQueueArns`, `targetArns`, `alarmTopicArn`, `kafka` and `ingestionQueue`. Raises InvalidContext.
        """
        stages = {"account": Settings.for_account, "local": Settings.for_local}
        stage = _text(node, "stage") or "account"
        if stage not in stages:
            raise InvalidContext(f"-c stage={stage}: give `account` or `local`")
        settings = stages[stage]()
        return Options(
            settings=settings.with_(
                admin_principals=_arns(node, "adminPrincipals"),
                shards=_count(node, "shards", settings.shards, most=1_000),
                release_queues=_count(node, "releaseQueues", settings.release_queues, most=MOST_RELEASE_QUEUES),
            ),
            target_queue_arns=_arns(node, "targetQueueArns"),
            target_arns=_target_arns(node),
            alarm_topic_arn=_text(node, "alarmTopicArn"),
            kafka=_cluster(node, "kafka", is_local=stage == "local"),
            queue_pollers=_count(node, "queuePollers", 0, least=2, most=200),
            ingestion_queue=_switch(node, "ingestionQueue"),
        )


def _text(node: Node, name: str) -> str:
    value = node.try_get_context(name)
    return "" if value is None else str(value).strip()


def _arns(node: Node, name: str) -> tuple[str, ...]:
    arns = tuple(part.strip() for part in _text(node, name).split(",") if part.strip())
    for arn in arns:
        if not arn.startswith("arn:"):
            raise InvalidContext(f"-c {name}: {arn!r} is no ARN; give ARNs separated by commas")
    return arns


def _cluster(node: Node, name: str, *, is_local: bool) -> KafkaCluster | None:
    try:
        cluster = KafkaCluster.from_context(node.try_get_context(name))
    except InvalidCluster as error:
        raise InvalidContext(f"-c {name}: {error}") from None
    if cluster and cluster.is_asked_of_msk and is_local:
        raise InvalidContext(f"-c {name}: the local stage has no MSK: give bootstrapServers")
    return cluster


def _target_arns(node: Node) -> tuple[str, ...]:
    arns = _arns(node, "targetArns")
    for arn in arns:
        if service_of(arn) not in TARGET_SERVICES:
            services = ", ".join(TARGET_SERVICES)
            raise InvalidContext(f"-c targetArns: {arn!r} is of none of the services {services}")
    return arns


def _switch(node: Node, name: str) -> bool:
    text = _text(node, name).lower() or "false"
    if text not in ("true", "false"):
        raise InvalidContext(f"-c {name}={text}: give `true` or `false`")
    return text == "true"


def _count(node: Node, name: str, default: int, *, least: int = 1, most: int) -> int:
    text = _text(node, name)
    if not text:
        return default
    if not text.isdecimal() or not least <= int(text) <= most:
        raise InvalidContext(f"-c {name}={text}: give a whole number from {least} to {most}")
    return int(text)
