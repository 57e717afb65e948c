"""The clients: an operation is what one client does, repeats included. A new one is a function and a dict entry."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.errors import ClockworkError, PartitionThrottled, TooManyRequests, Unavailable
from clockwork.domain.executions import Execution
from clockwork.domain.ids import only_execution
from clockwork.domain.lifecycle.cancels import Verdict
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.requests.create import CreateRequest, occurrence_of
from clockwork.domain.requests.quotas import Admit
from clockwork.domain.requests.reading import THROTTLED_SECONDS, Kind
from clockwork.domain.workflows.definition import WorkflowTarget
from clockwork.flows import access
from clockwork.flows.requests import cancel, create, read
from clockwork.flows.requests.quotas import Intake
from clockwork.flows.requests.reading import Reading
from clockwork.flows.workflows.views import nodes_of_run, place_of_node, view_of_run
from clockwork.flows.world import World
from tests.simulation.cloud import ApiEnvironment, Cloud
from tests.simulation.faults import Fault
from tests.simulation.requested import Requests
from tests.simulation.requests import CLIENTS, RETRY_POLICIES, KeyedRequest, new_job
from tests.simulation.scheduler import Actor
from tests.simulation.watcher import Promise, Watcher
from tests.support.examples import outline

T = TypeVar("T")
Flow = Callable[[World, Sequence[str]], T]
STRANGER = "arn:aws:iam::999999999999:user/stranger"
#: A client calls at most this many times before it gives up.
TRIES = 4
#: A client that waits for the next tick stops waiting up to this long (ms) before the tick.
LONGEST_AHEAD_MS = 4_000


class GaveUp(Exception):
    """The client got no definite answer, however often it asked."""


@dataclass
class Step:
    """One operation of the script: when it happens, its name, its client, and the seed of its random numbers."""

    at: int
    operation: str
    client: Client
    seed: int
    #: Whether a principal asks that no client lists; the api must then refuse.
    by_stranger: bool = False


class Desk:
    """State shared by all clients of a run: the jobs they were promised, and the keys they used."""

    def __init__(self, cloud: Cloud, watcher: Watcher, herd_at: int) -> None:
        self.began_at = cloud.scheduler.now
        self.cloud = cloud
        self.watcher = watcher
        self.herd_at = herd_at
        self.retry_policies: Sequence[RetryPolicy] = RETRY_POLICIES
        #: Whether some of the jobs end by callback.
        self.some_complete = False
        #: Whether workers pull some of them.
        self.some_pull = False
        self.keyed: list[KeyedRequest] = []
        self.requests = Requests(cloud, self.count)
        self.outcomes: Counter[tuple[str, str]] = Counter()

    def count(self, operation: str, outcome: str) -> None:
        """Counts the outcome of an operation."""
        self.outcomes[operation, outcome] += 1

    def carry_out(self, step: Step, work: Callable[[Visit], None]) -> None:
        """Lets a client carry out a step, as an actor of its own."""

        def run(actor: Actor) -> None:
            visit = Visit(self, actor, step)
            try:
                work(visit)
                outcome = "succeeded"
                self.watcher.require(not step.by_stranger, "I9", f"a stranger is let in: {step.operation}")
            except GaveUp:
                outcome = "unanswered"
            except ClockworkError as error:
                outcome = f"refused: {type(error).__name__}"
            self.count(step.operation, outcome)
            self.cloud.history.add(self.cloud.scheduler.now, actor.name, f"{step.operation} {outcome}", None, ())

        self.cloud.scheduler.spawn(f"{step.client.client_id} {step.operation}", run)


class TooManyReads(TooManyRequests):
    """The client was refused for what it reads. That is over soon, where a quota may stay full."""


@contextmanager
def at_a_pace(world: World, reading: Reading, client_id: str) -> Iterator[None]:
    """Answers a request that the client pays for, as the api does. Raises TooManyReads."""
    reading.begin(world)
    try:
        reading.admit(world, Kind.LOOK, [client_id])
    except TooManyRequests as error:
        raise TooManyReads(str(error), error.retry_after_seconds) from error
    try:
        yield
    except PartitionThrottled as error:
        raise TooManyReads(str(reading.throttled(world, error)), THROTTLED_SECONDS) from error
    finally:
        reading.settle(world)


class Visit:
    """One client carrying out one operation."""

    def __init__(self, desk: Desk, actor: Actor, step: Step) -> None:
        self.desk = desk
        self.actor = actor
        self.step = step
        self.client = step.client
        self.rng = random.Random(step.seed)
        #: That of the environment which answers the call under way.
        self.intake = Intake()

    @property
    def now(self) -> int:
        return self.desk.cloud.scheduler.now

    @property
    def watcher(self) -> Watcher:
        return self.desk.watcher

    @property
    def principal(self) -> str:
        """The principal that calls."""
        return STRANGER if self.step.by_stranger else self.client.principals[0]

    @property
    def may_act(self) -> bool:
        """Whether the principal may do what it asks for."""
        return not self.step.by_stranger

    def caller(self, world: World) -> access.Caller:
        """The caller, identified as the edge does it."""
        return access.require_known(world, access.identify(world, self.principal))

    def acting_for(self, world: World, client_id: str | None) -> Client:
        """The client that the request names, or the caller's only client if it names none."""
        return access.client_for(world, access.identify(world, self.principal), client_id)

    def admitting(self, world: World, client: Client | None = None) -> Admit:
        """The function that lets in so many occurrences of the client, in the environment that answers its call.

        `client`: as the table has it, where it may be on its way.
        """
        return partial(self.intake.admit, world, client or self.client)

    def call(self, flow: Flow[T], creates: int | None = None) -> T:
        """Sends a request to the api, `creates` jobs counted against the quota. Raises the api's error, or GaveUp."""

        def work(world: World, environment: ApiEnvironment) -> T:
            self.intake = environment.intake
            with at_a_pace(world, environment.intake.reading, self.client.client_id):
                if creates is not None:
                    client = self.acting_for(world, self.client.client_id)
                    environment.intake.admit(world, client, creates)
                return flow(world, environment.shards(world))

        desk = self.desk
        called = desk.cloud.call_api(f"api<{self.actor.name}", work)
        patience = self.rng.choice((1_000, 10_000, 29_000)) if desk.cloud.adversary.is_active else 60_000
        called.on_end = lambda _: desk.cloud.scheduler.after(0, self.actor.resume)
        desk.cloud.scheduler.after(patience, lambda: self.actor.resume() if not called.ended else None)
        desk.cloud.scheduler.hub.switch()
        called.on_end = None
        if not called.ended:
            desk.cloud.adversary.counts[Fault.CLIENT_GIVES_UP] += 1
            raise GaveUp
        if called.error is not None:
            raise called.error
        if called.killed:
            raise GaveUp
        return called.result  # type: ignore[return-value]

    def call_until_answered(self, flow: Flow[T], creates: int | None = None) -> T:
        """Repeats the same request until it gets a definite answer. Raises GaveUp after TRIES calls."""
        for number in range(TRIES):
            if number:
                self.desk.cloud.adversary.counts[Fault.CLIENT_REPEATS] += 1
                self.actor.pause(self.rng.randrange(10, 20_000))
            try:
                return self.call(flow, creates)
            except (GaveUp, Unavailable, TooManyReads):
                continue
        raise GaveUp

    def known_job(self, client: Client | None = None) -> Promise | None:
        """Some job that the client was promised, rather a recent one than an old one."""
        mine = [
            p for p in self.watcher.promises.values() if p.occurrence.client_id == (client or self.client).client_id
        ]
        return mine[-1 - min(int(self.rng.expovariate(0.1)), len(mine) - 1)] if mine else None

    def job_at_edge(self) -> Promise | None:
        """The client's unrecorded job that a horizon reaches next, so that a poller is about to release it."""
        edge = max(self.watcher.edges(), default=0)
        mine = [p for p in self.watcher.promises.values() if p.occurrence.client_id == self.client.client_id]
        wanted = [p for p in mine if p.occurrence.record == "none" and not p.cancel_asked]
        beyond = [p for p in wanted if p.occurrence.due_at > edge]
        return min(beyond, key=lambda p: p.occurrence.due_at) if beyond else self.known_job()

    def wait_for_tick(self) -> None:
        """Waits until shortly before the minute's tick, which starts pollers and moves horizons, if it is to come."""
        left_ms = self.desk.cloud.fires_at["tick"] - self.now
        self.actor.pause(max(0, left_ms - self.rng.randrange(LONGEST_AHEAD_MS)))

    def other(self) -> Client:
        """Some other client."""
        return self.rng.choice([client for client in CLIENTS if client is not self.client])


