"""Messages that create and cancel jobs: read, bounded and validated as a request to POST /v1/jobs is.

The policy of the queue or the topic says who may send. A message may act for every client that exists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from clockwork.domain.clients import Client, present
from clockwork.domain.errors import InvalidRequest, Problem
from clockwork.domain.ids import digest_of, is_job_key
from clockwork.domain.requests.create import CreateRequest
from clockwork.edge.http.body import SINGLE_BYTES, canonical, parse
from clockwork.edge.http.checks import Checks
from clockwork.edge.http.models import EdgeModel, checks_of
from clockwork.edge.http.validation import validate
from clockwork.edge.requests.changes import ClientId
from clockwork.edge.requests.jobs import JobBody, as_sent
from clockwork.flows.access import Caller
from clockwork.flows.named.write import NamedRequest
from clockwork.flows.requests.ingest import Cancel, Command, Ingestion, IngestReport, Message, Rejects
from clockwork.flows.requests.quotas import Intake
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.flows.world import World


class CreateMessage(EdgeModel):
    """A job to create, once however often the message comes: by its idempotencyKey, or else by the message's id."""

    op: Literal["create"]
    client_id: ClientId
    idempotency_key: str | None = Field(None, pattern=r"^[\x21-\x7e]{1,255}$")
    job: Any


class CancelMessage(EdgeModel):
    """A job to cancel: by its id, or by its client and jobKey."""

    op: Literal["cancel"]
    client_id: ClientId | None = None
    job_id: str | None = None
    job_key: str | None = None

    @model_validator(mode="after")
    def _names_one_job(self, info: ValidationInfo) -> Self:
        if (self.job_id is None) == (self.job_key is None):
            checks_of(info).report("", "must have either jobId or jobKey")
        if self.job_key is not None and self.client_id is None:
            checks_of(info).report("/clientId", "is required with jobKey")
        if self.job_key is not None and not is_job_key(self.job_key):
            checks_of(info).report("/jobKey", "is none that a job could have")
        return self


def make_ingester(world: World, rejects: Rejects) -> Callable[[Sequence[Message]], IngestReport]:
    """The function that takes the batches of messages of one Lambda environment.

    It raises Unavailable if the shards cannot be read: then no message was taken.
    """
    intake, read = Intake(), partial(read_message, world)
    partitions = cache(partial(ensure_shards, world))
    return lambda messages: Ingestion(world, rejects, intake, partitions(), read).run(messages)


def read_message(world: World, message: Message) -> Command:
    """The command in a message. Raises NotJson, BodyTooLarge or InvalidRequest with every fault; Unavailable."""
    value = parse(message.body, SINGLE_BYTES)
    checks = Checks(world.clock.now(), world.settings)
    op = value.get("op") if isinstance(value, dict) else None
    if op == "create":
        return _create(world, message, validate(CreateMessage, value, checks), value)
    if op == "cancel":
        return _cancel(world, validate(CancelMessage, value, checks))
    raise InvalidRequest([Problem("/op", "must be one of 'create', 'cancel'")])


def _create(world: World, message: Message, wanted: CreateMessage, value: dict[str, Any]) -> Command:
    client = _client(world, wanted.client_id)
    checks = Checks(world.clock.now(), world.settings, client, pool_named=world.pools.get)
    job = _job(wanted.job, checks)
    if job.job_key is not None:
        definition = job.to_definition(checks, client)
        return NamedRequest(client=client, job_key=job.job_key, as_sent=as_sent(wanted.job), definition=definition)
    return CreateRequest(
        client=client,
        jobs=(job.to_new_job(checks),),
        idempotency_key=wanted.idempotency_key or message.message_id,
        digest=digest_of([b"message", canonical(value)]),
    )


def _job(value: Any, checks: Checks) -> JobBody:
    try:
        return validate(JobBody, value, checks)
    except InvalidRequest as faults:
        raise InvalidRequest(Problem(f"/job{one.pointer}", one.detail) for one in faults.problems) from None


def _cancel(world: World, wanted: CancelMessage) -> Cancel:
    if wanted.client_id is None:
        return Cancel(Caller("ingestion", is_admin=True), wanted.job_id)
    client = _client(world, wanted.client_id)
    caller = Caller("ingestion", client_ids=frozenset({client.client_id}))
    return Cancel(caller, wanted.job_id, client.client_id, wanted.job_key or "")


def _client(world: World, client_id: str) -> Client:
    client = present(world.clients.get(client_id))
    if client is None:
        raise InvalidRequest([Problem("/clientId", "is no client's")])
    return client
