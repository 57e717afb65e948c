"""Targets that are AWS services, as a request names them, and whether their client may send there."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from clockwork.domain.targets.permissions import against_arn, against_queue
from clockwork.edge.http.checks import EdgeModel, checks_of
from clockwork.edge.requests.own_resources import not_own

_REGION_AND_ACCOUNT = r"[a-z0-9-]+:[0-9]{12}"
#: The shortest ExternalId that STS takes: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
SHORTEST_EXTERNAL_ID = 2


def _listed_arn(arn: str, info: ValidationInfo) -> str:
    """The ARN, if the client's allowedTargetArns list it. Raises ValueError."""
    if (reason := against_arn(arn, checks_of(info).client)) is not None:
        raise ValueError(reason)
    return not_own(arn, info)


def _listed_queue(queue_arn: str, info: ValidationInfo) -> str:
    """The ARN, if the client's allowedQueueArns list it. Raises ValueError."""
    if (reason := against_queue(queue_arn, checks_of(info).client)) is not None:
        raise ValueError(reason)
    return not_own(queue_arn, info)


def _listed_role(arn: str, info: ValidationInfo) -> str:
    """The ARN, if the role may be assumed for the client. Raises ValueError."""
    client = checks_of(info).client
    if client is not None and len(client.client_id) < SHORTEST_EXTERNAL_ID:
        raise ValueError("needs a clientId of at least 2 characters, since that is the ExternalId")
    return _listed_arn(arn, info)


def _of_fifo(group: str, info: ValidationInfo) -> str:
    """The message group, if its queue or topic is FIFO, or has a fault of its own. Raises ValueError."""
    for name, kind in (("queue_arn", "queues"), ("topic_arn", "topics")):
        if not info.data.get(name, ".fifo").endswith(".fifo"):
            raise ValueError(f"is for FIFO {kind} alone")
    return group


MessageGroup = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\x21-\x7e]+$"), AfterValidator(_of_fifo)]
RoleArn = Annotated[
    str,
    Field(max_length=600, pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]+$"),
    AfterValidator(_listed_role),
]
FunctionArn = Annotated[
    str,
    Field(
        max_length=300,
        pattern=rf"^arn:aws[a-z-]*:lambda:{_REGION_AND_ACCOUNT}:function:[A-Za-z0-9_-]+(:[A-Za-z0-9$_-]+)?$",
    ),
    AfterValidator(_listed_arn),
]
BusArn = Annotated[
    str,
    Field(max_length=1_600, pattern=rf"^arn:aws[a-z-]*:events:{_REGION_AND_ACCOUNT}:event-bus/[A-Za-z0-9._/-]+$"),
    AfterValidator(_listed_arn),
]
TopicArn = Annotated[
    str,
    Field(max_length=400, pattern=rf"^arn:aws[a-z-]*:sns:{_REGION_AND_ACCOUNT}:[A-Za-z0-9_-]+(\.fifo)?$"),
    AfterValidator(_listed_arn),
]


class _InRole(EdgeModel):
    """A target for which Clockwork may assume a role that the client's allowedTargetArns list."""

    role_arn: RoleArn | None = Field(
        None, description="taken on to send, with the clientId as the ExternalId; one of the client's allowedTargetArns"
    )


class SqsTargetBody(_InRole):
    """An SQS queue that the client's allowedQueueArns list."""

    type: Literal["sqs"]
    queue_arn: Annotated[str, AfterValidator(_listed_queue)]
    message_group_id: MessageGroup | None = None


class LambdaTargetBody(_InRole):
    """A Lambda function that the client's allowedTargetArns list, invoked asynchronously."""

    type: Literal["lambda"]
    function_arn: FunctionArn


class EventBridgeTargetBody(_InRole):
    """An EventBridge bus that the client's allowedTargetArns list."""

    type: Literal["eventbridge"]
    bus_arn: BusArn
    source: str = Field(min_length=1, max_length=256, pattern=r"^[\x21-\x7e]+$", description="not beginning with aws.")
    detail_type: str = Field(min_length=1, max_length=128, pattern=r"^[\x20-\x7e]+$")

    @field_validator("source")
    @classmethod
    def _is_not_of_aws(cls, source: str) -> str:
        if source.startswith("aws."):
            raise ValueError("must not begin with aws., which is for the events of AWS")
        return source


class SnsTargetBody(_InRole):
    """An SNS topic that the client's allowedTargetArns list."""

    type: Literal["sns"]
    topic_arn: TopicArn
    message_group_id: MessageGroup | None = None
