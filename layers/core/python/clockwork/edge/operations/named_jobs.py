"""The operations on named jobs, and the preview of a schedule."""

from __future__ import annotations

import json
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import msgspec

from clockwork.domain import instants
from clockwork.domain.errors import InvalidRequest, JobNotFound, Problem
from clockwork.domain.fires.backfills import why_none
from clockwork.domain.fires.timings import Retiming, retiming
from clockwork.domain.named.changes import Change, cancelled, has_cancelled_waiting, paused, replaced, resumed
from clockwork.domain.named_jobs import Definition, JobState, NamedJob
from clockwork.domain.recurrence import TooMuchWork, Work
from clockwork.domain.requests.differences import differences
from clockwork.domain.requests.trail import Note, unnoted
from clockwork.domain.workflows.definition import nodes_of
from clockwork.edge.http.body import SINGLE_BYTES, read_body
from clockwork.edge.http.request import Request
from clockwork.edge.http.validation import validate
from clockwork.edge.operations.base import Answer, Operations
from clockwork.edge.requests.changes import BackfillBody, EmptyBody, PauseBody, PreviewBody
from clockwork.edge.requests.jobs import DefinitionBody, as_sent
from clockwork.edge.responses import named_jobs as answers
from clockwork.edge.responses.executions import Outcomes
from clockwork.edge.responses.fires import REAL, Foreseen, Preview, foreseen_of, state_of
from clockwork.edge.responses.jobs import FormerJob
from clockwork.edge.responses.targets import shown_payload
from clockwork.flows import access
from clockwork.flows.access import FormerLife, find_life, get_named
from clockwork.flows.named import trigger, write
from clockwork.flows.named.repair import check_chain
from clockwork.flows.requests.read import newest

#: When a job that is over is read, this many of its newest records are counted. Each may hold a payload.
MOST_COUNTED = 100
#: The work that a GET may cause to see whether the pointer of a chain is in its place (a tenth of a second).
CHECK_WORK = 100_000


def sent(job: NamedJob) -> dict[str, Any]:
    """The definition of a job as its client wrote it, with the payload itself."""
    written: dict[str, Any] = json.loads(job.as_sent)
    if "payload" in written:
        written["payload"] = shown_payload(job.definition.payload)
    return written


