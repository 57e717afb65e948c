"""The operations that list: named jobs, their numbers, and the fires to come of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from itertools import islice

import msgspec

from clockwork.domain import instants
from clockwork.domain.clients import Client
from clockwork.domain.errors import InvalidRequest, JobNotFound, Problem, Unreadable
from clockwork.domain.executions import DAY_MS, Execution
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
from clockwork.edge.responses.fires import JobFires, next_due_of, state_of, upcoming
from clockwork.flows import access
from clockwork.flows.activity.budget import Budget
from clockwork.flows.activity.runs import Sought, list_indexed
from clockwork.flows.requests.read import MOST_READ, list_jobs, list_runs

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
        now, budget = self.world.clock.now(), Budget(self.world)
        wanted = filter_of(request, client.since_at, now)
        prefix, job_key = request.key("prefix"), request.key("jobKey")
        self._looking(request, client.client_id)
        if job_key is not None:
            job = access.get_jobs(self.world, [(client.client_id, job_key)])[client.client_id, job_key]
            if isinstance(job, Unreadable):
                return HTTPStatus.OK, answers.JobPage([], 1, [job_key])
            is_shown = job is not None and wanted(job) and job_key.startswith(prefix or "")
            alone = [job] if job and is_shown else []
            return HTTPStatus.OK, answers.JobPage(self._summaries(alone, now, runs, budget), len(alone))
        most_read = MOST_COMPUTED if {"dueFrom", "dueTo"} & set(request.query) else MOST_READ
        tokens = PageTokens(self.world, "listJobs", client.client_id, client.since_at)
        after = tokens.position_of(request.query.get("nextToken"))
        looked: list[str] = []

        def meant(job: NamedJob) -> bool:
            # Nobody is told how many jobs the client had that had this id before.
            if job.created_at >= client.since_at:
                looked.append(job.job_key)
            return wanted(job)

        found = list_jobs(self.world, client.client_id, prefix, after, limit, meant, most_read, budget)
        summaries = self._summaries(found.jobs, now, runs, budget)
        behind, unreadable = found.next_after, list(told_of_unreadable(client.since_at, found.unreadable))
        if len(summaries) < len(found.jobs):
            behind = summaries[-1].job_key
            unreadable = [one for one in unreadable if one < behind]
            looked = [one for one in looked if one <= behind]
        items, goes_on = page(((one.job_key, one) for one in summaries), behind)
        return HTTPStatus.OK, answers.JobPage(items, len(looked), unreadable or None, tokens.token_of(goes_on))

    def list_client_runs(self, request: Request) -> Answer:
        """GET /v1/clients/{clientId}/runs: within a time those of named jobs, or all that have ended, by an index."""
        client = access.client_for(self.world, request.caller, request.path["clientId"])
        now, limit, prefix = self.world.clock.now(), request.limit(), request.key("prefix")
        (from_at, to_at), state = request.instants("from", "to"), request.query.get("state")
        is_tagged, of_all = has_tag(request.query.get("tag")), _is_of_all(request, client)
        to_at = min(now if to_at is None else to_at, instants.LAST)
        from_at = max(0, to_at - DAY_MS if from_at is None else from_at)
        kind = "listIndexedRuns" if of_all else "listClientRuns"
        tokens = PageTokens(self.world, kind, client.client_id, client.since_at)
        if (position := tokens.position_of(request.query.get("nextToken"))) is not None:
            # The pages of one list are about one time, whatever the clock tells.
            first, last, position = position.split("|", 2)
            from_at, to_at = int(first), int(last)
        self._looking(request, client.client_id)
        if of_all:
            sought = Sought(from_at, to_at, state, prefix)
            ended = list_indexed(self.world, client, sought, position, limit, Budget(self.world))
            goes_on = None if ended.next_before is None else f"{from_at}|{to_at}|{ended.next_before}"
            return HTTPStatus.OK, ClientRuns.indexed(ended, tokens.token_of(goes_on))
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
            Budget(self.world),
        )
        goes_on = None if found.next_after is None else f"{from_at}|{to_at}|{found.next_after}"
        return HTTPStatus.OK, ClientRuns.of(found, tokens.token_of(goes_on))

    def count_jobs(self, request: Request) -> Answer:
        """GET /v1/clients/{clientId}/jobs/counts: reads up to what a page may cost, and pays as a preview does."""
        client = access.client_for(self.world, request.caller, request.path["clientId"])
        now, budget = self.world.clock.now(), Budget(self.world)
        wanted, prefix = filter_of(request, client.since_at, now), request.key("prefix")
        self._looking(request, client.client_id)
        self._previewing(request, client)
        states, tags = Counter[str](), Counter[str]()

        def counted(job: NamedJob) -> bool:
            if wanted(job):
                states[state_of(job, now)] += 1
                tags.update(f"{name}={value}" for name, value in job.definition.tags.items())
            return False

        read, after = 0, None
        while True:
            left = MOST_COUNTED - read
            found = list_jobs(self.world, client.client_id, prefix, after, left, counted, left, budget)
            read, after = read + found.read, found.next_after
            if after is None or read >= MOST_COUNTED or not budget.note_read():
                break
        return HTTPStatus.OK, JobCounts.of(client.client_id, states, tags, more=after is not None)

    def list_fires(self, request: Request) -> Answer:
        """GET /v1/jobs/{jobId}/fires: reads one row. The rest is computed, and pays as a preview does."""
        caller = access.require_known(self.world, request.caller)
        self._looking_at(request, caller, request.path["jobId"])
        (from_at,), count = request.instants("from"), request.number("count", FIRES)
        job = access.get_named(self.world, caller, request.path["jobId"])
        client = self.world.clients.get(job.client_id)
        if not job.is_alive or client is None:
            raise JobNotFound(job.job_id)
        self._previewing(request, client)
        now = self.world.clock.now()
        begin, work, found = max(now, now if from_at is None else from_at - 1), Work(_WORK), list[Fire]()
        with suppress(TooMuchWork):
            found.extend(islice(upcoming(job, begin, work), count))
        return HTTPStatus.OK, JobFires.of(job, found, more=len(found) == count or work.is_over)

    def _previewing(self, request: Request, client: Client) -> None:
        """Let in a request that costs more than its answer shows. An admin looks on nobody's account."""
        self.intake.admit_preview(self.world, [] if request.caller.is_admin else [client])

    def _summaries(self, jobs: Sequence[NamedJob], now: int, runs: int, budget: Budget) -> list[answers.JobSummary]:
        """The jobs in short, each with so many of its newest runs: the first ones, as far as the Budget goes."""
        found: list[answers.JobSummary] = []
        for job in jobs:
            read = runs or int(_is_over(job, now))
            if read and found and not budget.note_read():
                break
            # Only a query finds the newest: a run by hand may be newer than the fire, and no row of a job tells of it.
            ran = self._runs_of(job, read)
            shown = [Ran.of(one) for one in ran] if runs and ran is not None else None
            last_state = str(ran[0].state) if ran and _is_over(job, now) else None
            found.append(answers.JobSummary.of(job, now, runs=shown, last_state=last_state))
        return found

    def _runs_of(self, job: NamedJob, count: int) -> Sequence[Execution] | None:
        """The newest executions of a job; None if none are wanted, or one cannot be read."""
        with suppress(Unreadable):
            return self.world.executions.list(job.job_id, count, None) if count else None
        return None


