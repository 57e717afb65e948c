"""The operations that list: named jobs, their numbers, and the fires to come of one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from itertools import islice

import msgspec

from clockwork.domain import instants
from clockwork.domain.clients import Client
from clockwork.domain.errors import InvalidRequest, JobNotFound, Problem, Unreadable
from clockwork.domain.executions import DAY_MS, Execution, State
from clockwork.domain.lifecycle.ownership import told_of_unreadable
from clockwork.domain.named.many import has_tag
from clockwork.domain.named_jobs import JobState, NamedJob
from clockwork.domain.recurrence import Fire, TooMuchWork, Work
from clockwork.domain.workflows.definition import WorkflowTarget, targets_in
from clockwork.edge.http.pages import PageTokens, page
from clockwork.edge.http.request import Request, in_query
from clockwork.edge.operations.base import Answer, Operations
from clockwork.edge.responses import named_jobs as answers
from clockwork.edge.responses.bulk import JobCounts
from clockwork.edge.responses.client_runs import ClientRuns
from clockwork.edge.responses.executions import Ran
from clockwork.edge.responses.fires import JobFires
from clockwork.flows import access
from clockwork.flows.requests.read import MOST_READ, PAGE_UNITS, list_jobs, list_runs

#: Jobs that a page reads if the next fire of each is to be computed.
MOST_COMPUTED = 400
#: Jobs of a page with their runs: at most, and if the query does not say how many. And the runs of each.
MOST_WITH_RUNS, MOST_RUNS, RUNS = 50, 50, 16
#: The most jobs that are counted.
MOST_COUNTED = 10_000
#: The fires of an answer: at most, and if the query does not say how many.
MOST_FIRES, FIRES = 1_000, 100
#: The longest text that is looked for.
LONGEST_SOUGHT = 256
#: The work that one answer about fires may cause, as much as that of a preview.
_WORK = 800_000


class JobListApi(Operations):
    """The lists of one Lambda environment."""

    def list_jobs(self, request: Request) -> Answer:
        """GET /v1/jobs: named jobs in the order of their keys."""
        client = access.client_for(self.world, request.caller, request.query.get("clientId"))
        limit, runs = _with_runs(request)
        now = self.world.clock.now()
        wanted = filter_of(request, client.since_at, now)
        prefix, job_key = request.prefix(), request.job_key()
        self._looking(request, client.client_id)
        if job_key is not None:
            job = access.get_jobs(self.world, [(client.client_id, job_key)])[client.client_id, job_key]
            if isinstance(job, Unreadable):
                return HTTPStatus.OK, answers.JobPage([], [job_key])
            is_shown = job is not None and wanted(job) and job_key.startswith(prefix or "")
            return HTTPStatus.OK, answers.JobPage(self._summaries([job] if job and is_shown else [], now, runs))
        most_read = MOST_COMPUTED if {"dueFrom", "dueTo"} & set(request.query) else MOST_READ
        tokens = PageTokens(self.world, "listJobs", client.client_id, client.since_at)
        after = tokens.position_of(request.query.get("nextToken"))
        found = list_jobs(self.world, client.client_id, prefix, after, limit, wanted, most_read, self._until())
        summaries = self._summaries(found.jobs, now, runs)
        items, goes_on = page(((one.job_key, one) for one in summaries), found.next_after)
        unreadable = list(told_of_unreadable(client.since_at, found.unreadable))
        return HTTPStatus.OK, answers.JobPage(items, unreadable or None, tokens.token_of(goes_on))

    def list_client_runs(self, request: Request) -> Answer:
        """GET /v1/clients/{clientId}/runs: the runs of named jobs within a time, without an index of them."""
        client = access.client_for(self.world, request.caller, request.path["clientId"])
        now, limit, prefix = self.world.clock.now(), request.limit(), request.prefix()
        (from_at, to_at), state = request.instants("from", "to"), request.query.get("state")
        if state is not None and state not in State.__members__:
            states = ", ".join(State.__members__)
            raise InvalidRequest([Problem(in_query("state"), f"the query parameter state must be one of {states}")])
        is_tagged = has_tag(request.query.get("tag"))
        to_at = min(now if to_at is None else to_at, instants.LAST)
        from_at = max(0, to_at - DAY_MS if from_at is None else from_at)
        tokens = PageTokens(self.world, "listClientRuns", client.client_id, client.since_at)
        if (position := tokens.position_of(request.query.get("nextToken"))) is not None:
            # The pages of one list are about one time, whatever the clock tells.
            first, last, position = position.split("|", 2)
            from_at, to_at = int(first), int(last)
        self._looking(request, client.client_id)
        found = list_runs(
            self.world,
            client.client_id,
            prefix,
            position,
            limit,
            lambda job: job.created_at >= client.since_at and is_tagged(job),
            lambda run: state is None or run.state == state,
            from_at,
            to_at,
            self._until(),
        )
        goes_on = None if found.next_after is None else f"{from_at}|{to_at}|{found.next_after}"
        return HTTPStatus.OK, ClientRuns.of(found, tokens.token_of(goes_on))

    def count_jobs(self, request: Request) -> Answer:
        """GET /v1/clients/{clientId}/jobs/counts: reads them all, up to a bound, and pays as a preview does."""
        client = access.client_for(self.world, request.caller, request.path["clientId"])
        now, until = self.world.clock.now(), self._until()
        wanted, prefix = filter_of(request, client.since_at, now), request.prefix()
        self._looking(request, client.client_id)
        self._previewing(request, client)
        states, tags = Counter[str](), Counter[str]()

        def counted(job: NamedJob) -> bool:
            if wanted(job):
                states[answers.state_of(job, now)] += 1
                tags.update(f"{name}={value}" for name, value in job.definition.tags.items())
            return False

        read, after = 0, None
        while True:
            left = MOST_COUNTED - read
            found = list_jobs(self.world, client.client_id, prefix, after, left, counted, left, until)
            read, after = read + found.read, found.next_after
            if after is None or read >= MOST_COUNTED or self.world.clock.now() >= until:
                break
        return HTTPStatus.OK, JobCounts.of(client.client_id, states, tags, more=after is not None)

    def list_fires(self, request: Request) -> Answer:
        """GET /v1/jobs/{jobId}/fires: reads one row. The rest is computed, and pays as a preview does."""
        caller = access.require_known(self.world, request.caller)
        self._looking_at(request, caller, request.path["jobId"])
        (from_at,), count = request.instants("from"), number_of(request, "count", FIRES, MOST_FIRES)
        job = access.get_named(self.world, caller, request.path["jobId"])
        client = self.world.clients.get(job.client_id)
        if not job.is_alive or client is None:
            raise JobNotFound(job.job_id)
        self._previewing(request, client)
        now = self.world.clock.now()
        begin, work, found = max(now, now if from_at is None else from_at - 1), Work(_WORK), list[Fire]()
        with suppress(TooMuchWork):
            found.extend(islice(answers.upcoming(job, begin, work), count))
        return HTTPStatus.OK, JobFires.of(job, found, more=len(found) == count or work.is_over)

    def _previewing(self, request: Request, client: Client) -> None:
        """Let in a request that costs more than its answer shows. An admin looks on nobody's account."""
        self.intake.admit_preview(self.world, [] if request.caller.is_admin else [client])

    def _summaries(self, jobs: Sequence[NamedJob], now: int, runs: int) -> list[answers.JobSummary]:
        return [
            answers.JobSummary.of(job, now, runs=None if ran is None else [Ran.of(one) for one in ran])
            for job, ran in zip(jobs, self._runs_of(jobs, runs), strict=True)
        ]

    def _runs_of(self, jobs: Sequence[NamedJob], runs: int) -> list[Sequence[Execution] | None]:
        """The newest executions of each job; None where they are not wanted, cost too much or cannot be read."""
        found: list[Sequence[Execution] | None] = []
        for job in jobs:
            ran: Sequence[Execution] | None = None
            if runs and self.world.environment.meter.price < PAGE_UNITS and self.world.clock.now() < self._until():
                with suppress(Unreadable):
                    ran = self.world.executions.list(job.job_id, runs, None)
            found.append(ran)
        return found