def accept(visit: Visit, request: CreateRequest, created: Sequence[create.CreatedJob]) -> None:
    """Notes that the client was answered 201."""
    visit.watcher.require(len(created) == len(request.jobs), "I1", "not every job of a request was answered")
    for job, new in zip(created, request.jobs, strict=True):
        created_at = job.due_at - new.delay_ms if new.at is None else 0
        visit.watcher.require(new.at in (None, job.due_at), "I1", "another instant than asked for", job.job_id)
        visit.watcher.acknowledged(job.job_id, occurrence_of(new, request.client, created_at))


def request_of(visit: Visit, count: int, key: str | None, *, some_end: bool = False) -> CreateRequest:
    """Draws the jobs of a request. `some_end`: some of them end with executions of a state machine."""
    cloud = visit.desk.cloud
    edges = [at for at in visit.watcher.edges() if at > visit.now]
    # A message without a permit is sent anew, so poison of a client with a cap would never be received too often.
    has_cap = visit.client.max_concurrency is not None
    jobs = tuple(
        new_job(
            visit.rng,
            cloud.adversary,
            cloud.settings,
            n,
            visit.now,
            visit.desk.herd_at,
            edges,
            may_poison=not has_cap,
            retry_policies=visit.desk.retry_policies,
            some_complete=visit.desk.some_complete,
            some_pull=visit.desk.some_pull,
            some_end=some_end,
        )
        for n in range(count)
    )
    if key is not None:
        jobs = tuple(msgspec.structs.replace(job, at=None) for job in jobs)
    outlines = tuple(map(outline, jobs)) if count > 1 else ()
    return CreateRequest(
        client=visit.client, jobs=jobs, outlines=outlines, idempotency_key=key, digest=f"digest of {key}"
    )


