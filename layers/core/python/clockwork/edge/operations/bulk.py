"""The routes that change many: named jobs by one call, and operations that sweeps run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Literal

import msgspec
from pydantic import Field, ValidationInfo, field_validator, model_validator

from clockwork.domain.errors import InvalidRequest, Problem, Unreadable
from clockwork.domain.lifecycle.ownership import told_of_unreadable
from clockwork.domain.named.changes import Change, cancelled
from clockwork.domain.named.many import has_tag, is_left_paused, pausing, resuming
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.requests.quotas import admitted, creates_of
from clockwork.edge.http.body import SINGLE_BYTES, read_body
from clockwork.edge.http.models import checks_of
from clockwork.edge.http.pages import PageTokens
from clockwork.edge.http.request import Request
from clockwork.edge.http.validation import Body, validate
from clockwork.edge.operations.base import Answer, Operations
from clockwork.edge.requests.changes import ReasonBody, beginning_of_key
from clockwork.edge.requests.operations import OperationBody
from clockwork.edge.responses.bulk import HandledJobs, Operation, OperationPage
from clockwork.flows import access
from clockwork.flows.operations import begin
from clockwork.flows.requests.bulk import Which, change_jobs

#: Jobs that one call changes at the most. Each change is some calls to the tables.
MOST_CHANGED = 100


class JobFilterBody(ReasonBody):
    """POST /v1/clients/{clientId}/jobs/cancel: which named jobs, and how many by this call."""

    prefix: str | None = Field(None, description="of the jobKey")
    tag: str | None = Field(None, min_length=1, max_length=600, description="`name`, or `name=value`")
    limit: int = Field(MOST_CHANGED, ge=1, le=MOST_CHANGED, description="jobs changed by this call")
    next_token: str | None = Field(None, description="as the call before answered it")

    @field_validator("prefix")
    @classmethod
    def _begins_a_key(cls, prefix: str | None, info: ValidationInfo) -> str | None:
        return beginning_of_key(prefix, info)

    @model_validator(mode="after")
    def _means_some(self, info: ValidationInfo) -> JobFilterBody:
        if self.prefix is None and self.tag is None:
            checks_of(info).report("", "name the jobs: a prefix, a tag, or both")
        return self


class WaitingFilterBody(JobFilterBody):
    """POST /v1/clients/{clientId}/jobs/pause."""

    waiting: Literal["keep", "cancel"] = Field(
        "keep", description="what was due before the pause and waits: it goes on, or is cancelled"
    )


class ResumeFilterBody(WaitingFilterBody):
    """POST /v1/clients/{clientId}/jobs/resume."""

    paused_reason: str | None = Field(
        None, max_length=1_024, description="leaves alone what was paused for another reason than just this one"
    )


class BulkApi(Operations):
    """The operations on many named jobs of one client."""

    def pause_jobs(self, request: Request) -> Answer:
        """POST /v1/clients/{clientId}/jobs/pause."""

        def change_of(body: WaitingFilterBody, job: NamedJob) -> Change | None:
            return pausing(job, body.reason, cancels=body.waiting == "cancel", by=request.caller.principal)

        return self._change_all(request, "pauseJobs", WaitingFilterBody, change_of, stops=True)

    def resume_jobs(self, request: Request) -> Answer:
        """POST /v1/clients/{clientId}/jobs/resume."""

        def change_of(body: ResumeFilterBody, job: NamedJob) -> Change | None:
            return resuming(job, body.reason, cancels=body.waiting == "cancel")

        return self._change_all(request, "resumeJobs", ResumeFilterBody, change_of)

    def cancel_jobs(self, request: Request) -> Answer:
        """POST /v1/clients/{clientId}/jobs/cancel."""

        def change_of(body: JobFilterBody, _: NamedJob) -> Change:
            return cancelled(body.reason)

        return self._change_all(request, "cancelJobs", JobFilterBody, change_of, stops=True)

    def begin_operation(self, request: Request) -> Answer:
        """POST /v1/clients/{clientId}/operations: the operation, which the next sweep begins to run."""
        client = access.client_for(self.world, request.caller, request.path["clientId"])
        body = validate(OperationBody, read_body(request.event, SINGLE_BYTES), self._checks(request, client))
        self._changing(request, client.client_id)
        with self._noting(request, "beginOperation", body) as note:
            made = begin.begin(self.world, client, body.asked(request.caller.principal), request.idempotency_key, note)
        return HTTPStatus.ACCEPTED, Operation.of(made, self.world.clock.now())

    def list_operations(self, request: Request) -> Answer:
        """GET /v1/clients/{clientId}/operations: the newest first."""
        client = access.client_for(self.world, request.caller, request.path["clientId"])
        limit = request.limit()
        tokens = PageTokens(self.world, "listOperations", client.client_id, client.since_at)
        before = tokens.position_of(request.query.get("nextToken"))
        self._looking(request, client.client_id)
        found = self.world.operations.list(client.client_id, limit, before)
        now = self.world.clock.now()
        kept = [one for _, one in found if not isinstance(one, Unreadable)]
        own = [Operation.of(one, now) for one in kept if one.since_at == client.since_at]
        goes_on = found[-1][0] if len(found) == limit else None
        unreadable = told_of_unreadable(client.since_at, [one for one, each in found if isinstance(each, Unreadable)])
        return HTTPStatus.OK, OperationPage(own, len(unreadable), tokens.token_of(goes_on))

    def get_operation(self, request: Request) -> Answer:
        """GET /v1/clients/{clientId}/operations/{operationId}."""
        client = access.client_for(self.world, request.caller, request.path["clientId"])
        self._looking(request, client.client_id)
        found = begin.find(self.world, client, request.path["operationId"])
        return HTTPStatus.OK, Operation.of(found, self.world.clock.now())

    def stop_operation(self, request: Request) -> Answer:
        """POST /v1/clients/{clientId}/operations/{operationId}/stop."""
        client = access.client_for(self.world, request.caller, request.path["clientId"])
        body = self._optional(request, ReasonBody)
        self._changing(request, client.client_id)
        with self._noting(request, "stopOperation", body) as note:
            found = begin.stop(self.world, client, request.path["operationId"], request.caller.principal, note)
        return HTTPStatus.OK, Operation.of(found, self.world.clock.now())

    def _change_all(
        self,
        request: Request,
        action: str,
        model: type[Body],
        change_of: Callable[[Body, NamedJob], Change | None],
        *,
        stops: bool = False,
    ) -> Answer:
        """`stops`: the call is a brake, which no cap may refuse."""
        if request.revision() is not None:
            raise InvalidRequest([Problem("", "the If-Match header names the revision of one job; this is about many")])
        client = access.client_for(self.world, request.caller, request.path["clientId"])
        body = self._optional(request, model)
        assert isinstance(body, JobFilterBody)
        tokens = PageTokens(self.world, action, client.client_id, client.since_at)
        after = tokens.position_of(body.next_token, "/nextToken")
        self._changing(request, client.client_id)
        until = self._until()
        is_let_in = stops or request.caller.is_admin
        admit = admitted if is_let_in else partial(self.intake.admit_work, self.world, client)
        admit(0)  # before anything is read
        with self._noting(request, action, body) as note:
            handled = change_jobs(
                self.world,
                client.client_id,
                _which(body),
                after,
                partial(change_of, body),
                until,
                admit=admit,
                note=note,
            )
        if not handled.changed and not request.caller.is_admin:
            looked_at = handled.matched - len(handled.passed)
            self.intake.owe_work(self.world, client, creates_of(handled.read, looked_at))
        handled = msgspec.structs.replace(handled, unreadable=told_of_unreadable(client.since_at, handled.unreadable))
        return HTTPStatus.OK, HandledJobs.of(handled, tokens.token_of(handled.next_after))


def _which(body: JobFilterBody) -> Which:
    is_tagged = has_tag(body.tag)

    def is_meant(job: NamedJob) -> bool:
        is_left = isinstance(body, ResumeFilterBody) and is_left_paused(body.paused_reason, job)
        return job.is_alive and is_tagged(job) and not is_left

    return Which(body.prefix, is_meant, body.limit)
