"""The bodies of requests to create jobs and to change named ones, with all their bounds."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    RootModel,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from clockwork.domain import ids, jobs
from clockwork.domain.clients import CLIENT_ID, Client
from clockwork.domain.named_jobs import Definition
from clockwork.domain.ordering import LARGEST_SEQUENCE, LONGEST_ORDERING_KEY, LONGEST_RETRYING_SECONDS, in_order
from clockwork.domain.requests.create import NewJob, occurrence_of
from clockwork.domain.targets.envelopes import json_of
from clockwork.edge.http.checks import Checks, EdgeModel, checks_of
from clockwork.edge.http.fields import kept
from clockwork.edge.requests.aws_targets import EventBridgeTargetBody, LambdaTargetBody, SnsTargetBody, SqsTargetBody
from clockwork.edge.requests.policies import CompletionBody, RelevancyWindow, RetryPolicyBody
from clockwork.edge.requests.pool_target import PoolTargetBody
from clockwork.edge.requests.schedules import ScheduleBody, instant_of
from clockwork.edge.requests.targets import TargetBody, kept_target

LARGEST_PAYLOAD = 256 * 1024
#: These services take 256 KB, of which the envelope around a payload needs some; their quotas differ and change.
LARGEST_ENVELOPED = 240 * 1024
ENVELOPED = (LambdaTargetBody, EventBridgeTargetBody, SnsTargetBody)
LARGEST_BATCH = 500
#: The rule of `ids.is_job_key`, in words.
JOB_KEY = f"1-{ids.LONGEST_JOB_KEY} bytes of UTF-8, of visible characters and plain spaces alone"
#: Why a job with a `jobKey` cannot have the record level `none`.
ALWAYS_RECORDED = "must be full, or left out: a job with a jobKey is always recorded"
#: Characters that a message of SQS must not have:
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
_REFUSED_BY_SQS = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _job_key(value: str) -> str:
    if not ids.is_job_key(value):
        raise ValueError(f"must be {JOB_KEY}")
    return value


ClientId = Annotated[str, Field(pattern=f"^{CLIENT_ID.pattern}$")]
JobKey = Annotated[str, AfterValidator(_job_key)]


class DefinitionBody(EdgeModel):
    """What a job does: the body of PUT, and most of a create."""

    schedule: ScheduleBody
    target: TargetBody
    payload: Any = Field(None, description=f"delivered as JSON, a string as it is; {LARGEST_PAYLOAD:,} bytes encoded")
    retry_policy: RetryPolicyBody | None = Field(None, description="the client's unless given")
    relevancy_window_seconds: RelevancyWindow | None = Field(
        None, description="undelivered so long after it was due it ends EXPIRED; the client's unless given"
    )
    precision: jobs.Precision | None = Field(
        None, description="`second`: it starts up to a second late, and costs less; the client's unless given"
    )
    record: Literal["none", "full"] | None = Field(
        None, description="the client's unless given; a job with a jobKey is always recorded: full"
    )
    tags: dict[Annotated[str, Field(min_length=1, max_length=64)], Annotated[str, Field(max_length=256)]] = Field(
        {}, max_length=20
    )
    ordering_key: str | None = Field(
        None,
        min_length=1,
        max_length=LONGEST_ORDERING_KEY,
        description="jobs of a client with one key are delivered one after the other; needs the record level full",
    )
    sequence: int | None = Field(
        None, ge=0, le=LARGEST_SEQUENCE, description="breaks ties between jobs of one orderingKey; 0 unless given"
    )
    on_failure: TargetBody | None = Field(
        None, description="a target that is called back with the facts of each execution that ends DEAD"
    )

    completion: CompletionBody | None = Field(
        None, description="without it the target's answer ends an attempt; with it, a callback of the receiver does"
    )

    @field_validator("on_failure", mode="wrap")
    @classmethod
    def _points_to_itself(cls, value: Any, validated: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        """Validate it as the job's own target, and report its faults below its own pointer."""
        if isinstance(value, dict) and value.get("type") == "pool":
            raise ValueError("must not be a pool: nobody waits for the word of a worker on it")
        with checks_of(info).relocated("/target", "/onFailure"):
            return validated(value)

    @field_validator("payload")
    @classmethod
    def _fits(cls, value: Any, info: ValidationInfo) -> jobs.Payload:
        """Encode the payload as it will be sent, once for all that follows."""
        payload = payload_of(value)
        if len(payload.body) > LARGEST_PAYLOAD:
            raise ValueError(f"has {len(payload.body):,} bytes encoded, at most {LARGEST_PAYLOAD:,} are taken")
        target = info.data.get("target")
        if isinstance(target, SqsTargetBody | SnsTargetBody) and _is_refused_by_sqs(payload):
            raise ValueError(f"is empty or holds a control character, which {target.type.upper()} refuses")
        if isinstance(target, ENVELOPED) and len(json_of(payload)) > LARGEST_ENVELOPED:
            raise ValueError(f"is too large: {target.type} targets take {LARGEST_ENVELOPED:,} bytes of JSON")
        return payload

    @model_validator(mode="after")
    def _is_recorded(self, info: ValidationInfo) -> Self:
        checks = checks_of(info)
        if self.has_name and self.record == "none":
            checks.report("/record", ALWAYS_RECORDED)
        if self.has_name:
            return self
        level = self.record or (checks.client.record if checks.client is not None else "full")
        if self.ordering_key is not None and level != "full":
            checks.report("/orderingKey", "needs the record level full")
        if self.completion is not None and level != "full":
            checks.report("/completion", "needs the record level full")
        if isinstance(self.target, PoolTargetBody) and level != "full":
            checks.report("/target", "needs the record level full")
        return self

    @model_validator(mode="after")
    def _is_in_order(self, info: ValidationInfo) -> Self:
        checks, policy = checks_of(info), self.retry_policy
        if self.ordering_key is not None and self.completion is not None:
            checks.report("/orderingKey", "is not for jobs with completion: an attempt may take days")
        if isinstance(self.target, PoolTargetBody):
            self._is_for_workers(checks)
        if self.sequence is not None and self.ordering_key is None:
            checks.report("/sequence", "is for jobs with an orderingKey alone")
        given = policy is not None and "max_age_seconds" in policy.model_fields_set
        longest = 0.0 if policy is None or not given else policy.max_age_seconds
        if self.ordering_key is not None and longest > LONGEST_RETRYING_SECONDS:
            most = f"must be at most {LONGEST_RETRYING_SECONDS} for a job with an orderingKey"
            checks.report("/retryPolicy/maxAgeSeconds", most)
        return self

    def _is_for_workers(self, checks: Checks) -> None:
        if self.ordering_key is not None:
            checks.report("/orderingKey", "is not for pools: an attempt may take days")
        if self.completion is not None:
            checks.report("/completion", "is not for pools: a worker always tells how its attempt ended")

    @property
    def has_name(self) -> bool:
        """Whether the job has a `jobKey`: a definition without one of its own belongs to a job that has it."""
        return True

    def to_new_job(self, checks: Checks, index: int = 0) -> NewJob:
        """The job as the flow that creates anonymous jobs takes it. `index` is its place in the request."""
        return kept(
            NewJob,
            self,
            index=index,
            target=in_order(kept_target(self.target, checks), self.ordering_key),
            payload=self.payload or NO_PAYLOAD,
            at=instant_of(self.schedule.at),
            delay_ms=round((self.schedule.delay_seconds or 0) * 1000),
            retry_policy=self.retry_policy and self.retry_policy.to_policy(),
            sequence=self.sequence or 0,
            on_failure=self.on_failure and kept_target(self.on_failure, checks),
            completion=self.completion and self.completion.to_completion(),
        )

    def to_definition(self, checks: Checks, client: Client) -> Definition:
        """The definition of a named job, with its instants and its client's defaults resolved."""
        schedule, occurrence = self.schedule, occurrence_of(self.to_new_job(checks), client, checks.now)
        return kept(
            Definition,
            occurrence,
            schedule,
            record="full",
            at=None if schedule.recurs else schedule.to_instant(checks.now),
            recurrence=schedule.to_recurrence(checks.now) if schedule.recurs else None,
            sequence=None if self.ordering_key is None else occurrence.sequence,
        )


