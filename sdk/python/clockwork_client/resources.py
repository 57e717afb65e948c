"""`cw.jobs`, `cw.executions`, `cw.dead`: the API's routes, one method each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from clockwork_client import objects, requests, results
from clockwork_client.answers import Target
from clockwork_client.calls import made, segment
from clockwork_client.handled import HandledDead, HandledJobs, JobCounts
from clockwork_client.pages import Pages, Resource, dry
from clockwork_client.reporting import Reporting
from clockwork_client.states import JobState, WhatWaits

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from clockwork_client.workflows.workflow import Workflow


class Jobs(Resource):
    """Jobs. A `job_id` is the API's; `find` leads from the `key` of a named job to it.

    `if_revision` makes a change only if the job is still at that revision, otherwise Conflict. `dry_run`: nothing is
    written, and the answer is the one that there would be, with `timing_changes` and `next_fires`.
    """

    def __iter__(self) -> Iterator[results.Job]:
        return self.list()

    def list(
        self,
        *,
        prefix: str | None = None,
        state: JobState | None = None,
        tag: str | None = None,
        key: str | None = None,
        contains: str | None = None,
        runs: int | None = None,
        due_from: objects.Instant | None = None,
        due_to: objects.Instant | None = None,
        client_id: str | None = None,
        page_size: int | None = None,
        next_token: str | None = None,
    ) -> Pages[results.Job]:
        """Named jobs in the order of their keys. `tag` is `name=value`, or a name; `key` is the jobKey of one job.

        `contains` is looked for in keys and targets, in any case. With `runs`, each job has so many of its newest runs,
        and a page has 50 jobs at most. `due_from` and `due_to`: jobs whose next fire is due within these instants.
        """
        client = client_id or self._client_id
        due = objects.fields(due_from=due_from, due_to=due_to)
        which = {"jobKey": key, "prefix": prefix, "contains": contains, "state": state, "tag": tag, **due}
        which |= {} if runs is None else {"include": "runs", "runs": runs}
        query = {"clientId": client, **which, "limit": page_size}
        return self._pages("/v1/jobs", results.Job, query, next_token)

    def find(self, key: str, *, client_id: str | None = None) -> results.Job | None:
        """The named job with this key, as a list shows it; None if there is none."""
        return next(self.list(key=key, client_id=client_id), None)

    def counts(
        self,
        *,
        prefix: str | None = None,
        tag: str | None = None,
        contains: str | None = None,
        client_id: str | None = None,
    ) -> JobCounts:
        """How many named jobs there are, by state and by tag: 10,000 or 1 MB of them are read at most."""
        path = f"/v1/clients/{self._client(client_id)}/jobs/counts"
        return JobCounts(self._call("GET", path, query={"prefix": prefix, "tag": tag, "contains": contains}))

    def get(self, job_id: str) -> results.Job:
        """A job whole: where it stands, its next ten fires, its last execution."""
        return results.Job(self._call("GET", _job(job_id)))

    def replace(
        self,
        job_id: str,
        target: Target | Workflow | str,
        payload: Any = None,
        *,
        if_revision: int | None = None,
        dry_run: bool = False,
        **options: Unpack[requests.DefinitionOptions],
    ) -> results.Job:
        """Replace the definition of a named job."""
        body = requests.definition(target, payload, options)
        return results.Job(self._call("PUT", _job(job_id), body, query=dry(dry_run), if_match=if_revision))

    def patch(
        self, job_id: str, changes: Mapping[str, Any], *, if_revision: int | None = None, dry_run: bool = False
    ) -> results.Job:
        """Change a named job by a merge patch (RFC 7396), in the API's names: {"schedule": {"cron": "0 4 * * *"}}."""
        return results.Job(self._call("PATCH", _job(job_id), dict(changes), query=dry(dry_run), if_match=if_revision))

    def cancel(self, job_id: str, *, if_revision: int | None = None, dry_run: bool = False) -> results.Cancellation:
        """Cancel a job. The `result` is the truth: `cancelled`, `running` or `too_late`."""
        return results.Cancellation(self._call("DELETE", _job(job_id), query=dry(dry_run), if_match=if_revision))

    def pause(
        self,
        job_id: str,
        reason: str | None = None,
        *,
        waiting: WhatWaits | None = None,
        if_revision: int | None = None,
        dry_run: bool = False,
    ) -> results.Job:
        """Stop a named job until it is resumed. `waiting="cancel"` ends executions that were due before and wait."""
        body = objects.fields(reason=reason, waiting=waiting)
        return results.Job(self._call("POST", _job(job_id, "/pause"), body, query=dry(dry_run), if_match=if_revision))

    def resume(
        self,
        job_id: str,
        reason: str | None = None,
        *,
        waiting: WhatWaits | None = None,
        if_revision: int | None = None,
        dry_run: bool = False,
    ) -> results.Job:
        """Go on with a paused job. `waiting="cancel"` ends executions that were due before the pause and wait."""
        body = objects.fields(reason=reason, waiting=waiting)
        return results.Job(self._call("POST", _job(job_id, "/resume"), body, query=dry(dry_run), if_match=if_revision))

    def pause_many(
        self,
        *,
        waiting: WhatWaits | None = None,
        client_id: str | None = None,
        next_token: str | None = None,
        **which: Unpack[requests.JobFilter],
    ) -> HandledJobs:
        """Pause jobs by tag or prefix: one call's worth. While the answer has a `next_token`, call again with it."""
        return self._many("pause", client_id, {**which, "waiting": waiting, "next_token": next_token})

    def resume_many(
        self,
        *,
        waiting: WhatWaits | None = None,
        paused_reason: str | None = None,
        client_id: str | None = None,
        next_token: str | None = None,
        **which: Unpack[requests.JobFilter],
    ) -> HandledJobs:
        """Resume jobs by tag or prefix: the part of one call. While the answer has a `next_token`, call again with it.

        `paused_reason` leaves jobs alone that were paused for another reason.
        """
        chosen = {"waiting": waiting, "paused_reason": paused_reason, "next_token": next_token}
        return self._many("resume", client_id, {**which, **chosen})

    def cancel_many(
        self, *, client_id: str | None = None, next_token: str | None = None, **which: Unpack[requests.JobFilter]
    ) -> HandledJobs:
        """Cancel jobs by tag or prefix: one call's worth. While the answer has a `next_token`, call again with it."""
        return self._many("cancel", client_id, {**which, "next_token": next_token})

    def _many(self, verb: str, client_id: str | None, which: Mapping[str, object]) -> HandledJobs:
        path = f"/v1/clients/{self._client(client_id)}/jobs/{verb}"
        return HandledJobs(self._call("POST", path, objects.fields(**which)))

    def run(self, job_id: str, *, idempotency_key: str | None = None) -> results.StartedRun:
        """Execute a named job once, now."""
        key = idempotency_key or self._machine.new_key()
        return made(results.StartedRun, self._call("POST", _job(job_id, "/run"), {}, key=key), key)

    def backfill(
        self,
        job_id: str,
        from_: objects.Instant,
        to: objects.Instant,
        *,
        max_per_second: float,
        idempotency_key: str | None = None,
    ) -> results.StartedBackfill:
        """Execute the fires of a past range again, `max_per_second` at most."""
        body = objects.fields(from_=from_, to=to, max_per_second=max_per_second)
        key = idempotency_key or self._machine.new_key()
        return made(results.StartedBackfill, self._call("POST", _job(job_id, "/backfill"), body, key=key), key)

    def fires(self, job_id: str, *, from_: objects.Instant | None = None, count: int | None = None) -> results.JobFires:
        """The next fires of a named job after `from_` (now at the earliest): 100, or up to 1,000 by `count`."""
        query = objects.fields(from_=from_, count=count)
        return results.JobFires(self._call("GET", _job(job_id, "/fires"), query=query))

    def preview(
        self,
        *,
        count: int | None = None,
        schedule: Mapping[str, Any] | None = None,
        **options: Unpack[requests.ScheduleOptions],
    ) -> results.Preview:
        """When a schedule would fire; nothing is saved. `schedule` has it in the API's names, in place of options."""
        found = requests.schedule_body(options) if schedule is None else dict(schedule)
        body = objects.fields(count=count) | {"schedule": found}
        return results.Preview(self._call("POST", "/v1/schedules/preview", body))


