"""More clients of named jobs: the original wire format, requests that collide at one key, lists and single runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from clockwork.domain.errors import JobNotFound, NotScheduled
from clockwork.domain.ids import is_named
from clockwork.domain.keys import plain_partitions
from clockwork.domain.lifecycle.cancels import Verdict
from clockwork.domain.named import changes
from clockwork.domain.named_jobs import Definition, JobState, NamedJob
from clockwork.flows.access import get_by_key
from clockwork.flows.named import trigger, write
from clockwork.flows.requests import cancel
from clockwork.flows.requests.read import JobPage, list_jobs
from clockwork.flows.world import World
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from tests.simulation.clients import Flow, Step, Visit
from tests.simulation.named_clients import KEYS, ORDERING_KEYS, answered, create, definition, known, life_of, living
from tests.simulation.requests import HOARDER


def schedule(visit: Visit) -> None:
    """POST /schedule of the original Clockwork: ordered, recorded, and the key of an ended job may be used again."""
    at = visit.now + visit.rng.choice((0, 5_000, 60_000, 250_000)) + visit.rng.randrange(1_000)
    wanted = msgspec.structs.replace(
        definition(visit.rng, visit.now, visit.desk.began_at),
        at=at,
        recurrence=None,
        overlap="allow",
        ordering_key=visit.rng.choice(ORDERING_KEYS),
        sequence=0,
    )
    text = visit.rng.choice((b'{"the": "same"}', b'{"n": %d}' % visit.rng.getrandbits(64)))
    key = visit.rng.choice(KEYS)

    def flow(world: World, partitions: Sequence[str]) -> write.Written:
        client = visit.acting_for(world, visit.client.client_id)
        asked = write.NamedRequest(client=client, job_key=key, as_sent=text, definition=wanted, gives_up_key=True)
        return write.create_named(world, asked, partitions)

    answered(visit, visit.call_until_answered(flow, 1))


def unschedule(visit: Visit) -> None:
    """Sends DELETE /schedule of the original Clockwork."""
    key = visit.rng.choice(KEYS)

    def flow(world: World, _: Sequence[str]) -> write.Written:
        job = get_by_key(world, visit.acting_for(world, visit.client.client_id).client_id, key)
        if job is None or not job.is_alive or write.has_ended(world, job):
            raise NotScheduled(key)
        return write.change(world, job, None, changes.cancelled(None))

    answered(visit, visit.call(flow), is_change=True, is_new=True)


def contend(visit: Visit) -> None:
    """Makes two creates and a delete of one key at the same moment."""
    key = visit.rng.choice(KEYS)
    for work in (create_under(key), delete_under(key)):
        step = Step(visit.now, "contend", visit.client, visit.rng.getrandbits(64), visit.step.by_stranger)
        visit.desk.carry_out(step, work)
    create_under(key)(visit)


def create_under(key: str) -> Callable[[Visit], None]:
    """An operation that creates a job under this key."""
    return lambda visit: create(visit, key=key)


def delete_under(key: str) -> Callable[[Visit], None]:
    """An operation that deletes the key's job, several times within about a second."""

    def work(visit: Visit) -> None:
        for _ in range(5):
            visit.actor.pause(visit.rng.randrange(10, 400))
            visit.call(flow_of(visit))

    def flow_of(visit: Visit) -> Callable[[World, Sequence[str]], None]:
        def flow(world: World, _: Sequence[str]) -> None:
            job = get_by_key(world, visit.acting_for(world, visit.client.client_id).client_id, key)
            if job is not None and job.is_alive:
                write.change(world, job, None, changes.cancelled(None))

        return flow

    return work


