"""The bodies of requests to create jobs and to change named ones, with all their bounds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, field
from msgspec.structs import replace

from clockwork.domain import ids
from clockwork.domain.clients import CLIENT_ID, Client
from clockwork.domain.ids import digest_of
from clockwork.domain.named_jobs import Definition
from clockwork.domain.ordering import LARGEST_SEQUENCE, LONGEST_ORDERING_KEY, LONGEST_RETRYING_SECONDS
from clockwork.domain.policies import Precision
from clockwork.domain.requests.create import NewJob, occurrence_of
from clockwork.domain.workflows.definition import WorkflowTarget
from clockwork.edge.http.body import canonical
from clockwork.edge.http.checks import Checks
from clockwork.edge.http.fields import kept
from clockwork.edge.http.forms import Earlier, FieldCheck, Form
from clockwork.edge.requests.policies import RELEVANCY_WINDOW, CompletionBody, RetryPolicyBody
from clockwork.edge.requests.schedules import ScheduleBody, instant_of, recurs
from clockwork.edge.requests.targets import TargetBody, kept_target
from clockwork.edge.requests.workflows import WorkflowTargetBody, kept_job_target
from clockwork.targets.message import Payload
from clockwork.targets.pool import PoolTarget

LARGEST_PAYLOAD = 256 * 1024
LARGEST_BATCH = 500
#: The rule of `ids.is_job_key`, in words.
JOB_KEY = f"1-{ids.LONGEST_JOB_KEY} bytes of UTF-8, of visible characters and plain spaces alone"
#: Why a job with a `jobKey` cannot have the record level `none`.
ALWAYS_RECORDED = "must be full, or left out: a job with a jobKey is always recorded"
#: Names of a request that are no part of a job's definition.
NOT_DEFINITION = ("clientId", "jobKey")


def is_job_key(value: str) -> str:
    """The jobKey, if it may be one. Raises ValueError."""
    if not ids.is_job_key(value):
        hidden = ids.hidden_in(value)
        raise ValueError(f"must be {JOB_KEY}" + (f"; it holds {_named(hidden)}" if hidden else ""))
    return value


def all_seen(value: str) -> str:
    """The name, if a reader sees all of it. Raises ValueError."""
    if hidden := ids.hidden_in(value):
        raise ValueError(f"must be of visible characters and plain spaces alone; it holds {_named(hidden)}")
    return value


def _with_seen_names(tags: dict[str, str], _: Checks, __: Earlier) -> dict[str, str]:
    for name in tags:
        all_seen(name)
    return tags


def _named(character: str) -> str:
    return f"U+{ord(character):04X}"


def _fits(value: Any, _: Checks, earlier: Earlier) -> Payload:
    """Encode the payload as it will be sent, once for all that follows."""
    payload = payload_of(value)
    if len(payload.body) > LARGEST_PAYLOAD:
        raise ValueError(f"has {len(payload.body):,} bytes encoded, at most {LARGEST_PAYLOAD:,} are taken")
    target = earlier("target")
    if target is not None and (fault := target.kept_as.fault_of_payload(payload, target)) is not None:
        raise ValueError(fault)
    return payload


CLIENT_ID_TEXT = Meta(pattern=rf"^{CLIENT_ID.pattern}\Z")
JOB_KEY_TEXT = Meta(extra_json_schema={"minLength": 1, "maxLength": ids.LONGEST_JOB_KEY})


class DefinitionBody(Form, kw_only=True):
    """The definition of a job: the body of PUT, and most of a create."""

    schedule: ScheduleBody
    target: TargetBody | WorkflowTargetBody
    payload: Annotated[
        Any, Meta(description=f"delivered as JSON, a string as it is; {LARGEST_PAYLOAD:,} bytes encoded")
    ] = None
    retry_policy: Annotated[RetryPolicyBody | None, Meta(description="the client's unless given")] = None
    relevancy_window_seconds: (
        Annotated[
            float,
            RELEVANCY_WINDOW,
            Meta(description="undelivered so long after it was due it ends EXPIRED; the client's unless given"),
        ]
        | None
    ) = None
    precision: Annotated[
        Precision | None,
        Meta(description="`second`: it starts up to a second late, and costs less; the client's unless given"),
    ] = None
    record: Annotated[
        Literal["none", "full"] | None,
        Meta(description="the client's unless given; a job with a jobKey is always recorded: full"),
    ] = None
    tags: Annotated[
        dict[Annotated[str, Meta(min_length=1, max_length=64)], Annotated[str, Meta(max_length=256)]],
        Meta(max_length=20),
    ] = field(default_factory=dict)
    ordering_key: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=LONGEST_ORDERING_KEY,
                description="jobs of a client with one key are delivered one after the other; "
                "needs the record level full",
            ),
        ]
        | None
    ) = None
    sequence: (
        Annotated[
            int,
            Meta(ge=0, le=LARGEST_SEQUENCE, description="breaks ties between jobs of one orderingKey; 0 unless given"),
        ]
        | None
    ) = None
    on_failure: Annotated[
        TargetBody | None,
        Meta(description="a target that is called back with the facts of each execution that ends DEAD"),
    ] = None
    completion: Annotated[
        CompletionBody | None,
        Meta(description="without it the target's answer ends an attempt; with it, the receiver or AWS does"),
    ] = None

    field_checks: ClassVar[Mapping[str, FieldCheck]] = {
        "payload": _fits,
        "tags": _with_seen_names,
        "ordering_key": lambda value, _, __: None if value is None else all_seen(value),
    }
    relocated: ClassVar[Mapping[str, tuple[str, str]]] = {"on_failure": ("/target", "/onFailure")}

    @classmethod
    def before(cls, value: dict[str, Any], checks: Checks) -> None:
        """Report a callback to a pool."""
        called_back = value.get("onFailure")
        if isinstance(called_back, dict) and called_back.get("type") == "pool":
            checks.report("/onFailure", "must not be a pool: nobody waits for the word of a worker on it")

    def after(self, value: dict[str, Any], checks: Checks) -> None:
        """Report a record level or a retry policy that does not go with the rest."""
        kept_as = self.target.kept_as
        if self.payload is None and (fault := kept_as.fault_of_payload(NO_PAYLOAD, self.target)) is not None:
            checks.report("/payload", fault)
        self._is_recorded(checks)
        self._is_in_order(value.get("retryPolicy"), checks)

    def _is_recorded(self, checks: Checks) -> None:
        if self.has_name and self.record == "none":
            checks.report("/record", ALWAYS_RECORDED)
        if self.has_name:
            return
        level = self.record or (checks.client.record if checks.client is not None else "full")
        if self.ordering_key is not None and level != "full":
            checks.report("/orderingKey", "needs the record level full")
        if self.completion is not None and level != "full":
            checks.report("/completion", "needs the record level full")
        if issubclass(self.target.kept_as, (PoolTarget, WorkflowTarget)) and level != "full":
            checks.report("/target", "needs the record level full")

    def _is_in_order(self, sent_policy: dict[str, Any] | None, checks: Checks) -> None:
        if self.ordering_key is not None and self.completion is not None:
            checks.report("/orderingKey", "is not for jobs with completion: an attempt may take days")
        if self.ordering_key is not None and issubclass(self.target.kept_as, PoolTarget):
            checks.report("/orderingKey", "is not for pools: an attempt may take days")
        if issubclass(self.target.kept_as, WorkflowTarget):
            self._is_for_nodes(checks)
        elif self.completion is not None and (fault := self.completion.fault_of(self.target)) is not None:
            checks.report("/completion", fault)
        if self.sequence is not None and self.ordering_key is None:
            checks.report("/sequence", "is for jobs with an orderingKey alone")
        # What a policy leaves out is cut to fit; what it asks for is not.
        given = self.retry_policy is not None and "maxAgeSeconds" in (sent_policy or {})
        longest = self.retry_policy.max_age_seconds if given and self.retry_policy is not None else 0.0
        if self.ordering_key is not None and longest > LONGEST_RETRYING_SECONDS:
            most = f"must be at most {LONGEST_RETRYING_SECONDS} for a job with an orderingKey"
            checks.report("/retryPolicy/maxAgeSeconds", most)

    def _is_for_nodes(self, checks: Checks) -> None:
        if self.ordering_key is not None:
            checks.report("/orderingKey", "is not for workflows: a run may take days")
        if self.completion is not None:
            checks.report("/completion", "is not for workflows: each node has its own")
        if self.retry_policy is not None:
            checks.report("/retryPolicy", "is not for workflows: each node has its own")

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
            target=kept_job_target(self.target, checks, self.ordering_key),
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
        schedule = self.schedule
        # The fires of a schedule that recurs would make one trace that never ends.
        traced = replace(checks, traceparent="") if schedule.recurs else checks
        occurrence = occurrence_of(self.to_new_job(traced), client, checks.now)
        return kept(
            Definition,
            occurrence,
            schedule,
            at=None if schedule.recurs else schedule.to_instant(checks.now),
            recurrence=schedule.to_recurrence(checks.now) if schedule.recurs else None,
            sequence=None if self.ordering_key is None else occurrence.sequence,
        )


class JobBody(DefinitionBody):
    """A job as it stands in a batch: named if it has a `jobKey`."""

    job_key: (
        Annotated[
            str,
            JOB_KEY_TEXT,
            Meta(description=f"{JOB_KEY}: names the job among its client's; needed for every and cron"),
        ]
        | None
    ) = None

    field_checks: ClassVar[Mapping[str, FieldCheck]] = {
        **DefinitionBody.field_checks,
        "job_key": lambda value, _, __: is_job_key(value),
    }

    @property
    def has_name(self) -> bool:
        """Whether the job has a `jobKey`."""
        return self.job_key is not None

    @classmethod
    def before(cls, value: dict[str, Any], checks: Checks) -> None:
        """Report, too, a schedule that recurs without a name for the job, whatever else is wrong with either."""
        super().before(value, checks)
        if recurs(value.get("schedule")) and value.get("jobKey") is None:
            checks.report("/jobKey", 'is required for a schedule that recurs, for example "daily-invoice"')


class CreateJobBody(JobBody):
    """POST /v1/jobs."""

    client_id: Annotated[str, CLIENT_ID_TEXT] | None = None


class CreateBatchBody(Form, kw_only=True):
    """POST /v1/jobs/batch. The jobs are validated one by one, so that a bad one does not stop the others."""

    client_id: Annotated[str, CLIENT_ID_TEXT] | None = None
    jobs: Annotated[list[Any], Meta(min_length=1, max_length=LARGEST_BATCH)]


def as_sent(value: dict[str, Any]) -> bytes:
    """A definition as its client wrote it, in canonical JSON: one text for equal values.

    It has only the digest of the payload. The job has the payload already, and a row cannot hold the largest one twice.
    """
    written = {name: part for name, part in value.items() if name not in NOT_DEFINITION}
    if "payload" in written:
        written["payload"] = digest_of([canonical(written["payload"])])
    return canonical(written)


def payload_of(value: Any) -> Payload:
    """The payload encoded: a string as it is, any other value as compact JSON."""
    if isinstance(value, str):
        return Payload(value.encode(), is_text=True)
    return Payload(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


#: The payload of a job whose request gives none.
NO_PAYLOAD = payload_of(None)
