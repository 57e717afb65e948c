"""The reads of the pages, each a call of the API that a script could make, and each kept for seconds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

from clockwork_client.attention import Attention, ClientRuns
from clockwork_client.client import Clockwork
from clockwork_client.console.reads import Reads, Seen
from clockwork_client.handled import JobCounts
from clockwork_client.operations import Operation
from clockwork_client.overview import AuditEntry, Shard, UpcomingItem, Usage, WhoAmI
from clockwork_client.pools import PoolState
from clockwork_client.results import Client, Execution, Job, JobFires, Preview, Ran
from clockwork_client.workflows.answers import RunNodes

Item = TypeVar("Item")
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
#: The calls of one search. Each reads 2,000 jobs at most.
_SEARCH_CALLS = 4
#: The jobs among which a page looks for the runs of its own, 50 a call, and the states of those that do not fire.
_MOST_LOOKED_AT, _STATES = 150, 2


class Found(NamedTuple, Generic[Item]):
    """A list, as far as it was read: with `more`, there are more."""

    items: tuple[Item, ...]
    more: bool = False


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
            return tuple(sorted(one.client_id for one in islice(self.cw.clients.list(page_size=MOST_JOBS), MOST_JOBS)))

        return self._reads.read("clients", 60, ask, is_lasting=True)

    def all_clients(self) -> Seen[Found[Client]]:
        """All clients, for admins."""

        def ask() -> Found[Client]:
            found = _first(self.cw.clients.list(page_size=MOST_CLIENTS + 1), MOST_CLIENTS)
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

    def jobs(self, client: str) -> Seen[Found[Job]]:
        """The named jobs of a client, in the order of their keys."""

        def ask() -> Found[Job]:
            found = _first(self.cw.jobs.list(client_id=client, page_size=MOST_JOBS), MOST_JOBS)
            self._jobs_kept[client] = max(_JOBS_KEPT, len(found.items) / _JOBS_A_SECOND)
            return found

        return self._reads.read(("jobs", client), self._jobs_kept.get(client, _JOBS_KEPT), ask)

    def search(self, client: str, text: str) -> Seen[Found[Job]]:
        """The named jobs with a text in their key or target, among the first 8,000: so many do a few calls read."""

        def ask() -> Found[Job]:
            pages = self.cw.jobs.list(contains=text, client_id=client, page_size=MOST_JOBS)
            found = list[Job]()
            for _ in range(_SEARCH_CALLS):
                found += pages.page()
                if pages.next_token is None or len(found) >= MOST_JOBS:
                    break
            return Found(tuple(found[:MOST_JOBS]), pages.next_token is not None)

        return self._reads.read(("search", client, text), 8, ask)

    def job(self, job_id: str) -> Seen[Job]:
        """One job whole."""
        return self._reads.read(("job", job_id), 2, lambda: self.cw.jobs.get(job_id))

    def runs(self, job_id: str, most: int) -> Seen[Found[Execution]]:
        """The newest executions of a job."""
        key = ("runs", job_id, most)
        return self._reads.read(key, 4, lambda: _first(self.cw.executions.list(job_id, page_size=most + 1), most))

    def runs_of(self, jobs: Iterable[Job], most: int) -> dict[str, Sequence[Execution]]:
        """The newest executions of a few jobs. A job whose call fails has none here."""

        def newest(job_id: str) -> Seen[Found[Execution]]:
            def ask() -> Found[Execution]:
                return _first(self.cw.executions.list(job_id, page_size=most + 1), most)

            return self._reads.read(("newest", job_id, most), 15, ask)

        ids = [one.job_id for one in jobs]
        found = self._pool.map(newest, ids)
        return {job_id: seen.value.items if seen.value else () for job_id, seen in zip(ids, found, strict=True)}

    def strips(
        self, client: str, jobs: Sequence[Job], most: int, *, contains: str | None = None, tag: str | None = None
    ) -> Seen[dict[str, Sequence[Ran]]]:
        """The newest runs of the jobs of a page, by a few calls. A job that they did not come to is left out.

        Jobs that fire are asked for by the instants between which they do, others by their state. All of them pass the
        filters.
        """
        due = sorted(one.next_fire_at for one in jobs if one.state == "ACTIVE" and one.next_fire_at is not None)
        still = sorted({one.state for one in jobs if one.state != "ACTIVE" or one.next_fire_at is None})

        wanted = {one.job_id for one in jobs}

        def ask() -> dict[str, Sequence[Ran]]:
            found = dict[str, Sequence[Ran]]()

            def look(pages: Iterable[Job]) -> None:
                # Others may fire between the same instants, or be in the same state.
                for one in islice(pages, _MOST_LOOKED_AT):
                    if one.job_id in wanted and one.runs is not None:
                        found[one.job_id] = one.runs
                    if len(found) == len(wanted):
                        return

            given: dict[str, Any] = {"client_id": client, "runs": most, "contains": contains, "tag": tag}
            if due:
                look(self.cw.jobs.list(due_from=due[0], due_to=due[-1], **given))
            for state in still[:_STATES]:
                look(self.cw.jobs.list(state=state, **given))
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
            return _first(pages, MOST_DEAD)

        return self._reads.read(("dead", client, prefix, from_, to), 4, ask)

    def operations(self, client: str) -> Seen[Found[Operation]]:
        """The newest operations of a client."""

        def ask() -> Found[Operation]:
            return _first(self.cw.operations.list(client_id=client, page_size=MOST_OPERATIONS + 1), MOST_OPERATIONS)

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
        given: dict[str, Any] = {("from_" if name == "from" else name): value or None for name, value in which.items()}

        def ask() -> ClientRuns:
            return self.cw.clients.runs(client_id=client, page_size=MOST_RUNS, next_token=next_token, **given)

        return self._reads.read(("client-runs", client, tuple(which.items()), next_token), 10, ask)

    def upcoming(self, client: str, until: datetime, hours: int) -> Seen[Found[UpcomingItem]]:
        """The starts within so many hours, which end at `until`. The API admits each look like a create."""

        def ask() -> Found[UpcomingItem]:
            pages = self.cw.upcoming(to=until, client_id=client, page_size=MOST_UPCOMING)
            return _first(pages, MOST_UPCOMING)

        return self._reads.read(("upcoming", client, hours), 30, ask)

    def trail(self, client: str) -> Seen[Found[AuditEntry]]:
        """The newest changes of a client."""

        def ask() -> Found[AuditEntry]:
            return _first(self.cw.audit(client_id=client, page_size=MOST_CHANGES), MOST_CHANGES)

        return self._reads.read(("trail", client), 4, ask)

    def preview(self, schedule: Mapping[str, Any], count: int) -> Seen[Preview]:
        """The next fires of a schedule in the API's names. Nothing is saved, and a look is let in like a create."""

        def ask() -> Preview:
            return self.cw.jobs.preview(schedule=schedule, count=count)

        return self._reads.read(("preview", json.dumps(schedule, sort_keys=True)), 60, ask)

    def fires(self, job: Job) -> Seen[JobFires]:
        """The next fires of a named job. They change with the job, and as time passes."""
        key = ("fires", job.job_id, job.revision)
        return self._reads.read(key, 60, lambda: self.cw.jobs.fires(job.job_id, count=MOST_FIRES))


def within(now: datetime, hours: int) -> datetime:
    """The end of the next so many hours."""
    return now + timedelta(hours=hours)


def _first(pages: Iterable[Item], most: int) -> Found[Item]:
    found = tuple(islice(pages, most + 1))
    return Found(found[:most], len(found) > most)
