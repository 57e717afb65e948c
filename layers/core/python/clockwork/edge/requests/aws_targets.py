"""Targets that are AWS services, as a request names them, and whether their client may send there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from msgspec import Meta

from clockwork.domain.targets.permissions import against_arn, against_queue
from clockwork.edge.http.checks import Checks
from clockwork.edge.http.forms import Earlier, FieldCheck, TargetForm
from clockwork.edge.requests.own_resources import not_own

_REGION_AND_ACCOUNT = r"[a-z0-9-]+:[0-9]{12}"
#: The shortest ExternalId that STS takes: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
SHORTEST_EXTERNAL_ID = 2


def _listed_arn(arn: str, checks: Checks, _: Earlier) -> str:
    """The ARN, if the client's allowedTargetArns list it. Raises ValueError."""
    if (reason := against_arn(arn, checks.client)) is not None:
        raise ValueError(reason)
    return not_own(arn, checks)


def _listed_queue(queue_arn: str, checks: Checks, _: Earlier) -> str:
    """The ARN, if the client's allowedQueueArns list it. Raises ValueError."""
    if (reason := against_queue(queue_arn, checks.client)) is not None:
        raise ValueError(reason)
    return not_own(queue_arn, checks)


def _listed_role(arn: str, checks: Checks, earlier: Earlier) -> str:
    """The ARN, if the role may be assumed for the client. Raises ValueError."""
    client = checks.client
    if client is not None and len(client.client_id) < SHORTEST_EXTERNAL_ID:
        raise ValueError("needs a clientId of at least 2 characters, since that is the ExternalId")
    return _listed_arn(arn, checks, earlier)


def _of_fifo(group: str, _: Checks, earlier: Earlier) -> str:
    """The message group, if its queue or topic is FIFO, or has a fault of its own. Raises ValueError."""
    for name, kind in (("queue_arn", "queues"), ("topic_arn", "topics")):
        if (arn := earlier(name)) is not None and not arn.endswith(".fifo"):
            raise ValueError(f"is for FIFO {kind} alone")
    return group


def _not_of_aws(source: str, _: Checks, __: Earlier) -> str:
    if source.startswith("aws."):
        raise ValueError("must not begin with aws., which is for the events of AWS")
    return source


MessageGroup = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[\x21-\x7e]+\Z")]
RoleArn = Annotated[
    str,
    Meta(
        max_length=600,
        pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]+\Z",
        description="taken on to send, with the clientId as the ExternalId; one of the client's allowedTargetArns",
    ),
]
FunctionArn = Annotated[
    str,
    Meta(
        max_length=300,
        pattern=rf"^arn:aws[a-z-]*:lambda:{_REGION_AND_ACCOUNT}:function:[A-Za-z0-9_-]+(:[A-Za-z0-9$_-]+)?\Z",
    ),
]
BusArn = Annotated[
    str,
    Meta(max_length=1_600, pattern=rf"^arn:aws[a-z-]*:events:{_REGION_AND_ACCOUNT}:event-bus/[A-Za-z0-9._/-]+\Z"),
]
TopicArn = Annotated[
    str,
    Meta(max_length=400, pattern=rf"^arn:aws[a-z-]*:sns:{_REGION_AND_ACCOUNT}:[A-Za-z0-9_-]+(\.fifo)?\Z"),
]
EventSource = Annotated[
    str, Meta(min_length=1, max_length=256, pattern=r"^[\x21-\x7e]+\Z", description="not beginning with aws.")
]


class _InRole(TargetForm):
    """A target for which Clockwork may assume a role that the client's allowedTargetArns list."""

    role_arn: RoleArn | None = None


class SqsTargetBody(_InRole, tag="sqs", kw_only=True):
    """An SQS queue that the client's allowedQueueArns list."""

    queue_arn: str
    message_group_id: MessageGroup | None = None

    field_checks: ClassVar[Mapping[str, FieldCheck]] = {
        "role_arn": _listed_role,
        "queue_arn": _listed_queue,
        "message_group_id": _of_fifo,
    }


class LambdaTargetBody(_InRole, tag="lambda", kw_only=True):
    """A Lambda function that the client's allowedTargetArns list, invoked asynchronously."""

    function_arn: FunctionArn

    field_checks: ClassVar[Mapping[str, FieldCheck]] = {"role_arn": _listed_role, "function_arn": _listed_arn}


class EventBridgeTargetBody(_InRole, tag="eventbridge", kw_only=True):
    """An EventBridge bus that the client's allowedTargetArns list."""

    bus_arn: BusArn
    source: EventSource
    detail_type: Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[\x20-\x7e]+\Z")]

    field_checks: ClassVar[Mapping[str, FieldCheck]] = {
        "role_arn": _listed_role,
        "bus_arn": _listed_arn,
        "source": _not_of_aws,
    }


class SnsTargetBody(_InRole, tag="sns", kw_only=True):
    """An SNS topic that the client's allowedTargetArns list."""

    topic_arn: TopicArn
    message_group_id: MessageGroup | None = None

    field_checks: ClassVar[Mapping[str, FieldCheck]] = {
        "role_arn": _listed_role,
        "topic_arn": _listed_arn,
        "message_group_id": _of_fifo,
    }
