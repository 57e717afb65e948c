"""The bodies of requests to create jobs, with every bound that a client can meet."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, ValidationInfo, field_validator, model_validator

from clockwork.domain import instants, jobs
from clockwork.domain.requests import FURTHEST_AHEAD_MS, LATEST_PAST_MS, NewJob
from clockwork.domain.urls import check_headers, check_url
from clockwork.edge.checks import Checks, EdgeModel, checks_of

LARGEST_PAYLOAD = 256 * 1024
LARGEST_BATCH = 500
CLIENT_ID = re.compile(r"[a-z][a-z0-9-]{0,63}")
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
_REFUSED_BY_SQS = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class ScheduleBody(EdgeModel):
    """When: `at` an instant, or `delaySeconds` after the request was received."""

    at: str | None = Field(None, description="RFC 3339 with a zone; up to 24 h past (then at once), 10 years ahead")
    delay_seconds: float | None = Field(None, ge=0, le=FURTHEST_AHEAD_MS / 1000, description="decimals to 1 ms")

    @field_validator("at")
    @classmethod
    def _in_range(cls, at: str | None, info: ValidationInfo) -> str | None:
        if at is not None:
            instant, now = instants.from_text(at), checks_of(info).now
            if instant < now - LATEST_PAST_MS:
                raise ValueError("is more than 24 hours past")
            if instant > now + FURTHEST_AHEAD_MS:
                raise ValueError("is more than 10 years (3,650 days) ahead")
        return at

    @field_validator("delay_seconds")
    @classmethod
    def _in_milliseconds(cls, seconds: float | None) -> float | None:
        return None if seconds is None else _whole_milliseconds(seconds)

    @model_validator(mode="after")
    def _just_one(self) -> ScheduleBody:
        if (self.at is None) == (self.delay_seconds is None):
            raise ValueError("must have just one of at and delaySeconds")
        return self


class HttpTargetBody(EdgeModel):
    """An HTTP endpoint."""

    type: Literal["http"]
    url: str
    method: Literal["POST", "PUT", "PATCH", "DELETE", "GET"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict)
    timeout_seconds: float = Field(15, ge=1)

    @model_validator(mode="after")
    def _checked(self, info: ValidationInfo) -> HttpTargetBody:
        checks = checks_of(info)
        for reason in check_url(self.url, _private_targets(checks)).reasons:
            checks.report("/target/url", reason)
        for name, reason in check_headers(self.headers):
            checks.report(
                "/target/headers" + (f"/{name.replace('~', '~0').replace('/', '~1')}" if name else ""), reason
            )
        longest = checks.settings.target_timeout_seconds
        if self.timeout_seconds > longest:
            checks.report("/target/timeoutSeconds", f"must be at most {longest}")
        return self

    def to_target(self, checks: Checks) -> jobs.HttpTarget:
        """The target as it is kept."""
        private = check_url(self.url, _private_targets(checks)).private
        return jobs.HttpTarget(self.url, self.method, self.headers, self.timeout_seconds, private)


class SqsTargetBody(EdgeModel):
    """An SQS queue that the client's allowedQueueArns list."""

    type: Literal["sqs"]
    queue_arn: str
    message_group_id: str | None = Field(None, min_length=1, max_length=128, pattern=r"^[\x21-\x7e]+$")

    @model_validator(mode="after")
    def _allowed(self, info: ValidationInfo) -> SqsTargetBody:
        checks = checks_of(info)
        if checks.client is None or self.queue_arn not in checks.client.allowed_queue_arns:
            checks.report("/target/queueArn", "is not among the client's allowedQueueArns")
        if self.message_group_id is not None and not self.queue_arn.endswith(".fifo"):
            checks.report("/target/messageGroupId", "is for FIFO queues alone")
        return self

    def to_target(self, _: Checks) -> jobs.SqsTarget:
        """The target as it is kept."""
        return jobs.SqsTarget(self.queue_arn, self.message_group_id)


class RetryPolicyBody(EdgeModel):
    """When a failed attempt is tried again."""

    max_attempts: int = Field(default=5, ge=1, le=100)
    backoff: Literal["none", "fixed", "linear", "exponential"] = "exponential"
    initial_seconds: float = Field(default=5, ge=1, le=86_400)
    max_seconds: float = Field(default=3_600, ge=1, le=86_400)
    jitter: Literal["none", "full"] = "full"
    max_age_seconds: float = Field(default=86_400, ge=0, le=1_209_600)

    def to_policy(self) -> jobs.RetryPolicy:
        """The policy as it is kept."""
        return jobs.RetryPolicy(**self.model_dump())


class JobBody(EdgeModel):
    """A job as it stands in a batch."""

    schedule: ScheduleBody
    target: Annotated[HttpTargetBody | SqsTargetBody, Discriminator("type")]
    payload: Any = None
    retry_policy: RetryPolicyBody = RetryPolicyBody()
    record: Literal["none", "full"] | None = None
    tags: dict[Annotated[str, Field(min_length=1, max_length=64)], Annotated[str, Field(max_length=256)]] = Field(
        {}, max_length=20
    )

    @model_validator(mode="after")
    def _payload_fits(self, info: ValidationInfo) -> JobBody:
        checks, payload = checks_of(info), payload_of(self.payload)
        if len(payload.body) > LARGEST_PAYLOAD:
            checks.report("/payload", f"has {len(payload.body):,} bytes encoded, at most {LARGEST_PAYLOAD:,} are taken")
        if self.target.type == "sqs" and (payload.body == b"" or _REFUSED_BY_SQS.search(payload.body.decode())):
            checks.report("/payload", "is empty or holds a control character, which SQS refuses")
        return self

    def to_new_job(self, checks: Checks, index: int = 0) -> NewJob:
        """The job as the flow takes it."""
        return NewJob(
            index=index,
            target=self.target.to_target(checks),
            payload=payload_of(self.payload),
            at=None if self.schedule.at is None else instants.from_text(self.schedule.at),
            delay_ms=round((self.schedule.delay_seconds or 0) * 1000),
            record=self.record,
            retry_policy=self.retry_policy.to_policy(),
            tags=self.tags,
        )


class CreateJobBody(JobBody):
    """POST /v1/jobs."""

    client_id: str | None = Field(None, pattern=f"^{CLIENT_ID.pattern}$")


class CreateBatchBody(EdgeModel):
    """POST /v1/jobs/batch. The jobs are validated one by one, so that a bad one does not stop the others."""

    client_id: str | None = Field(None, pattern=f"^{CLIENT_ID.pattern}$")
    jobs: list[Any] = Field(min_length=1, max_length=LARGEST_BATCH)


def payload_of(value: Any) -> jobs.Payload:
    """A string as it is, anything else as compact JSON."""
    if isinstance(value, str):
        return jobs.Payload(value.encode(), is_text=True)
    return jobs.Payload(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def _private_targets(checks: Checks) -> tuple[str, ...]:
    return checks.client.allowed_private_targets if checks.client is not None else ()


def _whole_milliseconds(seconds: float) -> float:
    if abs(seconds * 1000 - round(seconds * 1000)) > 1e-3:
        raise ValueError("has more decimals than milliseconds")
    return seconds