def create_once(visit: Visit, count: int) -> None:
    create_asked(visit, request_of(visit, count, None, some_end=True))


def create_asked(visit: Visit, request: CreateRequest) -> None:
    """Asks once: without a key a repeat would create another job."""
    created = visit.call(lambda world, shards: _create(visit, world, shards, request), len(request.jobs))
    accept(visit, request, created)


def _create(visit: Visit, world: World, shards: Sequence[str], request: CreateRequest) -> Sequence[create.CreatedJob]:
    client = visit.acting_for(world, request.client.client_id)
    return create.create_jobs(world, msgspec.structs.replace(request, client=client), shards)


def create_keyed(visit: Visit, count: int) -> None:
    key = f"key-{visit.rng.getrandbits(64):x}"
    keyed = KeyedRequest(request_of(visit, count, key, some_end=True), visit.now)
    visit.desk.keyed.append(keyed)
    ask_again(visit, keyed)


def ask_again(visit: Visit, keyed: KeyedRequest) -> None:
    request, began = _valid_now(visit, keyed.request), visit.now
    created = visit.call_until_answered(lambda world, shards: _create(visit, world, shards, request), len(request.jobs))
    ids = {new.index: job.job_id for new, job in zip(request.jobs, created, strict=True)}
    if keyed.answers and began > keyed.known_until:
        known = {job_id for _, earlier in keyed.answers for job_id in earlier.values()}
        visit.watcher.require(known.isdisjoint(ids.values()), "I10", "a key outlives its memory")
    created_at = created[0].due_at - request.jobs[0].delay_ms
    memory_ms = visit.desk.cloud.settings.idempotency_seconds * 1000
    keyed.known_until = max(keyed.known_until, created_at + memory_ms + 2_000)
    memory_ends = keyed.first_at + visit.desk.cloud.settings.idempotency_seconds * 1000 - 2_000
    for at, earlier in keyed.answers:
        if visit.now < memory_ends and at < memory_ends:
            moved = [job_id for index, job_id in ids.items() if earlier.get(index, job_id) != job_id]
            visit.watcher.require(not moved, "I10", "one Idempotency-Key, and other jobs", *moved[:1])
    keyed.answers.append((visit.now, ids))
    accept(visit, request, created)


