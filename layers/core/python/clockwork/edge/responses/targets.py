"""The target, payload and retry policy of a job, as answers show them."""

from __future__ import annotations

import json
from typing import Annotated, Any, get_args

from msgspec import field

from clockwork.domain import jobs
from clockwork.domain.jobs import Occurrence, Payload, Precision, Priority, RecordLevel, RetryPolicy, Target
from clockwork.domain.named_jobs import Definition
from clockwork.edge.http.answer import AnswerBody, as_shown, one_of
from clockwork.edge.http.fields import like

Record = Annotated[str, one_of(get_args(RecordLevel))]
ShownPrecision = Annotated[str, one_of(get_args(Precision))]


class ShownHttpTarget(AnswerBody, tag="http", tag_field="type", kw_only=True):
    """An HTTP endpoint."""

    url: str
    method: str
    headers: dict[str, str] = field(default_factory=dict)
    timeout_seconds: float


# These targets are shown with all fields that are kept. An HTTP target is kept with a field that no client sends.


class ShownSqsTarget(jobs.SqsTarget, frozen=True, forbid_unknown_fields=True):
    """An SQS queue."""


class ShownKafkaTarget(jobs.KafkaTarget, frozen=True, forbid_unknown_fields=True):
    """A Kafka topic."""


class ShownLambdaTarget(jobs.LambdaTarget, frozen=True, forbid_unknown_fields=True):
    """A Lambda function."""


class ShownEventBridgeTarget(jobs.EventBridgeTarget, frozen=True, forbid_unknown_fields=True):
    """An EventBridge bus."""


class ShownSnsTarget(jobs.SnsTarget, frozen=True, forbid_unknown_fields=True):
    """An SNS topic."""


class ShownPoolTarget(AnswerBody, tag="pool", tag_field="type", kw_only=True):
    """A handler of a pool, whose workers pull."""

    pool: str
    handler: str
    timeout_seconds: float
    priority: Annotated[str, one_of(get_args(Priority))]


ShownTarget = (
    ShownHttpTarget
    | ShownSqsTarget
    | ShownKafkaTarget
    | ShownLambdaTarget
    | ShownEventBridgeTarget
    | ShownSnsTarget
    | ShownPoolTarget
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


class ShownCompletion(AnswerBody, kw_only=True):
    """How attempts end that the target only accepts."""

    mode: Annotated[str, one_of(["callback"])]
    heartbeat_seconds: float
    timeout_seconds: float


def shown_target(kept: Target) -> ShownTarget:
    """A target as its request named it."""
    return like(_SHOWN[str(kept.__struct_config__.tag)], [kept], as_shown)


def shown_payload(kept: Payload) -> Any:
    """A payload as its request gave it."""
    return kept.body.decode() if kept.is_text else json.loads(kept.body)


def shown_policy(kept: RetryPolicy | None) -> ShownRetryPolicy | None:
    """A retry policy with all its defaults, if there is one."""
    return None if kept is None else ShownRetryPolicy.like(kept)


def delivery(kept: Occurrence | Definition) -> dict[str, Any]:
    """The fields about a job's deliveries that answers show in another form than they are kept in."""
    return {
        "target": shown_target(kept.target),
        "retry_policy": shown_policy(kept.retry_policy),
        "sequence": None if kept.ordering_key is None else kept.sequence,
        "completion": None if kept.completion is None else ShownCompletion.like(kept.completion),
        "on_failure": None if kept.on_failure is None else shown_target(kept.on_failure),
    }
