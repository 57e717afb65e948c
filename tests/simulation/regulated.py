"""Ordered jobs, the client with caps, and operators who pause it, resume it, and see to what is parked or dead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.ids import only_execution
from clockwork.domain.jobs import HttpTarget, RetryPolicy
from clockwork.domain.parking import Parked
from clockwork.domain.requests import CreateRequest, NewJob
from clockwork.flows import authorise, cancel, create, dead
from clockwork.flows.world import World
from tests.examples import outline
from tests.simulation.clients import (
    Visit,
    accept,
    ask_again,
    create_asked,
    create_once,
    get_one,
    note_cancel,
    request_of,
)
from tests.simulation.requests import ADMIN, NARROW, REGULATED, KeyedRequest

T = TypeVar("T")
#: Few keys for many jobs, so that they queue up.
ORDERING_KEYS = ("first key", "second key")


def _regulated(work: Callable[[Visit], None], client: Client = REGULATED) -> Callable[[Visit], None]:
    """The same, done by a client with caps."""

    def visit_as_regulated(visit: Visit) -> None:
        visit.client = client
        work(visit)

    return visit_as_regulated


def create_ordered(visit: Visit) -> None:
    """Some jobs of one key, soon and close together."""
    asked = request_of(visit, visit.rng.randint(1, 5), f"ordered-{visit.rng.getrandbits(64):x}")
    key = visit.rng.choice(ORDERING_KEYS)
    jobs = [
        msgspec.structs.replace(
            job,
            record="full",
            delay_ms=visit.rng.choice((0, 3_000, 20_000, 60_000)) + visit.rng.randrange(3),
            ordering_key=key,
            sequence=visit.rng.randrange(100),
            relevancy_window_seconds=None,
        )
        for job in asked.jobs
    ]
    ask_again(visit, KeyedRequest(msgspec.structs.replace(asked, jobs=tuple(jobs), outlines=()), visit.now))


def create_each(visit: Visit) -> None:
    """Requests of one job each that came in one batch, each under its own key; one of them may come twice."""
    asked = [request_of(visit, 1, f"each-{visit.rng.getrandbits(64):x}") for _ in range(visit.rng.randint(1, 4))]
    if visit.rng.random() < 0.3:
        asked.append(msgspec.structs.replace(asked[0], digest="another digest"))
    created = visit.call_until_answered(lambda world, shards: create.create_each(world, asked, shards))
    for request, job in zip(asked, created, strict=True):
        if isinstance(job, create.CreatedJob):
            accept(visit, request, [job])


def create_alike(visit: Visit) -> None:
    """A batch whose jobs share rows: alike, close together, some left out of it at first."""
    asked = request_of(visit, visit.rng.randint(10, 40), f"alike-{visit.rng.getrandbits(64):x}")
    first, delay_ms = asked.jobs[0], visit.rng.choice((30_000, 200_000, 500_000))
    jobs = tuple(
        msgspec.structs.replace(first, index=job.index, payload=job.payload, delay_ms=delay_ms + 10 * job.index)
        for job in asked.jobs
    )
    whole = with_jobs(asked, jobs)
    some = msgspec.structs.replace(whole, jobs=tuple(job for job in jobs if job.index % 7))
    ask_again(visit, KeyedRequest(some, visit.now))
    ask_again(visit, KeyedRequest(whole, visit.now))


def create_crowd(visit: Visit) -> None:
    """Some jobs at once, more than the client may have under way; each is tried once, and briefly."""
    asked, delay_ms = request_of(visit, 5, None), visit.rng.choice((5_000, 100_000))
    target, once = HttpTarget("https://good.example.com/", timeout_seconds=5), RetryPolicy(max_attempts=1)
    jobs = [
        msgspec.structs.replace(job, at=None, delay_ms=delay_ms, target=target, record="full", retry_policy=once)
        for job in asked.jobs
    ]
    create_asked(visit, with_jobs(asked, jobs))


def with_jobs(asked: CreateRequest, jobs: Sequence[NewJob]) -> CreateRequest:
    """The request for other jobs."""
    outlines = tuple(outline(job) for job in jobs)
    return msgspec.structs.replace(asked, jobs=tuple(jobs), outlines=outlines)


def operate(visit: Visit, work: Callable[[World], T], principal: str = ADMIN) -> T:
    """What only an operator may do with the client that has caps."""

    def flow(world: World, _: Sequence[str]) -> T:
        caller = authorise.identify(world, principal)
        authorise.require_admin(caller)
        authorise.client_for(world, caller, REGULATED.client_id)
        return work(world)

    return visit.call_until_answered(flow)


def usurp(visit: Visit) -> None:
    """A client tries to resume itself."""
    operate(visit, lambda world: world.clients.put(REGULATED), visit.client.principals[0])
    visit.watcher.violated("I9", "somebody who is no operator acts as one")


def pause_client(visit: Visit) -> None:
    operate(visit, lambda world: world.clients.put(msgspec.structs.replace(REGULATED, paused=True)))


def resume_client(visit: Visit) -> None:
    """Resume the client, and perhaps think better of it while what was parked is let go."""
    operate(visit, lambda world: world.clients.put(REGULATED))
    if visit.rng.random() < 0.6:
        visit.actor.pause(visit.rng.randrange(5_000, 90_000))
        pause_client(visit)


def release_sidelined(visit: Visit) -> None:
    rate = visit.rng.choice((0.2, 5.0, 100.0))
    client_id = visit.rng.choice((visit.client, REGULATED)).client_id
    operate(visit, lambda world: world.regulation.direct_parked(Parked(client_id, rate=rate, by_hand=True)))


def discard_sidelined(visit: Visit) -> None:
    client_id = REGULATED.client_id
    visit.watcher.discarded.add(client_id)
    operate(
        visit,
        lambda world: world.regulation.direct_parked(Parked(client_id, discard_until=world.clock.now())),
    )


def redrive_one(visit: Visit) -> None:
    """Deliver after all what the client finds dead."""
    client_id = visit.client.client_id
    visit.watcher.redriven.add(client_id)

    def flow(world: World, _: Sequence[str]) -> None:
        page = dead.list_dead(world, client_id, dead.DeadFilter(), 5, None)
        for execution in page.executions[:1]:
            dead.redrive(world, execution)

    visit.call_until_answered(flow)


def redrive_any(visit: Visit) -> None:
    """Try to deliver again what need not be dead."""
    promise = visit.known_job()
    if promise is None:
        create_once(visit, 1)
        return
    visit.watcher.redriven.add(visit.client.client_id)

    def flow(world: World, _: Sequence[str]) -> None:
        stored = world.executions.find(promise.job_id, only_execution(promise.job_id, promise.occurrence.due_at))
        if stored is not None:
            dead.redrive(world, stored)

    visit.call_until_answered(flow)


def redrive_many(visit: Visit) -> None:
    """Everything dead of the client, or what of it is meant."""
    visit.watcher.redriven.add(visit.client.client_id)
    wanted = visit.rng.choice((dead.DeadFilter(), dead.DeadFilter(prefix="job-")))
    visit.call_until_answered(lambda w, _: dead.redrive_dead(w, visit.client.client_id, wanted, 20, None))


def discard_dead(visit: Visit) -> None:
    """Put away what is dead, of a time or of all times."""
    visit.watcher.redriven.add(visit.client.client_id)
    now = visit.now
    wanted = visit.rng.choice((dead.DeadFilter(), dead.DeadFilter(from_at=now - 200_000, to_at=now - 50_000)))
    visit.call_until_answered(lambda w, _: dead.discard_dead(w, visit.client.client_id, wanted, 20, None))


def cancel_execution(visit: Visit) -> None:
    """Cancel a job by its execution."""
    promise = visit.known_job()
    if promise is None:
        create_once(visit, 1)
        return
    promise.cancel_asked = True
    execution_id = only_execution(promise.job_id, promise.occurrence.due_at)
    answer, _ = visit.call_until_answered(lambda w, _: cancel.cancel_execution(w, visit.caller(w), execution_id))
    note_cancel(visit, promise, answer)


REGULATED_OPERATIONS: dict[str, Callable[[Visit], None]] = {
    "create capped": _regulated(lambda visit: create_once(visit, visit.rng.choice((1, 1, 3, 15)))),
    "get capped": _regulated(get_one),
    "create ordered": create_ordered,
    "create ordered capped": _regulated(create_ordered),
    "create each": create_each,
    "create alike": create_alike,
    "create crowd": _regulated(create_crowd, NARROW),
    "usurp": usurp,
    "pause client": pause_client,
    "resume client": resume_client,
    "release sidelined": release_sidelined,
    "discard sidelined": discard_sidelined,
    "redrive": redrive_one,
    "redrive any": redrive_any,
    "redrive many": redrive_many,
    "discard dead": discard_dead,
    "cancel execution": cancel_execution,
}
REGULATED_WEIGHTS = {
    "create capped": 5, "get capped": 1, "create ordered": 4, "create ordered capped": 1, "create each": 3,
    "create alike": 2, "create crowd": 2, "usurp": 1, "pause client": 2, "resume client": 2, "release sidelined": 2,
    "discard sidelined": 1, "redrive": 2, "redrive any": 1, "redrive many": 2, "discard dead": 4, "cancel execution": 4,
}  # fmt: skip