def _valid_now(visit: Visit, request: CreateRequest) -> CreateRequest:
    """The request with only those jobs that are valid now: between repeats, the client's rights may change."""
    if len(request.jobs) == 1 or not visit.desk.cloud.adversary.is_active or visit.rng.random() < 0.6:
        return request
    valid = [job for job in request.jobs if visit.rng.random() < 0.7] or [visit.rng.choice(request.jobs)]
    return msgspec.structs.replace(request, jobs=tuple(valid))


def repeat_keyed(visit: Visit) -> None:
    mine = [keyed for keyed in visit.desk.keyed if keyed.request.client is visit.client]
    if mine:
        visit.desk.cloud.adversary.counts[Fault.CLIENT_REPEATS] += 1
        keyed = visit.rng.choice(mine)
        if keyed.answers and visit.rng.random() < 0.1:
            # Wait until the key is forgotten, so that the repeat counts as another request.
            visit.actor.pause(max(0, keyed.known_until + 1 - visit.now))
        ask_again(visit, keyed)
    else:
        create_keyed(visit, 1)


def reuse_key(visit: Visit) -> None:
    """Sends another request under a used key: the api must refuse it as long as it remembers the key."""
    memory = visit.desk.cloud.settings.idempotency_seconds * 1000
    mine = [k for k in visit.desk.keyed if k.answers and k.request.client is visit.client]
    mine = [k for k in mine if visit.now < k.first_at + memory - 200_000]
    if not mine:
        create_keyed(visit, 1)
        return
    keyed = visit.rng.choice(mine)
    other = msgspec.structs.replace(keyed.request, digest="another digest")
    visit.call(lambda world, shards: _create(visit, world, shards, other), len(other.jobs))
    visit.watcher.violated("I10", f"{other.idempotency_key} was accepted for another request")


def trespass(visit: Visit) -> None:
    """Creates a job in the name of another client, which must be refused."""
    request = msgspec.structs.replace(request_of(visit, 1, None), client=visit.other())
    visit.call(lambda world, shards: _create(visit, world, shards, request), 1)
    visit.watcher.violated("I9", "a job was made for another client")


def cancel_one(visit: Visit) -> None:
    at_edge = visit.rng.random() < 0.4
    if at_edge:
        visit.wait_for_tick()
    promise = visit.job_at_edge() if at_edge else visit.known_job()
    if promise is None:
        create_once(visit, 1)
        return
    promise.cancel_asked |= visit.may_act
    answer = visit.call_until_answered(lambda w, _: cancel.cancel_job(w, visit.caller(w), promise.job_id))
    note_cancel(visit, promise, answer)


def note_cancel(visit: Visit, promise: Promise, answer: cancel.CancelAnswer) -> None:
    """Notes the answer that a client got to its cancel."""
    if answer.verdict is not Verdict.TOO_LATE:
        promise.listed = frozenset((one.execution_id, one.attempt) for one in answer.executions)
    if answer.verdict is Verdict.CANCELLED:
        visit.watcher.cancelled(promise.job_id)
    elif answer.verdict is Verdict.RUNNING:
        is_run = isinstance(promise.occurrence.target, WorkflowTarget)
        has_all = bool(answer.executions) if is_run else len(answer.executions) == 1
        visit.watcher.require(has_all, "I5", "running is answered and not listed", promise.job_id)
        attempt = answer.executions[0].attempt
        promise.running_attempt = min(attempt, promise.running_attempt or attempt)
    visit.desk.outcomes["cancel", str(answer.verdict)] += 1


