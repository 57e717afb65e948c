"""What the routes of named jobs do: who asks, what is asked, the flow, the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from clockwork.domain import instants
from clockwork.domain.clients import Client
from clockwork.domain.errors import InvalidRequest, JobNotFound, Problem
from clockwork.domain.ids import digest_of
from clockwork.domain.jobs import RetryPolicy, is_signed
from clockwork.domain.named_jobs import Definition, JobState, NamedJob
from clockwork.domain.ordering import policy_of
from clockwork.edge.http.body import SINGLE_BYTES, canonical, read_body
from clockwork.edge.http.checks import Checks, validate
from clockwork.edge.http.pages import page
from clockwork.edge.http.request import Request
from clockwork.edge.requests.jobs import DefinitionBody
from clockwork.edge.requests.schedules import BackfillBody, EmptyBody, PreviewBody, ReasonBody
from clockwork.edge.responses import named_jobs as answers
from clockwork.edge.responses.targets import shown_payload
from clockwork.flows import access
from clockwork.flows.access import get_named
from clockwork.flows.named import trigger, write
from clockwork.flows.named.repair import check_chain
from clockwork.flows.requests.read import list_jobs
from clockwork.flows.world import World

Answer = tuple[HTTPStatus, Any]
MOST_LISTED = 1_000
LISTED = 100
#: Names of a request that are no part of a job's definition.
NOT_DEFINITION = ("clientId", "jobKey")


def definition_of(body: DefinitionBody, checks: Checks, client: Client) -> Definition:
    """The definition that a valid body comes to, with its instants resolved."""
    schedule, target, on_failure = body.schedule, body.target_in_order(checks), body.callback_target(checks)
    return Definition(
        target=target,
        payload=body.encoded_payload,
        record=body.record or client.record,
        at=None if schedule.recurs else schedule.to_instant(checks.now),
        recurrence=schedule.to_recurrence(checks.now) if schedule.recurs else None,
        retry_policy=_policy_of(body, client),
        signing_secrets=client.signing_secrets if is_signed(target, on_failure) else (),
        tags=body.tags,
        catch_up=schedule.catch_up,
        catch_up_window_seconds=schedule.catch_up_window_seconds,
        overlap=schedule.overlap,
        relevancy_window_seconds=body.relevancy_window_seconds or client.relevancy_window_seconds,
        retention_days=client.retention_days,
        ordering_key=body.ordering_key,
        sequence=None if body.ordering_key is None else body.sequence or 0,
        on_failure=on_failure,
    )


def _policy_of(body: DefinitionBody, client: Client) -> RetryPolicy:
    own = None if body.retry_policy is None else body.retry_policy.to_policy()
    return policy_of(own or client.retry_policy or RetryPolicy(), body.ordering_key)


def as_sent(value: dict[str, Any]) -> bytes:
    """A definition as its client wrote it, in one text for equal values.

    Of the payload only its digest: the job has it already, and twice the largest is more than a row may hold.
    """
    written = {name: part for name, part in value.items() if name not in NOT_DEFINITION}
    if "payload" in written:
        written["payload"] = digest_of([canonical(written["payload"])])
    return canonical(written)


def sent(job: NamedJob) -> dict[str, Any]:
    """The definition that its client wrote."""
    written: dict[str, Any] = json.loads(job.as_sent)
    if "payload" in written:
        written["payload"] = shown_payload(job.definition.payload)
    return written


class NamedApi:
    """The operations on named jobs of one Lambda environment."""

    world: World

    def list_jobs(self, request: Request) -> Answer:
        """GET /v1/jobs: named jobs in the order of their keys."""
        client = access.client_for(self.world, request.caller, request.query.get("clientId"))
        limit = request.number("limit", LISTED, MOST_LISTED)
        now = self.world.clock.now()
        wanted = _filter_of(request, now)
        found = list_jobs(self.world, client.client_id, request.prefix(), request.job_token(), limit, wanted)
        shown = ((request.token_of(job.job_key), answers.JobSummary.of(job, now)) for job in found.jobs)
        return HTTPStatus.OK, answers.JobPage(*page(shown, found.next_after and request.token_of(found.next_after)))

    def put_job(self, request: Request) -> Answer:
        """PUT /v1/jobs/{jobId}: replaces the definition whole."""
        job = self._changeable(request)
        return self._replace(request, job, read_body(request.event, SINGLE_BYTES))

    def patch_job(self, request: Request) -> Answer:
        """PATCH /v1/jobs/{jobId}: a merge patch (RFC 7396) on the definition as it was sent."""
        job = self._changeable(request)
        patch = read_body(request.event, SINGLE_BYTES)
        return self._replace(request, job, merged(sent(job), patch))

    def pause_job(self, request: Request) -> Answer:
        """POST /v1/jobs/{jobId}/pause."""
        job = self._changeable(request)
        body = validate(ReasonBody, self._optional_body(request), self._checks(request))
        return self._change(request, job, write.paused(body.reason), JobState.PAUSED)

    def resume_job(self, request: Request) -> Answer:
        """POST /v1/jobs/{jobId}/resume."""
        job = self._changeable(request)
        body = validate(ReasonBody, self._optional_body(request), self._checks(request))
        return self._change(request, job, write.resumed(body.reason), JobState.ACTIVE)

    def run_job(self, request: Request) -> Answer:
        """POST /v1/jobs/{jobId}/run: once, now, whatever the schedule says."""
        job = self._changeable(request)
        validate(EmptyBody, self._optional_body(request), self._checks(request))
        execution_id = trigger.run_now(self.world, job, request.idempotency_key)
        return HTTPStatus.ACCEPTED, answers.StartedRun(execution_id)

    def backfill_job(self, request: Request) -> Answer:
        """POST /v1/jobs/{jobId}/backfill."""
        job = self._changeable(request)
        body = validate(BackfillBody, read_body(request.event, SINGLE_BYTES), self._checks(request))
        planned = trigger.backfill(
            self.world,
            job,
            instants.from_text(body.from_),
            instants.from_text(body.to),
            body.max_per_second,
            request.idempotency_key,
        )
        return HTTPStatus.ACCEPTED, answers.StartedBackfill(planned.backfill_id, planned.count)

    def preview_schedule(self, request: Request) -> Answer:
        """POST /v1/schedules/preview: nothing is saved."""
        access.require_known(self.world, request.caller)
        checks = self._checks(request)
        body = validate(PreviewBody, read_body(request.event, SINGLE_BYTES), checks)
        schedule, now = body.schedule, checks.now
        recurrence = schedule.to_recurrence(now) if schedule.recurs else None
        at = 0 if schedule.recurs else schedule.to_instant(now)
        return HTTPStatus.OK, answers.Preview.of(recurrence, at, body.count, now)

    def _show_named(self, caller: access.Caller, job_id: str) -> Answer:
        job = get_named(self.world, caller, job_id)
        check_chain(self.world, job)
        last = next(iter(self.world.executions.list(job_id, 1, None)), None)
        return HTTPStatus.OK, answers.ShownNamedJob.whole(job, last, self.world.clock.now())

    def _cancel_named(self, request: Request, caller: access.Caller) -> Answer:
        job = get_named(self.world, caller, request.path["jobId"])
        if not job.is_alive:
            return HTTPStatus.OK, answers.deletion(write.unchanged(self.world, job))
        return HTTPStatus.OK, answers.deletion(write.change(self.world, job, request.revision(), write.cancelled(None)))

    def _changeable(self, request: Request) -> NamedJob:
        """The named job of the path, if it is the caller's and lives."""
        caller = access.require_known(self.world, request.caller)
        job = get_named(self.world, caller, request.path["jobId"])
        if not job.is_alive:
            raise JobNotFound(job.job_id)
        return job

    def _replace(self, request: Request, job: NamedJob, value: Any) -> Answer:
        client = self.world.clients.get(job.client_id)
        if client is None:
            raise JobNotFound(job.job_id)
        checks = self._checks(request, client)
        body = validate(DefinitionBody, value, checks)
        written = as_sent(value)
        now = self.world.clock.now()
        if written == job.as_sent:
            return HTTPStatus.OK, answers.ChangedJob.after(write.unchanged(self.world, job), now)
        definition = definition_of(body, checks, client)
        same_schedule = canonical(value["schedule"]) == canonical(json.loads(job.as_sent)["schedule"])
        if same_schedule:
            definition = write.with_schedule_of(job, definition)
        change = write.replaced(definition, written, same_schedule=same_schedule)
        return HTTPStatus.OK, answers.ChangedJob.after(write.change(self.world, job, request.revision(), change), now)

    def _change(self, request: Request, job: NamedJob, change: write.Change, wanted: JobState) -> Answer:
        now = self.world.clock.now()
        if job.state is wanted:
            return HTTPStatus.OK, answers.ChangedJob.after(write.unchanged(self.world, job), now)
        return HTTPStatus.OK, answers.ChangedJob.after(write.change(self.world, job, request.revision(), change), now)

    def _optional_body(self, request: Request) -> Any:
        return read_body(request.event, SINGLE_BYTES) if request.event.get("body") else {}

    def _checks(self, request: Request, client: Client | None = None) -> Checks:
        """What validation may ask; faults outside the body are reported with those inside."""
        return Checks(self.world.clock.now(), self.world.settings, client, request.faults())


def merged(target: Any, patch: Any) -> Any:
    """A JSON merge patch applied: https://www.rfc-editor.org/rfc/rfc7396#section-2"""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def _filter_of(request: Request, now: int) -> Callable[[NamedJob], bool]:
    state, tag = request.query.get("state"), request.query.get("tag")
    if state is not None and state not in JobState.__members__:
        states = ", ".join(JobState.__members__)
        raise InvalidRequest([Problem("", f"the query parameter state must be one of {states}")])
    name, _, value = (tag or "").partition("=")

    def wanted(job: NamedJob) -> bool:
        if (state is None and not job.is_alive) or (state is not None and answers.state_of(job, now) != state):
            return False
        return tag is None or (name in job.definition.tags and (not value or job.definition.tags[name] == value))

    return wanted
