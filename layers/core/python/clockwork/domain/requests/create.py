"""Valid requests to create jobs, before their jobs have an instant, a shard or an id.

Also rejected messages, which ask for something impossible.
"""

from __future__ import annotations

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.jobs import JobTarget, Occurrence, is_signed
from clockwork.domain.ordering import policy_of
from clockwork.domain.policies import Completion, Precision, RecordLevel, RetryPolicy
from clockwork.domain.requests.packing import Outline
from clockwork.targets.message import Payload
from clockwork.targets.registry import Target

#: An `at` may lie this far in the past (ms), and is then delivered at once.
LATEST_PAST_MS = 86_400_000


#: The retry policy of a job of which nobody says another.
_USUAL = RetryPolicy()
#: An instant may lie this far ahead (ms): ten years.
FURTHEST_AHEAD_MS = 315_360_000_000


class NewJob(msgspec.Struct, frozen=True, kw_only=True):
    """One anonymous job as the client asked for it: due `at` (ms), or `delay_ms` after the request was first received.

    `index` is its index in the request. Its id derives from the index, so a bad element beside it changes nothing.
    """

    index: int = 0
    target: JobTarget
    payload: Payload
    at: int | None = None
    delay_ms: int = 0
    record: RecordLevel | None = None
    retry_policy: RetryPolicy | None = None
    relevancy_window_seconds: float | None = None
    precision: Precision | None = None
    ordering_key: str | None = None
    sequence: int = 0
    on_failure: Target | None = None
    completion: Completion | None = None
    tags: dict[str, str] = {}


class KeyRow(msgspec.Struct, frozen=True, rename="camel"):
    """The row of an Idempotency-Key: the request's digest, and the values from which ids, instants and shard derive.

    Its row stores each field under the field's name in camel case, or under the `name` given.
    """

    client_id: str
    key: str = msgspec.field(name="jobKey")
    digest: str
    created_at: int
    seed: str
    partition_id: str
    expires_at: int = msgspec.field(name="expiresAtMs")


class CreateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to create jobs. `digest` is the digest of the request as sent; it matters only with an Idempotency-Key.

    `outlines` decide about the rows and places of jobs. They include those of the request's bad jobs.
    """

    client: Client
    jobs: tuple[NewJob, ...]
    outlines: tuple[Outline, ...] = ()
    idempotency_key: str | None = None
    digest: str = ""


def occurrence_of(job: NewJob, client: Client, created_at: int) -> Occurrence:
    """The occurrence of a job. It has all values of the delivery, independent of later changes of the client."""
    # Those by position are not named: of a call that names more than 15, CPython makes a dict first.
    return Occurrence(
        client.client_id,
        created_at + job.delay_ms if job.at is None else job.at,
        created_at,
        job.target,
        job.payload,
        record=job.record or client.record,
        retry_policy=policy_of(job.retry_policy or client.retry_policy or _USUAL, job.ordering_key),
        signing_secrets=client.signing_secrets if is_signed(job.target, job.on_failure) else (),
        tags=job.tags,
        relevancy_window_seconds=job.relevancy_window_seconds or client.relevancy_window_seconds,
        precision=job.precision or client.precision or "millisecond",
        retention_days=client.retention_days,
        ordering_key=job.ordering_key,
        sequence=job.sequence,
        on_failure=job.on_failure,
        completion=job.completion,
    )


class Rejected(msgspec.Struct, frozen=True):
    """A message that the ingester rejects, and the reason in words for its sender."""

    message_id: str
    lane: str
    body: bytes
    reason: str