class NamedApi(Operations):
    """The operations on named jobs of one Lambda environment."""

    def put_job(self, request: Request) -> Answer:
        """PUT /v1/jobs/{jobId}: replaces the definition whole."""
        job = self._changeable(request)
        return self._replace(request, "putJob", job, read_body(request.event, SINGLE_BYTES))

    def patch_job(self, request: Request) -> Answer:
        """PATCH /v1/jobs/{jobId}: a merge patch (RFC 7396) on the definition as it was sent."""
        job = self._changeable(request)
        patch = read_body(request.event, SINGLE_BYTES)
        return self._replace(request, "patchJob", job, merged(sent(job), patch))

    def pause_job(self, request: Request) -> Answer:
        """POST /v1/jobs/{jobId}/pause."""
        job = self._changeable(request)
        body = self._optional(request, PauseBody)
        cancels = body.waiting == "cancel"
        is_as_wanted = job.state is JobState.PAUSED and (not cancels or has_cancelled_waiting(job))
        wanted = None if is_as_wanted else paused(body.reason, cancels=cancels, by=request.caller.principal)
        with self._noting(request, "pauseJob", body) as note:
            return self._change(request, job, wanted, note)

    def resume_job(self, request: Request) -> Answer:
        """POST /v1/jobs/{jobId}/resume."""
        job = self._changeable(request)
        body = self._optional(request, PauseBody)
        wanted = resumed(body.reason, cancels=body.waiting == "cancel")
        with self._noting(request, "resumeJob", body) as note:
            return self._change(request, job, None if job.state is JobState.ACTIVE else wanted, note)

    def run_job(self, request: Request) -> Answer:
        """POST /v1/jobs/{jobId}/run: one execution now, whatever the schedule says."""
        job = self._changeable(request)
        self._optional(request, EmptyBody)
        self._admitting(job.client_id)(1, nodes_of(job.definition.target))
        with self._noting(request, "runJob") as note:
            note(job.client_id)
            execution_id = trigger.run_now(self.world, job, request.idempotency_key)
        return HTTPStatus.ACCEPTED, answers.StartedRun(execution_id)

    def backfill_job(self, request: Request) -> Answer:
        """POST /v1/jobs/{jobId}/backfill."""
        job = self._changeable(request)
        body = validate(BackfillBody, read_body(request.event, SINGLE_BYTES), self._checks(request))
        from_at, to_at = instants.from_text(body.from_), instants.from_text(body.to)
        with self._noting(request, "backfillJob", body) as note:

            def admit(count: int, nodes: int = 0) -> None:
                self._admitting(job.client_id)(count, nodes)
                if count:
                    note(job.client_id)

            key = request.idempotency_key
            planned = trigger.backfill(self.world, job, from_at, to_at, body.max_per_second, key, admit=admit)
        reason = None if planned.count else why_none(job, from_at, to_at)
        return HTTPStatus.ACCEPTED, answers.StartedBackfill(planned.backfill_id, planned.count, reason)

    def preview_schedule(self, request: Request) -> Answer:
        """POST /v1/schedules/preview: nothing is saved."""
        caller = access.require_known(self.world, request.caller)
        checks = self._checks(request)
        value = read_body(request.event, SINGLE_BYTES)
        # Before it is validated: that looks for the first fire, which is most of the work.
        self.intake.admit_preview(self.world, access.clients_of(self.world, caller))
        body = validate(PreviewBody, value, checks)
        schedule, now = body.schedule, checks.now
        recurrence = schedule.to_recurrence(now) if schedule.recurs else None
        at = 0 if schedule.recurs else schedule.to_instant(now)
        try:
            return HTTPStatus.OK, Preview.of(recurrence, at, body.count, now, checks.work)
        except TooMuchWork as fault:
            raise InvalidRequest([Problem("/schedule/exclude", str(fault))]) from None

    def _show_named(self, caller: access.Caller, job_id: str) -> Answer:
        job = find_life(self.world, caller, job_id)
        if isinstance(job, FormerLife):
            last = self.world.executions.list(job_id, 1, None)
            return HTTPStatus.OK, FormerJob.of(job_id, job.job_ref, job.successor, last)
        with suppress(TooMuchWork):  # The audit checks it, once a day.
            check_chain(self.world, job, Work(CHECK_WORK))
        now = self.world.clock.now()
        is_over = state_of(job, now) is JobState.COMPLETED
        if not is_over:
            last = self.world.executions.list(job_id, 1, None)
            released = self._released_until(job.partition_id)
            return HTTPStatus.OK, answers.ShownNamedJob.whole(job, last, None, now, released)
        found = newest(self.world, job_id, MOST_COUNTED)
        outcomes = Outcomes.of(found.executions, more=found.next_before is not None)
        return HTTPStatus.OK, answers.ShownNamedJob.whole(job, found.executions, outcomes, now)

    def _cancel_named(self, request: Request, caller: access.Caller) -> Answer:
        job = get_named(self.world, caller, request.path["jobId"])
        with self._noting(request, "cancelJob") as note:
            written = self._written(request, job, cancelled(None) if job.is_alive else None, note)
        return HTTPStatus.OK, answers.deletion(written, self._foreseen(job, written.job))

    def _changeable(self, request: Request) -> NamedJob:
        """The named job of the path. Raises JobNotFound if it is not the caller's, or a tombstone; NotNamed."""
        caller = access.require_known(self.world, request.caller)
        self._changing_at(request, caller, request.path["jobId"])
        job = get_named(self.world, caller, request.path["jobId"])
        if not job.is_alive:
            raise JobNotFound(job.job_id)
        return job

    def _replace(self, request: Request, action: str, job: NamedJob, value: Any) -> Answer:
        client = self.world.clients.get(job.client_id)
        if client is None:
            raise JobNotFound(job.job_id)
        checks = self._checks(request, client)
        # Its trace is that of its create: a repeat of a change, which has a trace of its own, changes nothing.
        checks.traceparent = job.definition.traceparent
        body = validate(DefinitionBody, value, checks)
        written = as_sent(value)
        definition = _anchored(body.to_definition(checks, client), body, job)
        # The same text under other defaults of its client is a change, too.
        if written == job.as_sent and definition == job.definition:
            return self._change(request, job, None, unnoted)
        # Another schedule starts from now on, and a schedule counts as one occurrence, as that of a create does.
        makes = None if retiming(job.definition, definition) is Retiming.SAME else definition
        changes = differences(job.as_sent, written)
        with self._noting(request, action, changes=changes) as note:
            return self._change(request, job, replaced(definition, written), note, makes)

    def _change(
        self, request: Request, job: NamedJob, change: Change | None, note: Note, makes: Definition | None = None
    ) -> Answer:
        """Answer with the job after a change; without a change, the job is as the request wants it already.

        `makes`: the definition by which it makes an occurrence, for the caps of the client.
        """
        now, written = self.world.clock.now(), self._written(request, job, change, note, makes)
        return HTTPStatus.OK, answers.ChangedJob.after(written, now, self._foreseen(job, written.job))

    def _foreseen(self, before: NamedJob, after: NamedJob) -> Foreseen:
        return foreseen_of(before, after, self.world.clock.now()) if self.is_dry else REAL

    def _written(
        self, request: Request, job: NamedJob, change: Change | None, note: Note, makes: Definition | None = None
    ) -> write.Written:
        if change is None:
            return write.unchanged(self.world, job)
        revision = request.revision()
        if makes is not None:
            self._admitting(job.client_id)(1, nodes_of(makes.target))
        return write.change(self.world, job, revision, change, note)


def _anchored(definition: Definition, body: DefinitionBody, job: NamedJob) -> Definition:
    """The definition with the instants that the job has already, where the request gives a length of time alone.

    An interval without an anchor keeps its anchor, and the same delay its instant.
    """
    schedule, was = body.schedule, json.loads(job.as_sent).get("schedule", {})
    if schedule.delay_seconds is not None and was.get("delaySeconds") == schedule.delay_seconds:
        return msgspec.structs.replace(definition, at=job.definition.at)
    recurrence, before = definition.recurrence, job.definition.recurrence
    if recurrence is None or recurrence.every is None or schedule.anchor_at is not None:
        return definition
    if before is None or before.every is None or before.every.every_ms != recurrence.every.every_ms:
        return definition
    return msgspec.structs.replace(definition, recurrence=msgspec.structs.replace(recurrence, every=before.every))


def merged(target: Any, patch: Any) -> Any:
    """The target after a JSON merge patch (RFC 7396).

    https://www.rfc-editor.org/rfc/rfc7396#section-2
    """
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result
