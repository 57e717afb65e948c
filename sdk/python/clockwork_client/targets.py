"""Targets: the classes of answers, and the functions that make targets for requests.

`make openapi` writes this file from the registry of targets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from clockwork_client.answers import Target
from clockwork_client.objects import Duration, made

__all__ = [
    "ecs",
    "eventbridge",
    "http",
    "kafka",
    "kinesis",
    "lambda_function",
    "pool",
    "sns",
    "sqs",
    "step_functions",
]


class HttpTarget(Target):
    """An HTTP endpoint."""

    url: str
    method: str | None
    headers: Mapping[str, str] | None
    timeout_seconds: float | None


class SqsTarget(Target):
    """An SQS queue."""

    queue_arn: str
    message_group_id: str | None
    role_arn: str | None
    envelope: bool | None


class KafkaTarget(Target):
    """A Kafka topic."""

    topic: str
    key: str | None


class LambdaTarget(Target):
    """A Lambda function."""

    function_arn: str
    role_arn: str | None
    envelope: bool | None


class EventBridgeTarget(Target):
    """An EventBridge bus."""

    bus_arn: str
    source: str
    detail_type: str
    role_arn: str | None
    envelope: bool | None


class SnsTarget(Target):
    """An SNS topic."""

    topic_arn: str
    message_group_id: str | None
    role_arn: str | None
    envelope: bool | None


class KinesisTarget(Target):
    """A Kinesis data stream."""

    stream_arn: str
    partition_key: str | None
    role_arn: str | None
    envelope: bool | None


class StepFunctionsTarget(Target):
    """A Step Functions state machine."""

    state_machine_arn: str
    role_arn: str | None
    envelope: bool | None


class EcsTarget(Target):
    """An ECS task definition and its cluster."""

    task_definition_arn: str
    cluster_arn: str
    container: str
    command: tuple[str, ...] | None
    environment: Mapping[str, str] | None
    launch_type: str | None
    subnets: tuple[str, ...] | None
    security_groups: tuple[str, ...] | None
    assign_public_ip: bool | None
    role_arn: str | None
    envelope: bool | None


class PoolTarget(Target):
    """A handler of a pool, whose workers pull."""

    pool: str
    handler: str
    timeout_seconds: float | None
    priority: str | None


def http(
    url: str,
    *,
    method: Literal["POST", "PUT", "PATCH", "DELETE", "GET"] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_seconds: Duration | None = None,
) -> HttpTarget:
    """An HTTP endpoint.

    `url`: https, at most 2,048 characters, leading to a public address. `method`: POST unless given. `headers`: at most
    20, 4 KiB in all. `timeout_seconds`: at most 30, or what the deployment allows; 15 unless given.
    """
    return made(
        HttpTarget,
        type="http",
        url=url,
        method=method,
        headers=headers,
        timeout_seconds=timeout_seconds,
    )


def sqs(
    queue_arn: str,
    *,
    message_group_id: str | None = None,
    role_arn: str | None = None,
    envelope: bool | None = None,
) -> SqsTarget:
    """An SQS queue that the client's allowedQueueArns list.

    `role_arn`: taken on to send, with the clientId as the ExternalId; one of the client's allowedTargetArns.
    `envelope`: false, if it is given: the payload is always alone.
    """
    return made(
        SqsTarget,
        type="sqs",
        queue_arn=queue_arn,
        message_group_id=message_group_id,
        role_arn=role_arn,
        envelope=envelope,
    )


def kafka(
    topic: str,
    *,
    key: str | None = None,
) -> KafkaTarget:
    """A topic that the client's allowedTopics list, if the deployment has a Kafka cluster.

    `key`: the orderingKey, or else the jobId, unless given.
    """
    return made(
        KafkaTarget,
        type="kafka",
        topic=topic,
        key=key,
    )


def lambda_function(
    function_arn: str,
    *,
    role_arn: str | None = None,
    envelope: bool | None = None,
) -> LambdaTarget:
    """A Lambda function that the client's allowedTargetArns list, invoked asynchronously.

    `role_arn`: taken on to send, with the clientId as the ExternalId; one of the client's allowedTargetArns.
    `envelope`: false: the payload alone, without ids and without a token; true unless given.
    """
    return made(
        LambdaTarget,
        type="lambda",
        function_arn=function_arn,
        role_arn=role_arn,
        envelope=envelope,
    )


def eventbridge(
    bus_arn: str,
    *,
    source: str,
    detail_type: str,
    role_arn: str | None = None,
    envelope: bool | None = None,
) -> EventBridgeTarget:
    """An EventBridge bus that the client's allowedTargetArns list.

    `source`: not beginning with aws. `role_arn`: taken on to send, with the clientId as the ExternalId; one of the
    client's allowedTargetArns. `envelope`: false: the payload alone, without ids and without a token; true unless
    given.
    """
    return made(
        EventBridgeTarget,
        type="eventbridge",
        bus_arn=bus_arn,
        source=source,
        detail_type=detail_type,
        role_arn=role_arn,
        envelope=envelope,
    )


def sns(
    topic_arn: str,
    *,
    message_group_id: str | None = None,
    role_arn: str | None = None,
    envelope: bool | None = None,
) -> SnsTarget:
    """An SNS topic that the client's allowedTargetArns list.

    `role_arn`: taken on to send, with the clientId as the ExternalId; one of the client's allowedTargetArns.
    `envelope`: false, if it is given: the payload is always alone.
    """
    return made(
        SnsTarget,
        type="sns",
        topic_arn=topic_arn,
        message_group_id=message_group_id,
        role_arn=role_arn,
        envelope=envelope,
    )


def kinesis(
    stream_arn: str,
    *,
    partition_key: str | None = None,
    role_arn: str | None = None,
    envelope: bool | None = None,
) -> KinesisTarget:
    """A Kinesis data stream that the client's allowedTargetArns list.

    `partition_key`: the orderingKey, or else the jobId, unless given. `role_arn`: taken on to send, with the clientId
    as the ExternalId; one of the client's allowedTargetArns. `envelope`: false: the payload alone, without ids and
    without a token; true unless given.
    """
    return made(
        KinesisTarget,
        type="kinesis",
        stream_arn=stream_arn,
        partition_key=partition_key,
        role_arn=role_arn,
        envelope=envelope,
    )


def step_functions(
    state_machine_arn: str,
    *,
    role_arn: str | None = None,
    envelope: bool | None = None,
) -> StepFunctionsTarget:
    """A Step Functions state machine that the client's allowedTargetArns list, or a version or an alias of it.

    `role_arn`: taken on to send, with the clientId as the ExternalId; one of the client's allowedTargetArns.
    `envelope`: false: the payload alone, without ids and without a token; true unless given.
    """
    return made(
        StepFunctionsTarget,
        type="stepFunctions",
        state_machine_arn=state_machine_arn,
        role_arn=role_arn,
        envelope=envelope,
    )


def ecs(
    task_definition_arn: str,
    *,
    cluster_arn: str,
    container: str,
    command: Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
    launch_type: Literal["FARGATE", "EC2", "EXTERNAL"] | None = None,
    subnets: Sequence[str] | None = None,
    security_groups: Sequence[str] | None = None,
    assign_public_ip: bool | None = None,
    role_arn: str | None = None,
    envelope: bool | None = None,
) -> EcsTarget:
    """An ECS task definition and a cluster that the client's allowedTargetArns list.

    `container`: it gets payload and ids as variables `CLOCKWORK_*`, and its exit code decides. `command`: in place of
    the container's own. `environment`: more variables of the container. `launch_type`: the cluster's own unless given.
    `subnets`: of a task with a network of its own. `role_arn`: taken on to send, with the clientId as the ExternalId;
    one of the client's allowedTargetArns. `envelope`: false, if it is given: the payload is always alone.
    """
    return made(
        EcsTarget,
        type="ecs",
        task_definition_arn=task_definition_arn,
        cluster_arn=cluster_arn,
        container=container,
        command=command,
        environment=environment,
        launch_type=launch_type,
        subnets=subnets,
        security_groups=security_groups,
        assign_public_ip=assign_public_ip,
        role_arn=role_arn,
        envelope=envelope,
    )


def pool(
    name: str,
    handler: str,
    *,
    timeout_seconds: Duration | None = None,
    priority: Literal["normal", "high", "low"] | None = None,
) -> PoolTarget:
    """A handler of a pool that the client's allowedPools list: workers pull the job.

    `handler`: one of the pool's handlers. `timeout_seconds`: an attempt ends so long after its start, heartbeats or
    not; 3600 unless given. `priority`: normal unless given.
    """
    return made(
        PoolTarget,
        type="pool",
        pool=name,
        handler=handler,
        timeout_seconds=timeout_seconds,
        priority=priority,
    )


#: By the service in the ARN of its first argument.
OF_ARNS: Mapping[str, Callable[..., Target]] = {
    "sqs": sqs,
    "lambda": lambda_function,
    "events": eventbridge,
    "sns": sns,
    "kinesis": kinesis,
    "states": step_functions,
    "ecs": ecs,
}
#: The types whose payloads travel in an envelope, unless a job asks for none.
ENVELOPED = ("lambda", "eventbridge", "kinesis", "stepFunctions")
#: The types whose ends AWS tells.
TELL_ENDS = ("stepFunctions", "ecs")
