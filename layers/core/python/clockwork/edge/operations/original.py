"""The original Clockwork's wire format: POST and DELETE /schedule, on top of named, ordered jobs."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from pydantic import Field, ValidationInfo, model_validator

from clockwork.domain import instants
from clockwork.domain.clients import Client
from clockwork.domain.errors import InvalidRequest, NameTaken, NotScheduled
from clockwork.domain.executions import Execution, State
from clockwork.domain.named.changes import cancelled
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.ordering import LONGEST_ORDERING_KEY
from clockwork.domain.requests.create import FURTHEST_AHEAD_MS
from clockwork.domain.requests.trail import Note
from clockwork.edge.http.answer import PlainText
from clockwork.edge.http.body import SINGLE_BYTES, read_body
from clockwork.edge.http.checks import Checks
from clockwork.edge.http.models import EdgeModel, checks_of
from clockwork.edge.http.request import Request
from clockwork.edge.http.validation import validate
from clockwork.edge.operations.base import Answer, Operations
from clockwork.edge.requests.changes import ClientId, JobKey
from clockwork.edge.requests.jobs import JOB_KEY, LARGEST_PAYLOAD, DefinitionBody, as_sent
from clockwork.edge.requests.targets import FORMS
from clockwork.flows import access
from clockwork.flows.access import get_by_key
from clockwork.flows.named import write
from clockwork.flows.world import World


class DeliveryBody(EdgeModel):
    """Where a job goes: to a Kafka topic, or to a URL."""

    topic: str | None = None
    url: str | None = None

    @model_validator(mode="after")
    def _is_allowed(self, info: ValidationInfo) -> DeliveryBody:
        if (self.topic is None) == (self.url is None):
            raise ValueError("must have just one of topic and url")
        checks = checks_of(info)
        # It is validated as the target of a job, whose faults have other pointers.
        try:
            validate(FORMS[self.sent["type"]], self.sent, Checks(checks.now, checks.settings, checks.client))
        except InvalidRequest as invalid:
            for fault in invalid.problems:
                checks.report("/delivery/topic" if self.url is None else "/delivery/url", fault.detail)
        return self

    @property
    def sent(self) -> dict[str, Any]:
        """The target as requests on the other routes write it."""
        return {"type": "kafka", "topic": self.topic} if self.url is None else {"type": "http", "url": self.url}


class OriginalScheduleBody(EdgeModel):
    """POST /schedule."""

    client_id: ClientId
    schedule_key: JobKey = Field(description=f"{JOB_KEY}: unique among the client's jobs")
    ordering_key: str = Field(min_length=1, max_length=LONGEST_ORDERING_KEY)
    task_data: str = Field(min_length=1, description=f"delivered as it is; {LARGEST_PAYLOAD:,} bytes at most")
    delivery: DeliveryBody
    schedule_time: int = Field(description="epoch ms; past is now, at most 10 years ahead")

    @model_validator(mode="after")
    def _is_in_bounds(self, info: ValidationInfo) -> OriginalScheduleBody:
        checks = checks_of(info)
        if self.schedule_time > checks.now + FURTHEST_AHEAD_MS:
            checks.report("/scheduleTime", "is more than 10 years (3,650 days) ahead")
        if len(self.task_data.encode()) > LARGEST_PAYLOAD:
            checks.report("/taskData", f"has more than {LARGEST_PAYLOAD:,} bytes")
        return self

    def sent(self, earliest: int) -> dict[str, Any]:
        """The definition as requests on the other routes write it, due at `earliest` (ms) or later."""
        return {
            "schedule": {"at": instants.to_text(max(earliest, self.schedule_time))},
            "target": self.delivery.sent,
            "payload": self.task_data,
            "orderingKey": self.ordering_key,
            "record": "full",
        }


class OriginalCancelBody(EdgeModel):
    """DELETE /schedule."""

    client_id: ClientId
    schedule_key: JobKey


def schedule(
    world: World, client: Client, body: OriginalScheduleBody, checks: Checks, partitions: Sequence[str]
) -> write.Written:
    """Create the job, or find that it was created already. Raises NameTaken if another job has its key."""
    job = validate(DefinitionBody, body.sent(checks.now), checks)
    request = write.NamedRequest(
        client=client,
        job_key=body.schedule_key,
        # Repeats are recognised, and the job is shown, by the time that was asked for, even if that is past.
        as_sent=as_sent(body.sent(0)),
        definition=job.to_definition(checks, client),
        gives_up_key=True,
    )
    try:
        return write.create_named(world, request, partitions)
    except NameTaken:
        stored = get_by_key(world, client.client_id, body.schedule_key)
        about = "" if stored is None else f", job {stored.job_id}, due at {stored.definition.at}"
        detail = f"the scheduleKey {body.schedule_key!r} belongs to another job that has not ended{about}"
        raise NameTaken(detail, ()) from None


def cancel(world: World, client: Client, schedule_key: str, note: Note) -> None:
    """Cancel the job under a key; `note` is called before anything is written.

    Raises NotScheduled if there is none to cancel, or it may still be delivered.
    """
    job = get_by_key(world, client.client_id, schedule_key)
    if job is None or job.created_at < client.since_at:
        raise NotScheduled(f"there is no job under the scheduleKey {schedule_key!r}")
    if not job.is_alive:
        raise NotScheduled(f"the job under the scheduleKey {schedule_key!r} is cancelled already")
    if write.has_ended(world, job):
        raise NotScheduled(f"the job under the scheduleKey {schedule_key!r} was delivered or has ended already")
    written = write.change(world, job, None, cancelled(None), note)
    if written.running:
        raise NotScheduled("an attempt is under way and may still be delivered; no other follows")
    if _was_delivered(world, job):
        raise NotScheduled(f"the job under the scheduleKey {schedule_key!r} was delivered just before")


def _was_delivered(world: World, job: NamedJob) -> bool:
    """Whether the job was delivered between the check that it had not ended and the cancel."""
    found: list[Execution] = list(world.executions.list(job.job_id, 1, None))
    return any(one.state is State.SUCCEEDED for one in found)


class OriginalApi(Operations):
    """The operation on DELETE /schedule; that on POST /schedule stands with the others that create jobs."""

    def delete_schedule(self, request: Request) -> Answer:
        """DELETE /schedule."""
        value = read_body(request.event, SINGLE_BYTES)
        client = access.client_for(self.world, request.caller, request.named_client(value))
        body = validate(OriginalCancelBody, value, self._checks(request, client))
        self._changing(request, client.client_id)
        with self._noting(request, "deleteSchedule", job_key=body.schedule_key) as note:
            cancel(self.world, client, body.schedule_key, note)
        return HTTPStatus.OK, PlainText(body.schedule_key)
