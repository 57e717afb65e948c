"""What a client asks for: target, payload, policies, and one occurrence with all that its delivery needs."""

from __future__ import annotations

from typing import Literal

import msgspec

RecordLevel = Literal["none", "full"]
Backoff = Literal["none", "fixed", "linear", "exponential"]
Jitter = Literal["none", "full"]


class HttpTarget(msgspec.Struct, frozen=True, tag="http", tag_field="type", rename="camel", omit_defaults=True):
    """An HTTP endpoint. 2xx is success; redirects are not followed."""

    url: str
    method: str = "POST"
    headers: dict[str, str] = {}
    timeout_seconds: float = 15
    #: The client's allowedPrivateTargets held this host and port at create: http and private addresses pass.
    private: bool = False


class SqsTarget(msgspec.Struct, frozen=True, tag="sqs", tag_field="type", rename="camel", omit_defaults=True):
    """An SQS queue, standard or FIFO. `message_group_id` defaults to the jobId on a FIFO queue."""

    queue_arn: str
    message_group_id: str | None = None
    #: A role that is taken on to send, under the ExternalId = clientId.
    role_arn: str | None = None


class KafkaTarget(msgspec.Struct, frozen=True, tag="kafka", tag_field="type", rename="camel", omit_defaults=True):
    """A topic of the deployment's Kafka cluster. `key`, else the orderingKey, else the jobId chooses the partition."""

    topic: str
    key: str | None = None


class LambdaTarget(msgspec.Struct, frozen=True, tag="lambda", tag_field="type", rename="camel", omit_defaults=True):
    """A Lambda function, invoked asynchronously with an envelope."""

    function_arn: str
    role_arn: str | None = None


class EventBridgeTarget(
    msgspec.Struct, frozen=True, tag="eventbridge", tag_field="type", rename="camel", omit_defaults=True
):
    """An EventBridge bus, on which an event with an envelope as its detail is put."""

    bus_arn: str
    source: str
    detail_type: str
    role_arn: str | None = None


class SnsTarget(msgspec.Struct, frozen=True, tag="sns", tag_field="type", rename="camel", omit_defaults=True):
    """An SNS topic, standard or FIFO. `message_group_id` defaults to the jobId on a FIFO topic."""

    topic_arn: str
    message_group_id: str | None = None
    role_arn: str | None = None


Target = HttpTarget | SqsTarget | KafkaTarget | LambdaTarget | EventBridgeTarget | SnsTarget


def is_signed(target: Target, on_failure: Target | None) -> bool:
    """Whether what goes to a job's target, or to that of its callback, is signed."""
    return isinstance(target, HttpTarget) or isinstance(on_failure, HttpTarget)


class Payload(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The bytes to deliver: compact UTF-8 JSON, or a string as it is."""

    body: bytes
    is_text: bool = False


class RetryPolicy(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """When a failed attempt is tried again."""

    max_attempts: int = 5
    backoff: Backoff = "exponential"
    initial_seconds: float = 5
    max_seconds: float = 3_600
    jitter: Jitter = "full"
    max_age_seconds: float = 86_400
    #: Answers of webhooks that are tried again although they would be final by themselves.
    retry_status_codes: tuple[int, ...] = ()


class Occurrence(msgspec.Struct, frozen=True, tag="once", rename="camel", omit_defaults=True):
    """One due instant of a job, whole: whoever holds it can deliver it. `due_at` and `created_at` are ms."""

    client_id: str
    due_at: int
    created_at: int
    target: Target
    payload: Payload
    record: RecordLevel = "full"
    retry_policy: RetryPolicy = RetryPolicy()
    signing_secrets: tuple[str, ...] = ()
    tags: dict[str, str] = {}
    #: Not delivered while an earlier execution of its job has not ended (`overlap: skip`).
    skip_overlap: bool = False
    #: So long after `due_since` it is of no use any more: it is not delivered, but EXPIRED.
    relevancy_window_seconds: float | None = None
    #: How long its record is kept once it has ended; the deployment's setting unless given.
    retention_days: int | None = None
    #: Occurrences of one client with the same key are delivered one after the other, by due instant, then `sequence`.
    ordering_key: str | None = None
    sequence: int = 0
    #: Where a callback goes if its execution ends DEAD.
    on_failure: Target | None = None

    @property
    def due_since(self) -> int:
        """When it could be delivered at the earliest (ms): it may be due in the past when it is asked for."""
        return max(self.due_at, self.created_at)