def _with_runs(request: Request) -> tuple[int, int]:
    """How many jobs a page may have, and how many runs of each, 0 for none. Raises InvalidRequest."""
    include, runs = request.query.get("include"), number_of(request, "runs", RUNS, MOST_RUNS)
    if include is None:
        return request.limit(), 0
    if include != "runs":
        raise InvalidRequest([Problem(in_query("include"), "the query parameter include must be runs")])
    limit = number_of(request, "limit", MOST_WITH_RUNS, MOST_WITH_RUNS)
    return limit, runs


def number_of(request: Request, name: str, default: int, most: int) -> int:
    """A number of the query, from 1 on. Raises InvalidRequest."""
    text = request.query.get(name, str(default))
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= most:
        raise InvalidRequest([Problem(in_query(name), f"the query parameter {name} must be 1-{most}")])
    return int(text)


def filter_of(request: Request, since_at: int, now: int) -> Callable[[NamedJob], bool]:
    """Whether a job is one that the query means. Raises InvalidRequest."""
    state, tag = request.query.get("state"), request.query.get("tag")
    if state is not None and state not in JobState.__members__:
        states = ", ".join(JobState.__members__)
        raise InvalidRequest([Problem(in_query("state"), f"the query parameter state must be one of {states}")])
    is_tagged, is_sought = has_tag(tag), has_text(request.query.get("contains", ""))
    from_at, to_at = request.instants("dueFrom", "dueTo")

    def is_due(job: NamedJob) -> bool:
        if from_at is None and to_at is None:
            return True
        due_at = answers.next_due_of(job, now)
        return due_at is not None and (from_at or 0) <= due_at <= (instants.LAST if to_at is None else to_at)

    def wanted(job: NamedJob) -> bool:
        if job.created_at < since_at:
            return False  # of a client that had the id before
        if (state is None and not job.is_alive) or (state is not None and answers.state_of(job, now) != state):
            return False
        return is_tagged(job) and is_sought(job) and is_due(job)

    return wanted


def has_text(text: str) -> Callable[[NamedJob], bool]:
    """Whether a job has the text in its key, in a field of a target, or in the name of a node, in any case.

    Raises InvalidRequest.
    """
    if len(text) > LONGEST_SOUGHT:
        fault = f"the query parameter contains has at most {LONGEST_SOUGHT} characters"
        raise InvalidRequest([Problem(in_query("contains"), fault)])
    sought = text.casefold()

    def found(job: NamedJob) -> bool:
        if not sought or sought in job.job_key.casefold():
            return True
        target = job.definition.target
        nodes = target.nodes if isinstance(target, WorkflowTarget) else {}
        fields = (one for part in targets_in(target) for one in msgspec.to_builtins(part).values())
        return any(sought in one.casefold() for one in (*nodes, *fields) if isinstance(one, str))

    return found
