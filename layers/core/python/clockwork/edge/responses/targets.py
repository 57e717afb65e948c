"""What a job says of its deliveries, as answers show it: target, payload and retry policy."""

from __future__ import annotations

import json
from typing import Annotated, Any, get_args

from msgspec import field

from clockwork.domain.jobs import Occurrence, Payload, RecordLevel, RetryPolicy, Target
from clockwork.domain.named_jobs import Definition
from clockwork.edge.http.answer import AnswerBody, one_of

Record = Annotated[str, one_of(get_args(RecordLevel))]


class ShownHttpTarget(AnswerBody, tag="http", tag_field="type", kw_only=True):
    """An HTTP endpoint."""

    url: str
    method: str
    headers: dict[str, str] = field(default_factory=dict)
    timeout_seconds: float


class ShownSqsTarget(AnswerBody, tag="sqs", tag_field="type"):
    """An SQS queue."""

    queue_arn: str
    message_group_id: str | None = None
    role_arn: str | None = None


class ShownKafkaTarget(AnswerBody, tag="kafka", tag_field="type"):
    """A Kafka topic."""

    topic: str
    key: str | None = None


class ShownLambdaTarget(AnswerBody, tag="lambda", tag_field="type"):
    """A Lambda function."""

    function_arn: str
    role_arn: str | None = None


class ShownEventBridgeTarget(AnswerBody, tag="eventbridge", tag_field="type"):
    """An EventBridge bus."""

    bus_arn: str
    source: str
    detail_type: str
    role_arn: str | None = None


class ShownSnsTarget(AnswerBody, tag="sns", tag_field="type"):
    """An SNS topic."""

    topic_arn: str
    message_group_id: str | None = None
    role_arn: str | None = None


ShownTarget = (
    ShownHttpTarget | ShownSqsTarget | ShownKafkaTarget | ShownLambdaTarget | ShownEventBridgeTarget | ShownSnsTarget
)
_SHOWN: dict[str, type[ShownTarget]] = {kind.__struct_config__.tag: kind for kind in get_args(ShownTarget)}


class ShownRetryPolicy(AnswerBody):
    """When a failed attempt is tried again."""

    max_attempts: int
    backoff: str
    initial_seconds: float
    max_seconds: float
    jitter: str
    max_age_seconds: float
    retry_status_codes: tuple[int, ...]


def shown_target(kept: Target) -> ShownTarget:
    """A target as it was asked for."""
    return _SHOWN[str(kept.__struct_config__.tag)].like(kept)


def shown_payload(kept: Payload) -> Any:
    """A payload as it was asked for."""
    return kept.body.decode() if kept.is_text else json.loads(kept.body)


def shown_policy(kept: RetryPolicy | None) -> ShownRetryPolicy | None:
    """A retry policy with all its defaults, if there is one."""
    return None if kept is None else ShownRetryPolicy.like(kept)


def delivery(kept: Occurrence | Definition) -> dict[str, Any]:
    """The fields of a job about its deliveries that are shown otherwise than they are kept."""
    return {
        "target": shown_target(kept.target),
        "retry_policy": shown_policy(kept.retry_policy),
        "sequence": None if kept.ordering_key is None else kept.sequence,
        "on_failure": None if kept.on_failure is None else shown_target(kept.on_failure),
    }