def _is_over(job: NamedJob, now: int) -> bool:
    """Whether the only fire of a job is past: how its execution ended then says more than the state of the job."""
    return job.definition.recurrence is None and state_of(job, now) is JobState.COMPLETED


def _is_of_all(request: Request, client: Client) -> bool:
    """Whether a query asks for the runs of all jobs, by the index of its client. Raises InvalidRequest."""
    jobs = request.query.get("jobs", "named")
    if jobs == "all" and not client.runs_index:
        fault = f"the client {client.client_id} has no index of its runs: an admin sets its option runsIndex"
        raise InvalidRequest([Problem(in_query("jobs"), fault)])
    if jobs == "all" and "tag" in request.query:
        raise InvalidRequest([Problem(in_query("tag"), "the index has no tags: ask for a prefix, or without jobs=all")])
    return jobs == "all"


def _with_runs(request: Request) -> tuple[int, int]:
    """How many jobs a page may have, and how many runs of each, 0 for none. Raises InvalidRequest."""
    if "include" not in request.query:
        return request.limit(), 0
    limit = request.number("limit", MOST_WITH_RUNS)
    if limit > MOST_WITH_RUNS:
        fault = f"must be 1-{MOST_WITH_RUNS} with include=runs, for example {MOST_WITH_RUNS}"
        raise InvalidRequest([Problem(in_query("limit"), fault)])
    return limit, request.number("runs", RUNS)


def filter_of(request: Request, since_at: int, now: int) -> Callable[[NamedJob], bool]:
    """Whether a job is one that the query means."""
    state, tag = request.query.get("state"), request.query.get("tag")
    is_tagged, is_sought = has_tag(tag), has_text(request.query.get("contains", ""))
    from_at, to_at = request.instants("dueFrom", "dueTo")

    def is_due(job: NamedJob) -> bool:
        if from_at is None and to_at is None:
            return True
        due_at = next_due_of(job, now)
        return due_at is not None and (from_at or 0) <= due_at <= (instants.LAST if to_at is None else to_at)

    def wanted(job: NamedJob) -> bool:
        if job.created_at < since_at:
            return False  # of a client that had the id before
        if (state is None and not job.is_alive) or (state is not None and state_of(job, now) != state):
            return False
        return is_tagged(job) and is_sought(job) and is_due(job)

    return wanted


def has_text(text: str) -> Callable[[NamedJob], bool]:
    """Whether a job has the text in its key, in a field of a target, or in the name of a node, in any case."""
    sought = text.casefold()

    def found(job: NamedJob) -> bool:
        if not sought or sought in job.job_key.casefold():
            return True
        target = job.definition.target
        nodes = target.nodes if isinstance(target, WorkflowTarget) else {}
        fields = (one for part in targets_in(target) for one in msgspec.to_builtins(part).values())
        return any(sought in one.casefold() for one in (*nodes, *fields) if isinstance(one, str))

    return found
