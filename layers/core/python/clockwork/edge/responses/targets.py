"""Targets as answers show them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clockwork.edge.http.checks import EdgeModel


class ShownHttpTarget(EdgeModel):
    """An HTTP endpoint."""

    type: Literal["http"]
    url: str
    method: str
    headers: dict[str, str] | None = None
    timeout_seconds: float


class ShownSqsTarget(EdgeModel):
    """An SQS queue."""

    type: Literal["sqs"]
    queue_arn: str
    message_group_id: str | None = None
    role_arn: str | None = None


class ShownLambdaTarget(EdgeModel):
    """A Lambda function."""

    type: Literal["lambda"]
    function_arn: str
    role_arn: str | None = None


class ShownEventBridgeTarget(EdgeModel):
    """An EventBridge bus."""

    type: Literal["eventbridge"]
    bus_arn: str
    source: str
    detail_type: str
    role_arn: str | None = None


class ShownSnsTarget(EdgeModel):
    """An SNS topic."""

    type: Literal["sns"]
    topic_arn: str
    message_group_id: str | None = None
    role_arn: str | None = None


class ShownKafkaTarget(EdgeModel):
    """A Kafka topic."""

    type: Literal["kafka"]
    topic: str
    key: str | None = None


ShownTarget = Annotated[
    ShownHttpTarget | ShownSqsTarget | ShownKafkaTarget | ShownLambdaTarget | ShownEventBridgeTarget | ShownSnsTarget,
    Field(discriminator="type"),
]