class JobBody(DefinitionBody):
    """A job as it stands in a batch: named if it has a `jobKey`."""

    job_key: JobKey | None = Field(
        None,
        json_schema_extra={"minLength": 1, "maxLength": ids.LONGEST_JOB_KEY},
        description=f"{JOB_KEY}: names the job among its client's; needed for every and cron",
    )

    @property
    def has_name(self) -> bool:
        """Whether the job has a `jobKey`."""
        return self.job_key is not None

    @model_validator(mode="after")
    def _is_named(self, info: ValidationInfo) -> Self:
        if self.schedule.recurs and self.job_key is None:
            checks_of(info).report("/jobKey", "is required for a schedule that recurs")
        return self


class CreateJobBody(JobBody):
    """POST /v1/jobs."""

    client_id: ClientId | None = None


class PatchBody(RootModel[dict[str, Any]]):
    """PATCH /v1/jobs/{jobId}: what is named replaces what was sent, null leaves it out."""


class CreateBatchBody(EdgeModel):
    """POST /v1/jobs/batch. The jobs are validated one by one, so that a bad one does not stop the others."""

    client_id: ClientId | None = None
    jobs: list[Any] = Field(min_length=1, max_length=LARGEST_BATCH)


def payload_of(value: Any) -> jobs.Payload:
    """The payload encoded: a string as it is, any other value as compact JSON."""
    if isinstance(value, str):
        return jobs.Payload(value.encode(), is_text=True)
    return jobs.Payload(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


#: The payload of a job whose request gives none.
NO_PAYLOAD = payload_of(None)


def _is_refused_by_sqs(payload: jobs.Payload) -> bool:
    return payload.body == b"" or _REFUSED_BY_SQS.search(payload.body.decode()) is not None