def list_named(visit: Visit) -> None:
    """Pages through a client's jobs: each job that exists throughout is listed once, and no other client's job is.

    A job that cannot be read just now is told by its key.
    """
    visit.client = visit.rng.choice((visit.client, visit.client, HOARDER))
    client_id, prefix = visit.client.client_id, visit.rng.choice((None, "job-", "other"))
    lives = visit.watcher.named.lives
    before = {key for (owner, key), life in lives.items() if owner == client_id and life.truths[-1].is_alive}
    changes = {key: len(lives[client_id, key].truths) for key in before}
    damaged = _unreadable(visit)
    listed: list[NamedJob] = []
    told: list[str] = []
    after: str | None = None
    while True:
        page = visit.call_until_answered(_page(visit, prefix, after))
        listed += page.jobs
        told += page.unreadable
        after = page.next_after
        if after is None:
            break
    keys = [job.job_key for job in listed]
    visit.watcher.require(all(job.client_id == client_id for job in listed), "I9", "another client's job is listed")
    visit.watcher.require(keys == sorted(set(keys)), "I1", f"a list is out of order: {keys}")
    unreadable = _unreadable(visit)
    is_true = {*told} <= {*damaged, *unreadable} and not {*told} & {*keys}
    visit.watcher.require(is_true, "I1", f"a list tells of {told}, has {keys}, and {unreadable} cannot be read")
    if client_id == HOARDER.client_id:  # its jobs cannot be read, permanently
        is_told = told == sorted(key for key in unreadable if key.startswith(prefix or ""))
        visit.watcher.require(is_told, "I1", f"a list tells of {told}, and {unreadable} cannot be read")
    for key in before - {*keys, *told}:
        is_meant = key.startswith(prefix or "") and changes[key] == len(lives[client_id, key].truths)
        visit.watcher.require(not is_meant, "I1", f"a list lacks {key}")


def _unreadable(visit: Visit) -> list[str]:
    """The keys of the visitor's client whose rows cannot be read now."""
    return [key for owner, key in visit.desk.cloud.stores.jobs.unreadable if owner == visit.client.client_id]


def _page(visit: Visit, prefix: str | None, after: str | None) -> Flow[JobPage]:
    limit = visit.rng.choice((1, 3, 100))

    def flow(world: World, _: Sequence[str]) -> JobPage:
        client_id = visit.acting_for(world, visit.client.client_id).client_id
        return list_jobs(world, client_id, prefix, after, limit, lambda job: job.is_alive)

    return flow


def reuse_run_key(visit: Visit) -> None:
    """Runs two jobs by hand under one key: the second run must be refused."""
    lives = visit.watcher.named.lives
    mine = [life.truths[-1] for (owner, _), life in lives.items() if owner == visit.client.client_id]
    alive = [job.job_id for job in mine if job.is_alive]
    if len(alive) < 2:
        create(visit)
        return
    key = f"run-{visit.rng.getrandbits(64)}"
    first, second = visit.rng.sample(alive, 2)
    execution_id = visit.call_until_answered(lambda w, _: trigger.run_now(w, living(visit, w, first), key))
    life_of(visit, first).by_hand.add(execution_id)
    visit.call(lambda w, _: trigger.run_now(w, living(visit, w, second), key))
    visit.watcher.violated("I10", f"{key} was accepted for another job")


def cancel_named_execution(visit: Visit) -> None:
    """Cancels one execution of a named job, or one that never existed."""
    job_id = known(visit)

    def flow(world: World, _: Sequence[str]) -> tuple[Verdict, str]:
        if not is_named(job_id):
            raise JobNotFound(job_id)
        records = world.executions.list(job_id, 5, None)
        wanted = [one.execution_id for one in records if not one.is_final] or [f"{job_id}.1700000000000.0"]
        answer, execution = cancel.cancel_execution(world, visit.caller(world), wanted[0])
        return answer.verdict, execution.execution_id

    verdict, execution_id = visit.call_until_answered(flow)
    if verdict is Verdict.CANCELLED:
        visit.watcher.named.cancelled.add(execution_id)


def hoard(now: int, count: int, client_id: str = HOARDER.client_id) -> Sequence[NamedJob]:
    """The jobs that a client deleted in earlier years."""
    wanted = Definition(target=HttpTarget("https://good.example.com/"), payload=Payload(b"old"), at=now)
    return [
        NamedJob(
            client_id=client_id,
            job_key=f"job-{number:05d}",
            incarnation=1,
            revision=2,
            series=f"old-{number}",
            state=JobState.CANCELLED,
            partition_id=plain_partitions(1)[0],
            definition=wanted,
            as_sent=b"{}",
            created_at=now,
            changed_at=now,
            chain_after_at=now,
            asked_at=now,
        )
        for number in range(count)
    ]


FURTHER_OPERATIONS: dict[str, Callable[[Visit], None]] = {
    "schedule": schedule,
    "unschedule": unschedule,
    "contend": contend,
    "list named": list_named,
    "reuse run key": reuse_run_key,
    "cancel named execution": cancel_named_execution,
}
FURTHER_WEIGHTS = {
    "schedule": 4, "unschedule": 2, "contend": 2, "list named": 2, "reuse run key": 1, "cancel named execution": 2,
}  # fmt: skip
