"""Targets that are AWS services, as a request names them, and whether their client may send anything there."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from clockwork.domain import jobs
from clockwork.edge.http.checks import Checks, EdgeModel, checks_of

MessageGroup = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\x21-\x7e]+$")]
RoleArn = Annotated[
    str,
    Field(max_length=600, pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]+$"),
]
_REGION_AND_ACCOUNT = r"[a-z0-9-]+:[0-9]{12}"
#: The shortest ExternalId that STS takes: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
SHORTEST_EXTERNAL_ID = 2


class _InRole(EdgeModel):
    """What may be sent in the name of a role that the client's allowedTargetArns list."""

    role_arn: RoleArn | None = Field(
        None, description="taken on to send, with the clientId as the ExternalId; one of the client's allowedTargetArns"
    )

    @field_validator("role_arn")
    @classmethod
    def _may_be_taken_on(cls, arn: str | None, info: ValidationInfo) -> str | None:
        client = checks_of(info).client
        if arn is None:
            return None
        if client is not None and len(client.client_id) < SHORTEST_EXTERNAL_ID:
            raise ValueError("needs a clientId of at least 2 characters, since that is the ExternalId")
        return listed_arn(arn, info)


class SqsTargetBody(_InRole):
    """An SQS queue that the client's allowedQueueArns list."""

    type: Literal["sqs"]
    queue_arn: str
    message_group_id: MessageGroup | None = None

    @field_validator("queue_arn")
    @classmethod
    def _is_listed(cls, queue_arn: str, info: ValidationInfo) -> str:
        checks = checks_of(info)
        if checks.client is None or queue_arn not in checks.client.allowed_queue_arns:
            raise ValueError("is not among the client's allowedQueueArns")
        return queue_arn

    @field_validator("message_group_id")
    @classmethod
    def _is_for_fifo(cls, group: str | None, info: ValidationInfo) -> str | None:
        if group is not None and not info.data.get("queue_arn", ".fifo").endswith(".fifo"):
            raise ValueError("is for FIFO queues alone")
        return group

    def to_target(self, _: Checks) -> jobs.SqsTarget:
        """The target as it is kept."""
        return jobs.SqsTarget(self.queue_arn, self.message_group_id, self.role_arn)


class LambdaTargetBody(_InRole):
    """A Lambda function that the client's allowedTargetArns list, invoked asynchronously."""

    type: Literal["lambda"]
    function_arn: str = Field(
        max_length=300,
        pattern=rf"^arn:aws[a-z-]*:lambda:{_REGION_AND_ACCOUNT}:function:[A-Za-z0-9_-]+(:[A-Za-z0-9$_-]+)?$",
    )

    @field_validator("function_arn")
    @classmethod
    def _is_listed(cls, arn: str, info: ValidationInfo) -> str:
        return listed_arn(arn, info)

    def to_target(self, _: Checks) -> jobs.LambdaTarget:
        """The target as it is kept."""
        return jobs.LambdaTarget(self.function_arn, self.role_arn)


class EventBridgeTargetBody(_InRole):
    """An EventBridge bus that the client's allowedTargetArns list."""

    type: Literal["eventbridge"]
    bus_arn: str = Field(
        max_length=1_600,
        pattern=rf"^arn:aws[a-z-]*:events:{_REGION_AND_ACCOUNT}:event-bus/[A-Za-z0-9._/-]+$",
    )
    source: str = Field(min_length=1, max_length=256, pattern=r"^[\x21-\x7e]+$", description="not beginning with aws.")
    detail_type: str = Field(min_length=1, max_length=128, pattern=r"^[\x20-\x7e]+$")

    @field_validator("bus_arn")
    @classmethod
    def _is_listed(cls, arn: str, info: ValidationInfo) -> str:
        return listed_arn(arn, info)

    @field_validator("source")
    @classmethod
    def _is_not_of_aws(cls, source: str) -> str:
        if source.startswith("aws."):
            raise ValueError("must not begin with aws., which is for the events of AWS")
        return source

    def to_target(self, _: Checks) -> jobs.EventBridgeTarget:
        """The target as it is kept."""
        return jobs.EventBridgeTarget(self.bus_arn, self.source, self.detail_type, self.role_arn)


class SnsTargetBody(_InRole):
    """An SNS topic that the client's allowedTargetArns list."""

    type: Literal["sns"]
    topic_arn: str = Field(
        max_length=400, pattern=rf"^arn:aws[a-z-]*:sns:{_REGION_AND_ACCOUNT}:[A-Za-z0-9_-]+(\.fifo)?$"
    )
    message_group_id: MessageGroup | None = None

    @field_validator("topic_arn")
    @classmethod
    def _is_listed(cls, arn: str, info: ValidationInfo) -> str:
        return listed_arn(arn, info)

    @field_validator("message_group_id")
    @classmethod
    def _is_for_fifo(cls, group: str | None, info: ValidationInfo) -> str | None:
        if group is not None and not info.data.get("topic_arn", ".fifo").endswith(".fifo"):
            raise ValueError("is for FIFO topics alone")
        return group

    def to_target(self, _: Checks) -> jobs.SnsTarget:
        """The target as it is kept."""
        return jobs.SnsTarget(self.topic_arn, self.message_group_id, self.role_arn)


def listed_arn(arn: str, info: ValidationInfo) -> str:
    """The ARN, if the client's allowedTargetArns list it. Raises ValueError."""
    client = checks_of(info).client
    if client is None or not client.may_target(arn):
        raise ValueError("is not among the client's allowedTargetArns")
    return arn
