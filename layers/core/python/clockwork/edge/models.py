"""The bodies of requests to create jobs, with every bound that a client can meet."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Discriminator, Field, RootModel, ValidationInfo, field_validator, model_validator

from clockwork.domain import ids, instants, jobs
from clockwork.domain.clients import CLIENT_ID
from clockwork.domain.requests import NewJob
from clockwork.domain.urls import LONGEST_URL, MOST_HEADERS, check_headers, check_url
from clockwork.edge.checks import Checks, EdgeModel, checks_of, pointer_part
from clockwork.edge.schedules import ScheduleBody

LARGEST_PAYLOAD = 256 * 1024
LARGEST_BATCH = 500
#: What `ids.is_job_key` asks, in words.
JOB_KEY = f"1-{ids.LONGEST_JOB_KEY} bytes of UTF-8 without control characters"
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
_REFUSED_BY_SQS = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class HttpTargetBody(EdgeModel):
    """An HTTP endpoint."""

    type: Literal["http"]
    url: str = Field(description=f"https, at most {LONGEST_URL:,} characters, leading to a public address")
    method: Literal["POST", "PUT", "PATCH", "DELETE", "GET"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict, description=f"at most {MOST_HEADERS}, 4 KiB in all")
    timeout_seconds: float = Field(15, ge=1, description="at most 30, or what the deployment allows")

    @field_validator("url")
    @classmethod
    def _leads_outside(cls, url: str, info: ValidationInfo) -> str:
        checks = checks_of(info)
        for reason in check_url(url, _private_targets(checks)).reasons:
            checks.report("/target/url", reason)
        return url

    @field_validator("headers")
    @classmethod
    def _may_be_sent(cls, headers: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        for name, reason in check_headers(headers):
            checks_of(info).report("/target/headers" + (pointer_part(name) if name else ""), reason)
        return headers

    @field_validator("timeout_seconds")
    @classmethod
    def _fits_a_delivery(cls, seconds: float, info: ValidationInfo) -> float:
        longest = checks_of(info).settings.target_timeout_seconds
        if seconds > longest:
            raise ValueError(f"must be at most {longest}")
        return seconds

    def to_target(self, checks: Checks) -> jobs.HttpTarget:
        """The target as it is kept."""
        private = check_url(self.url, _private_targets(checks)).private
        return jobs.HttpTarget(self.url, self.method, self.headers, self.timeout_seconds, private)


class SqsTargetBody(EdgeModel):
    """An SQS queue that the client's allowedQueueArns list."""

    type: Literal["sqs"]
    queue_arn: str
    message_group_id: str | None = Field(None, min_length=1, max_length=128, pattern=r"^[\x21-\x7e]+$")

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


class DefinitionBody(EdgeModel):
    """What a job does: the body of PUT, and most of a create."""

    not_built: ClassVar[frozenset[str]] = frozenset({"/orderingKey", "/sequence", "/relevancyWindowSeconds"})

    schedule: ScheduleBody
    target: Annotated[HttpTargetBody | SqsTargetBody, Discriminator("type")]
    payload: Any = Field(None, description=f"delivered as JSON, a string as it is; {LARGEST_PAYLOAD:,} bytes encoded")
    retry_policy: RetryPolicyBody = RetryPolicyBody()
    record: Literal["none", "full"] | None = Field(None, description="the client's unless given")
    tags: dict[Annotated[str, Field(min_length=1, max_length=64)], Annotated[str, Field(max_length=256)]] = Field(
        {}, max_length=20
    )

    @field_validator("payload")
    @classmethod
    def _fits(cls, value: Any, info: ValidationInfo) -> jobs.Payload:
        """From here on the payload is what will be sent: it is encoded once."""
        payload = payload_of(value)
        if len(payload.body) > LARGEST_PAYLOAD:
            raise ValueError(f"has {len(payload.body):,} bytes encoded, at most {LARGEST_PAYLOAD:,} are taken")
        if isinstance(info.data.get("target"), SqsTargetBody) and _is_refused_by_sqs(payload):
            raise ValueError("is empty or holds a control character, which SQS refuses")
        return payload

    @model_validator(mode="after")
    def _can_skip(self, info: ValidationInfo) -> Self:
        checks = checks_of(info)
        level = self.record or (checks.client.record if checks.client is not None else "full")
        if self.schedule.overlap == "skip" and level != "full":
            checks.report("/schedule/overlap", "skip needs the record level full")
        return self

    @property
    def encoded_payload(self) -> jobs.Payload:
        """The payload as it will be sent."""
        return self.payload or NO_PAYLOAD


class JobBody(DefinitionBody):
    """A job as it stands in a batch: named if it has a `jobKey`."""

    job_key: str | None = Field(
        None,
        json_schema_extra={"minLength": 1, "maxLength": ids.LONGEST_JOB_KEY},
        description=f"{JOB_KEY}: names the job among its client's; needed for every and cron",
    )

    @field_validator("job_key")
    @classmethod
    def _is_printable(cls, job_key: str | None) -> str | None:
        if job_key is not None and not ids.is_job_key(job_key):
            raise ValueError(f"must be {JOB_KEY}")
        return job_key

    @model_validator(mode="after")
    def _is_named(self, info: ValidationInfo) -> Self:
        if self.schedule.recurs and self.job_key is None:
            checks_of(info).report("/jobKey", "is required for a schedule that recurs")
        return self

    def to_new_job(self, checks: Checks, index: int = 0) -> NewJob:
        """The job as the flow takes it, if it is anonymous."""
        return NewJob(
            index=index,
            target=self.target.to_target(checks),
            payload=self.encoded_payload,
            at=None if self.schedule.at is None else instants.from_text(self.schedule.at),
            delay_ms=round((self.schedule.delay_seconds or 0) * 1000),
            record=self.record,
            retry_policy=self.retry_policy.to_policy(),
            tags=self.tags,
        )


class CreateJobBody(JobBody):
    """POST /v1/jobs."""

    client_id: str | None = Field(None, pattern=f"^{CLIENT_ID.pattern}$")


class PatchBody(RootModel[dict[str, Any]]):
    """PATCH /v1/jobs/{jobId}: what is named replaces what was sent, null leaves it out."""


class CreateBatchBody(EdgeModel):
    """POST /v1/jobs/batch. The jobs are validated one by one, so that a bad one does not stop the others."""

    client_id: str | None = Field(None, pattern=f"^{CLIENT_ID.pattern}$")
    jobs: list[Any] = Field(min_length=1, max_length=LARGEST_BATCH)


def payload_of(value: Any) -> jobs.Payload:
    """A string as it is, anything else as compact JSON."""
    if isinstance(value, str):
        return jobs.Payload(value.encode(), is_text=True)
    return jobs.Payload(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


#: What is delivered where no payload was given.
NO_PAYLOAD = payload_of(None)


def _is_refused_by_sqs(payload: jobs.Payload) -> bool:
    return payload.body == b"" or _REFUSED_BY_SQS.search(payload.body.decode()) is not None


def _private_targets(checks: Checks) -> tuple[str, ...]:
    return checks.client.allowed_private_targets if checks.client is not None else ()
