"""The reads of the pages, each a call of the API that a script could make, and each kept for seconds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from clockwork_client.attention import Activity, Attention, Causes, ClientRuns
from clockwork_client.client import Clockwork
from clockwork_client.console.reads import Found, Reads, Seen, first, onward
from clockwork_client.handled import JobCounts
from clockwork_client.operations import Operation
from clockwork_client.overview import AuditEntry, Shard, UpcomingItem, Usage, WhoAmI
from clockwork_client.pools import PoolState
from clockwork_client.results import Client, Execution, Job, JobFires, Preview, Ran
from clockwork_client.workflows.answers import RunNodes

#: The most named jobs, dead executions, upcoming starts and changes that a page looks at.
MOST_JOBS, MOST_DEAD, MOST_UPCOMING, MOST_CHANGES = 1_000, 200, 500, 200
#: The clients of a page, and the pools of which a page asks for the whole.
MOST_CLIENTS, _POOLS = 200, 6
#: The operations that a page shows.
MOST_OPERATIONS = 50
#: The runs of all jobs that a page shows.
MOST_RUNS = 100
#: The fires among which a page looks for shifts of the clock: more than a year of a daily job.
MOST_FIRES = 400
_THREADS = 8
#: A list of jobs is kept for so many seconds, and for longer if it is long. The API lets a client read 25 units a
#: second in each of its environments, and an open page shall not use them up.
_JOBS_KEPT, _JOBS_A_SECOND = 4.0, 20.0
#: The newest runs are kept for so many seconds: at least, and of a client with many jobs.
_LATEST_KEPT = 10.0, 60.0
#: The calls of one search, each of which reads 2,000 jobs at most; and of the starts of more than an hour. A page and
#: its frame make 8 calls at most. A call may bring few items, or none, where few pass a filter.
_SEARCH_CALLS, _UPCOMING_CALLS = 3, 5
#: The calls of one look at causes, each of which looks at 1,000 executions at most.
_CAUSES_CALLS = 6
#: The calls by which a page looks for the runs of its jobs, 50 jobs a call: without a search before, and with one. And
#: the states of those that do not fire.
_STRIPS_CALLS, _STRIPS_CALLS_OF_SEARCH, _STATES = 4, 2, 2


GoesOn = Callable[[], bool]


class Source:
    """The answers of the API that pages know. All answers are shared between the threads of the server."""

    def __init__(self, cw: Clockwork, profile: str | None) -> None:
        self.cw = cw
        self._reads = Reads(profile=profile)
        #: For how long (s) the list of a client's jobs is kept.
        self._jobs_kept: dict[str, float] = {}
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="console-reads")

    def close(self) -> None:
        """End the threads, once their calls have ended."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def forget(self) -> None:
        """Something was changed: ask anew."""
        self._reads.forget()

    def who(self) -> Seen[WhoAmI]:
        """The caller."""
        return self._reads.read("who", 60, self.cw.whoami, is_lasting=True)

    def clients(self) -> Seen[tuple[str, ...]]:
        """The clients that the caller may look at: its own, or all of them for an admin."""
        who = self.who()
        if who.value is None or not who.value.admin:
            return Seen(who.value.client_ids if who.value else None, who.problem, who.age)

        def ask() -> tuple[str, ...]:
            listed = first(self.cw.clients.list(page_size=MOST_JOBS), MOST_JOBS).items
            return tuple(sorted(one.client_id for one in listed))

        return self._reads.read("clients", 60, ask, is_lasting=True)

    def all_clients(self) -> Seen[Found[Client]]:
        """All clients, for admins."""

        def ask() -> Found[Client]:
            found = first(self.cw.clients.list(page_size=MOST_CLIENTS + 1), MOST_CLIENTS)
            return Found(tuple(sorted(found.items, key=lambda one: one.client_id)), found.more)

        return self._reads.read("all-clients", 4, ask)

    def pools(self) -> Seen[tuple[PoolState, ...]]:
        """The pools, for admins: of the first few also what waits and who works there, which is a call for each."""

        def ask() -> tuple[PoolState, ...]:
            listed = self.cw.pools.list()
            whole = self._pool.map(lambda one: self.cw.pools.get(one.name), listed[:_POOLS])
            return (*whole, *listed[_POOLS:])

        return self._reads.read("pools", 4, ask)

    def shards(self) -> Seen[tuple[Shard, ...]]:
        """All shards, for admins."""
        return self._reads.read("shards", 4, lambda: tuple(self.cw.shards()))

    def usage(self, client: str) -> Seen[Usage]:
        """A client's waiting work, and the rest of its caps."""
        return self._reads.read(("usage", client), 4, lambda: self.cw.clients.usage(client))

    def jobs(self, client: str, behind: str | None = None) -> Seen[Found[Job]]:
        """The named jobs of a client, in the order of their keys, those behind a token if one is given."""

        def ask() -> Found[Job]:
            found = onward(self.cw.jobs.list(client_id=client, page_size=MOST_JOBS, next_token=behind), MOST_JOBS)
            self._jobs_kept[client] = max(_JOBS_KEPT, len(found.items) / _JOBS_A_SECOND)
            return found

        return self._reads.read(("jobs", client, behind), self._jobs_kept.get(client, _JOBS_KEPT), ask)

    def search(self, client: str, text: str, behind: str | None, goes_on: GoesOn) -> Seen[Found[Job]]:
        """The named jobs with a text in their key or target, as far as a few calls look."""

        def ask() -> Found[Job]:
            pages = self.cw.jobs.list(contains=text, client_id=client, page_size=MOST_JOBS, next_token=behind)
            return onward(pages, MOST_JOBS, _SEARCH_CALLS, goes_on)

        return self._reads.read(("search", client, text, behind), 8, ask)

    def job(self, job_id: str) -> Seen[Job]:
        """One job whole."""
        return self._reads.read(("job", job_id), 2, lambda: self.cw.jobs.get(job_id))

    def runs(self, job_id: str, most: int) -> Seen[Found[Execution]]:
        """The newest executions of a job."""
        key = ("runs", job_id, most)
        return self._reads.read(key, 4, lambda: first(self.cw.executions.list(job_id, page_size=most + 1), most))

    def strips(
        self,
        client: str,
        jobs: Sequence[Job],
        most: int,
        goes_on: GoesOn = lambda: True,
        *,
        contains: str | None = None,
        tag: str | None = None,
    ) -> Seen[dict[str, Sequence[Ran]]]:
        """The newest runs of the jobs of a page, by a few calls. A job that they did not come to is left out.

        Jobs that fire are asked for by the instants between which they do, others by their state. All of them pass the
        filters.
        """
        due = sorted(one.next_fire_at for one in jobs if one.state == "ACTIVE" and one.next_fire_at is not None)
        still = sorted({one.state for one in jobs if one.state != "ACTIVE" or one.next_fire_at is None})
        wanted = {one.job_id for one in jobs}
        which: list[dict[str, Any]] = [{"due_from": due[0], "due_to": due[-1]}] if due else []
        which += [{"state": one} for one in still[:_STATES]]

        def ask() -> dict[str, Sequence[Ran]]:
            left, found = _STRIPS_CALLS_OF_SEARCH if contains else _STRIPS_CALLS, dict[str, Sequence[Ran]]()
            lists = which[:left]
            for number, each in enumerate(lists, 1):
                pages = self.cw.jobs.list(client_id=client, runs=most, contains=contains, tag=tag, **each)
                # Each list that follows has a call at least.
                while left > len(lists) - number and len(found) < len(wanted) and goes_on():
                    left -= 1
                    # Others may fire between the same instants, or be in the same state.
                    listed = (one for one in pages.page() if one.job_id in wanted)
                    found.update({one.job_id: one.runs for one in listed if one.runs is not None})
                    if pages.next_token is None:
                        break
            return found

        key = ("strips", client, tuple(one.job_id for one in jobs), most)
        return self._reads.read(key, 8, ask)

    def together(self, *calls: Callable[[], object]) -> None:
        """Make some calls at once, so that a page waits for the slowest alone. Their answers are in the cache then."""
        for _ in self._pool.map(lambda call: call(), calls):
            pass

    def execution(self, execution_id: str) -> Seen[Execution]:
        """One execution with its attempts, and what it waits for."""
        return self._reads.read(("execution", execution_id), 2, lambda: self.cw.executions.get(execution_id))

    def nodes(self, execution_id: str) -> Seen[RunNodes]:
        """The nodes of a run."""
        return self._reads.read(("nodes", execution_id), 2, lambda: self.cw.runs.nodes(execution_id))

    def dead(
        self, client: str, prefix: str | None = None, from_: str | None = None, to: str | None = None
    ) -> Seen[Found[Execution]]:
        """The dead executions of a client that were due last."""

        def ask() -> Found[Execution]:
            pages = self.cw.dead.list(prefix=prefix, from_=from_, to=to, client_id=client, page_size=MOST_DEAD + 1)
            return first(pages, MOST_DEAD)

        return self._reads.read(("dead", client, prefix, from_, to), 4, ask)

    def causes(self, client: str, which: Mapping[str, str], next_token: str | None, goes_on: GoesOn) -> Seen[Causes]:
        """The causes of dead executions, over so many pages as a page of the console may wait for."""
        given = _given(which)

        def ask() -> Causes:
            return self.cw.clients.causes(
                kinds=("dead",),
                client_id=client,
                pages=_CAUSES_CALLS,
                next_token=next_token,
                goes_on=goes_on,
                **given,
            )

        return self._reads.read(("causes", client, tuple(which.items()), next_token), 10, ask)

    def operations(self, client: str) -> Seen[Found[Operation]]:
        """The newest operations of a client."""

        def ask() -> Found[Operation]:
            return first(self.cw.operations.list(client_id=client, page_size=MOST_OPERATIONS + 1), MOST_OPERATIONS)

        return self._reads.read(("operations", client), 4, ask)

    def operation(self, client: str, operation_id: str) -> Seen[Operation]:
        """One operation."""
        key = ("operation", client, operation_id)
        return self._reads.read(key, 2, lambda: self.cw.operations.get(operation_id, client_id=client))

    def counts(self, client: str, prefix: str | None, tag: str | None) -> Seen[JobCounts]:
        """How many named jobs a filter means. The API reads all of them for that, so the answer is kept for longer."""
        key = ("counts", client, prefix, tag)
        return self._reads.read(key, 60, lambda: self.cw.jobs.counts(prefix=prefix, tag=tag, client_id=client))

    def retrying(self, client: str) -> Seen[Attention]:
        """The executions of a client that have failed and are tried again, by their causes."""
        key = ("retrying", client)
        ask = partial(self.cw.clients.attention, kinds=("retrying",), client_id=client, page_size=MOST_DEAD)
        return self._reads.read(key, 4, ask)

    def client_runs(self, client: str, which: Mapping[str, str], next_token: str | None) -> Seen[ClientRuns]:
        """One page of the runs of a client's named jobs, kept for longer: the API looks at each of them."""
        ask = partial(self.cw.clients.runs, client_id=client, page_size=MOST_RUNS, next_token=next_token)
        key = ("client-runs", client, tuple(which.items()), next_token)
        return self._reads.read(key, 10, partial(ask, **_given(which)))

    def latest(self, client: str, since: datetime) -> Seen[ClientRuns]:
        """The newest runs of a client's named jobs since an instant. The API looks at each job: it is asked seldom."""
        ask = partial(self.cw.clients.runs, client_id=client, from_=since, page_size=MOST_RUNS)
        kept = min(_LATEST_KEPT[1], max(_LATEST_KEPT[0], 2 * self._jobs_kept.get(client, _JOBS_KEPT)))
        return self._reads.read(("latest", client), kept, ask)

    def activity(self, client: str, since: datetime) -> Seen[Activity]:
        """The counts of a client since an instant, minute by minute."""
        ask = partial(self.cw.clients.activity, client_id=client, from_=since)
        return self._reads.read(("activity", client), 15, ask)

    def upcoming(
        self, client: str, until: datetime, hours: int, goes_on: GoesOn | None = None, behind: str | None = None
    ) -> Seen[Found[UpcomingItem]]:
        """The starts within so many hours, which end at `until`, by one call unless `goes_on` is given.

        The API admits each call like a create.
        """
        pages = partial(self.cw.upcoming, to=until, client_id=client, page_size=MOST_UPCOMING, next_token=behind)
        calls, asks = (1, None) if goes_on is None else (_UPCOMING_CALLS, goes_on)

        def ask() -> Found[UpcomingItem]:
            return onward(pages(), MOST_UPCOMING, calls, asks or (lambda: True))

        return self._reads.read(("upcoming", client, hours, calls, behind), 30, ask)

    def trail(self, client: str) -> Seen[Found[AuditEntry]]:
        """The newest changes of a client."""
        changes = partial(self.cw.audit, client_id=client, page_size=MOST_CHANGES)
        return self._reads.read(("trail", client), 4, lambda: first(changes(), MOST_CHANGES))

    def preview(self, schedule: Mapping[str, Any], count: int) -> Seen[Preview]:
        """The next fires of a schedule in the API's names. Nothing is saved, and a look is let in like a create."""
        key = ("preview", json.dumps(schedule, sort_keys=True))
        return self._reads.read(key, 60, partial(self.cw.jobs.preview, schedule=schedule, count=count))

    def fires(self, job: Job) -> Seen[JobFires]:
        """The next fires of a named job. They change with the job, and as time passes."""
        key = ("fires", job.job_id, job.revision)
        return self._reads.read(key, 60, lambda: self.cw.jobs.fires(job.job_id, count=MOST_FIRES))


def within(now: datetime, hours: int) -> datetime:
    """The end of the next so many hours."""
    return now + timedelta(hours=hours)


def _given(which: Mapping[str, str]) -> dict[str, Any]:
    """The filters of a page as the client's calls name them."""
    return {("from_" if name == "from" else name): value or None for name, value in which.items()}