class Executions(Reporting):
    """Executions of jobs."""

    def list(
        self, job_id: str, *, page_size: int | None = None, next_token: str | None = None
    ) -> Pages[results.Execution]:
        """Executions of a job, newest first."""
        return self._pages(_job(job_id, "/executions"), results.Execution, {"limit": page_size}, next_token)

    def get(self, execution_id: str) -> results.Execution:
        """One execution with its last 100 attempts."""
        return results.Execution(self._call("GET", _execution(execution_id)))

    def cancel(self, execution_id: str) -> results.Execution:
        """Cancel one execution. Its `result` is the truth, as for a job."""
        return results.Execution(self._call("POST", _execution(execution_id, "/cancel")))

    def redrive(
        self, execution_id: str, *, as_it_was: bool | None = None, from_: Iterable[str] | None = None
    ) -> results.Execution:
        """Deliver a DEAD execution after all, with a fresh budget of attempts. Conflict if it is not DEAD.

        `as_it_was`: of a named job, as the record has it, and not by the definition that the job has now. `from_`: of
        the run of a workflow, nodes that start again although they have succeeded (`cw.runs.redrive`).
        """
        body = objects.fields(as_it_was=as_it_was, from_=from_) or None
        return results.Execution(self._call("POST", _execution(execution_id, "/redrive"), body))


class Dead(Resource):
    """DEAD executions of a client."""

    def __iter__(self) -> Iterator[results.Execution]:
        return self.list()

    def list(
        self,
        *,
        prefix: str | None = None,
        from_: objects.Instant | None = None,
        to: objects.Instant | None = None,
        client_id: str | None = None,
        page_size: int | None = None,
        next_token: str | None = None,
    ) -> Pages[results.Execution]:
        """Dead executions due within these instants, those due last first; `prefix` is of the job's key."""
        path = f"/v1/clients/{self._client(client_id)}/dead"
        query = requests.dead_query(prefix=prefix, from_=from_, to=to)
        return self._pages(path, results.Execution, {**query, "limit": page_size}, next_token)

    def redrive(
        self, *, client_id: str | None = None, next_token: str | None = None, **which: Unpack[requests.DeadFilter]
    ) -> HandledDead:
        """Deliver them after all: one call's worth. While the answer has a `next_token`, call again with it."""
        return self._handle("redrive", client_id, next_token, which)

    def discard(
        self, *, client_id: str | None = None, next_token: str | None = None, **which: Unpack[requests.DeadFilter]
    ) -> HandledDead:
        """Put them away: one call's worth. While the answer has a `next_token`, call again with it."""
        return self._handle("discard", client_id, next_token, which)

    def _handle(
        self, verb: str, client_id: str | None, next_token: str | None, which: requests.DeadFilter
    ) -> HandledDead:
        path = f"/v1/clients/{self._client(client_id)}/dead/{verb}"
        return HandledDead(self._call("POST", path, requests.dead_body(which, next_token)))


def _job(job_id: str, rest: str = "") -> str:
    return f"/v1/jobs/{segment(job_id)}{rest}"


def _execution(execution_id: str, rest: str = "") -> str:
    return f"/v1/executions/{segment(execution_id)}{rest}"
