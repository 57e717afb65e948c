"""Jobs: the target, payload and policies that a client asks for, and an occurrence with all that its delivery needs."""

from __future__ import annotations

from typing import Literal

import msgspec

RecordLevel = Literal["none", "full"]
Precision = Literal["millisecond", "second"]
#: A job of the precision of a second is late by that precision for so long at the most (ms).
SECOND_LATE_MS = 1_000
#: A job with a shorter relevancy window than this is never a second late by its precision.
LEAST_WINDOW_SECONDS = 3
Backoff = Literal["none", "fixed", "linear", "exponential"]
Jitter = Literal["none", "full"]


class HttpTarget(msgspec.Struct, frozen=True, tag="http", tag_field="type", rename="camel", omit_defaults=True):
    """An HTTP endpoint. 2xx is success; redirects are not followed."""

    url: str
    method: str = "POST"
    headers: dict[str, str] = {}
    timeout_seconds: float = 15
    #: The client's allowedPrivateTargets listed this host and port at create: http and private addresses are allowed.
    private: bool = False


class SqsTarget(msgspec.Struct, frozen=True, tag="sqs", tag_field="type", rename="camel", omit_defaults=True):
    """An SQS queue, standard or FIFO. `message_group_id` defaults to the jobId on a FIFO queue."""

    queue_arn: str
    message_group_id: str | None = None
    #: The IAM role that Clockwork assumes to send, with ExternalId = clientId.
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
    """An EventBridge bus, on which Clockwork puts an event with an envelope as its detail."""

    bus_arn: str
    source: str
    detail_type: str
    role_arn: str | None = None


class SnsTarget(msgspec.Struct, frozen=True, tag="sns", tag_field="type", rename="camel", omit_defaults=True):
    """An SNS topic, standard or FIFO. `message_group_id` defaults to the jobId on a FIFO topic."""

    topic_arn: str
    message_group_id: str | None = None
    role_arn: str | None = None


Priority = Literal["normal", "high", "low"]


class PoolTarget(msgspec.Struct, frozen=True, tag="pool", tag_field="type", rename="camel", omit_defaults=True):
    """A handler of a pool, whose workers pull. An attempt ends `timeout_seconds` after its start at the latest."""

    pool: str
    handler: str
    timeout_seconds: float = 3_600
    priority: Priority = "normal"


Target = HttpTarget | SqsTarget | KafkaTarget | LambdaTarget | EventBridgeTarget | SnsTarget | PoolTarget


def is_signed(target: Target, on_failure: Target | None) -> bool:
    """Whether a job's deliveries or its callback are signed: they are if they go to an HTTP target."""
    return isinstance(target, HttpTarget) or isinstance(on_failure, HttpTarget)


class Payload(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The bytes to deliver: compact JSON in UTF-8, or (`is_text`) a string as it is."""

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
    #: Status codes of webhooks after which an attempt is tried again, although they would be permanent failures.
    retry_status_codes: tuple[int, ...] = ()


class Completion(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The end of attempts that the target only accepts: a callback of the receiver, under the attempt's token.

    The receiver reports every `heartbeat_seconds` at least, and the attempt ends `timeout_seconds` after its start.
    """

    mode: Literal["callback"] = "callback"
    heartbeat_seconds: float = 300
    timeout_seconds: float = 86_400


class Occurrence(msgspec.Struct, frozen=True, tag="once", rename="camel", omit_defaults=True):
    """One due instant of a job, with all that its delivery needs. `due_at` and `created_at` are in ms."""

    client_id: str
    due_at: int
    created_at: int
    target: Target
    payload: Payload
    record: RecordLevel = "full"
    retry_policy: RetryPolicy = RetryPolicy()
    signing_secrets: tuple[str, ...] = ()
    tags: dict[str, str] = {}
    #: The relevancy window: later than this after `due_since` it is of no use, and ends EXPIRED instead of delivered.
    relevancy_window_seconds: float | None = None
    #: How exactly it starts. `second`: up to a second late, since its message may come that late and is not held.
    precision: Precision = "millisecond"
    #: For how many days after its end its record is kept. None: as the deployment's setting says.
    retention_days: int | None = None
    #: Occurrences of one client with the same key are delivered one after the other, by due instant, then `sequence`.
    ordering_key: str | None = None
    sequence: int = 0
    #: The target of the callback, if its execution ends DEAD.
    on_failure: Target | None = None
    #: Its attempts end by callback; None: with the target's answer.
    completion: Completion | None = None
    #: Since when (ms) a pause of its job held it back, which ended at `created_at`. It was late from then on.
    held_from: int | None = None
    #: It has no payload, and of an HTTP target the host alone: the row of its named job has the rest.
    is_hint: bool = False

    @property
    def may_come_later(self) -> bool:
        """Whether its messages may come up to a second late. A message that would be useless by then may not."""
        window = self.relevancy_window_seconds
        return self.precision == "second" and (window is None or window >= LEAST_WINDOW_SECONDS)

    @property
    def due_since(self) -> int:
        """The earliest instant (ms) at which it could be delivered: a client may ask for an instant in the past."""
        return max(self.due_at, self.created_at)

    @property
    def late_since(self) -> int:
        """From when on (ms) it is late: its due instant, or when it was asked for if that came later."""
        return self.due_since if self.held_from is None else self.held_from

    @property
    def is_reported(self) -> bool:
        """Whether its attempts end by a report of a receiver, or of a worker of a pool, under their token."""
        return self.completion is not None or isinstance(self.target, PoolTarget)