def get_one(visit: Visit) -> None:
    promise = visit.known_job()
    if promise is None:
        create_once(visit, 1)
        return
    cancelled = promise.cancelled_at is not None
    started = bool(visit.watcher.seen[promise.job_id].starts)
    view = visit.call_until_answered(lambda w, _: read.view_job(w, visit.caller(w), promise.job_id))
    if cancelled:
        visit.watcher.require(view.state == "CANCELLED", "I5", f"cancelled, and shown as {view.state}", promise.job_id)
    if started:
        visit.watcher.require(view.state != "SCHEDULED", "I1", "started, and shown as SCHEDULED", promise.job_id)


def list_one(visit: Visit) -> None:
    promise = visit.known_job()
    if promise is None:
        create_once(visit, 1)
        return
    page = visit.call_until_answered(lambda w, _: read.list_executions(w, visit.caller(w), promise.job_id, 10))
    visit.watcher.require(len(page.executions) <= 1, "I4", "one occurrence, several executions", promise.job_id)
    if isinstance(promise.occurrence.target, WorkflowTarget):
        visit.call_until_answered(lambda w, _: look_at_runs(w, page.executions))
    visit.watcher.require(page.next_before is None, "I4", "more executions than there are", promise.job_id)


def look_at_runs(world: World, runs: Sequence[Execution]) -> None:
    """Reads what is told of runs and of each of their nodes."""
    for run in runs:
        view_of_run(world, run)
        for node in nodes_of_run(world, run).items:
            if node.record is not None:
                place_of_node(world, node.record)


def get_execution(visit: Visit) -> None:
    recorded = [p for p in visit.watcher.promises.values() if p.occurrence.record == "full"]
    mine = [p for p in recorded if p.occurrence.client_id == visit.client.client_id]
    execution_id = only_execution(mine[0].job_id, mine[0].occurrence.due_at) if mine else "not-an-id"
    visit.call_until_answered(lambda w, _: read.get_execution(w, visit.caller(w), execution_id))


def snoop(visit: Visit) -> None:
    """Asks for another client's job in one of several ways, each of which must be refused."""
    promise = visit.known_job(visit.other())
    job_id = promise.job_id if promise is not None else visit.rng.choice(("nonsense", "a", "aXXXX"))
    due_at = promise.occurrence.due_at if promise is not None else 0
    way = visit.rng.choice(("view", "list", "execution", "cancel"))

    def flow(w: World, _: Sequence[str]) -> object:
        caller = visit.caller(w)
        if way == "view":
            return read.view_job(w, caller, job_id)
        if way == "list":
            return read.list_executions(w, caller, job_id, 10)
        if way == "execution":
            return read.get_execution(w, caller, only_execution(job_id, due_at))
        return cancel.cancel_job(w, caller, job_id)

    visit.call_until_answered(flow)
    visit.watcher.violated("I9", f"another client's job is shown ({way})", job_id)


ANONYMOUS_OPERATIONS: dict[str, Callable[[Visit], None]] = {
    "create": lambda visit: create_once(visit, 1),
    "create batch": lambda visit: create_once(visit, visit.rng.randint(2, 12)),
    "create keyed": lambda visit: create_keyed(visit, 1),
    "create keyed batch": lambda visit: create_keyed(visit, visit.rng.randint(2, 8)),
    "repeat": repeat_keyed,
    "reuse key": reuse_key,
    "cancel": cancel_one,
    "get": get_one,
    "list": list_one,
    "get execution": get_execution,
    "snoop": snoop,
    "trespass": trespass,
}
#: How often each operation is drawn.
ANONYMOUS_WEIGHTS = {
    "create": 24, "create batch": 6, "create keyed": 16, "create keyed batch": 6, "repeat": 12, "reuse key": 3,
    "cancel": 22, "get": 8, "list": 3, "get execution": 3, "snoop": 4, "trespass": 2,
}  # fmt: skip
