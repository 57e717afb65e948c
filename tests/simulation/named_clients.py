"""Clients of named jobs: create, repeat, replace, pause, resume, delete, run now, backfill, look."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import msgspec

from clockwork.domain.errors import JobNotFound
from clockwork.domain.ids import NamedJobId, decode_job, is_named
from clockwork.domain.named import changes
from clockwork.domain.named.changes import has_cancelled_waiting
from clockwork.domain.named_jobs import CatchUp, Definition, JobState, NamedJob, Overlap
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.recurrence import Every, Recurrence
from clockwork.domain.releases import LONGEST_DELAY_SECONDS
from clockwork.flows.access import get_named
from clockwork.flows.named import trigger, write
from clockwork.flows.named.repair import check_chain
from clockwork.flows.requests import read
from clockwork.flows.requests.read import list_jobs
from clockwork.flows.world import World
from clockwork.targets.http import HttpTarget
from clockwork.targets.kafka.target import KafkaTarget
from clockwork.targets.message import Payload
from clockwork.targets.pool import PoolTarget
from clockwork.targets.registry import Target
from tests.simulation.clients import Visit
from tests.simulation.named_history import CANCELLING
from tests.simulation.named_watcher import Life
from tests.simulation.requests import CALLED_BACK, COMPLETIONS, TOPIC, pool_target
from tests.simulation.watcher import MOST_SKEW_MS
from tests.simulation.zones import of_the_town

#: Few keys for many calls, so that calls collide.
ORDERING_KEYS = ("first key", "second key")
KEYS = tuple(f"job-{n}" for n in range(4))
#: A recurring job ends this long after the simulation began (ms), since a run has to end.
RECURS_UNTIL_MS = 2_100_000
#: A recurrence that never fires.
ENDLESSLY_PAST = Recurrence(every=Every(every_ms=60_000, anchor_at=0), end_at=60_000)
TO_KAFKA = KafkaTarget(TOPIC)
CATCH_UPS: tuple[CatchUp, ...] = ("all", "latest", "none")


def definition(
    rng: random.Random,
    now: int,
    began_at: int,
    *,
    in_town: bool = False,
    some_complete: bool = False,
    some_pull: bool = False,
) -> Definition:
    """Draws a definition as a client may want it.

    `in_town`: perhaps on a clock whose rules change; `some_complete`: perhaps its attempts end by callback;
    `some_pull`: perhaps workers pull it.
    """
    overlap: Overlap = rng.choice(("allow", "allow", "skip"))
    recurrence = None
    at: int | None = now + rng.choice((0, 1_000, 60_000, 250_000, 500_000)) + rng.randrange(1_000)
    if rng.random() < 0.5:
        at = None
        end_at = began_at + RECURS_UNTIL_MS
        every = Every(every_ms=rng.choice((7_000, 60_000, 130_000)), anchor_at=now + rng.randrange(1_000))
        jitter = rng.choice((0, 0, 3))
        recurrence = Recurrence(every=every, end_at=end_at, max_fires=rng.choice((None, 5)), jitter_seconds=jitter)
        if in_town and rng.random() < 0.7:
            recurrence = of_the_town(rng, end_at, jitter)
    ordering_key = rng.choice((*[None] * 8, *ORDERING_KEYS))
    target: Target = HttpTarget("https://good.example.com/", timeout_seconds=rng.choice((1, 15)))
    target = TO_KAFKA if rng.random() < 0.15 else target
    number = rng.getrandbits(64)
    completes = some_complete and ordering_key is None and number % 5 < 2
    if some_pull and ordering_key is None and number % 5 > 2:
        target = pool_target(number)
    return Definition(
        target=target,
        payload=Payload(b"named %d" % number),
        completion=COMPLETIONS[number % len(COMPLETIONS)] if completes else None,
        at=at,
        recurrence=recurrence,
        retry_policy=RetryPolicy(max_attempts=2, initial_seconds=5, max_age_seconds=rng.choice((600, 5_000))),
        catch_up=rng.choice(CATCH_UPS),
        overlap=overlap,
        on_failure=rng.choice((None, CALLED_BACK)),
        ordering_key=ordering_key,
        sequence=None if ordering_key is None else rng.randrange(100),
    )


def definition_of(visit: Visit) -> Definition:
    """Draws a definition for a client, by what its run is about."""
    return definition(
        visit.rng,
        visit.now,
        visit.desk.began_at,
        in_town=visit.watcher.named.zones.are_drawn,
        some_complete=visit.desk.some_complete,
        some_pull=visit.desk.some_pull,
    )


def answered(visit: Visit, written: write.Written, *, is_change: bool = False, is_new: bool = False) -> None:
    """Notes that the client was told the state of its job; `is_new`: this call caused that state.

    A call that caused it may have died before its fires were released. A repeat repairs that as long as it counts as
    the same request; a later one promises nothing about fires that were behind the horizon by then.
    """
    changed_at, promises_from = written.job.changed_at, 0
    memory_ms = visit.desk.cloud.settings.idempotency_seconds * 1000 - 4 * MOST_SKEW_MS
    if not (is_new or written.created) and visit.now > changed_at + memory_ms:
        promises_from = max(visit.now, changed_at + LONGEST_DELAY_SECONDS * 1000 + MOST_SKEW_MS)
    objection = visit.watcher.named.answered(written, is_change=is_change, promises_from=promises_from)
    visit.watcher.require(objection is None, "I7", str(objection), written.job.job_id)


def create(visit: Visit, key: str | None = None) -> None:
    """Creates under one of few keys; another definition may already hold it."""
    key = key or visit.rng.choice(KEYS)
    wanted = definition_of(visit)
    if visit.rng.random() < 0.05:
        wanted = msgspec.structs.replace(wanted, at=None, recurrence=ENDLESSLY_PAST)
    text = b'{"n": %d}' % visit.rng.getrandbits(64)

    def flow(world: World, partitions: Sequence[str]) -> write.Written:
        client = visit.acting_for(world, visit.client.client_id)
        asked = write.NamedRequest(client=client, job_key=key, as_sent=text, definition=wanted)
        return write.create_named(world, asked, partitions)

    answered(visit, visit.call_until_answered(flow, 1))


def repeat(visit: Visit) -> None:
    """Creates an existing job again, exactly as it was sent: the api answers the same job and repairs its chain."""
    mine = [life.truths[-1] for (c, _), life in visit.watcher.named.lives.items() if c == visit.client.client_id]
    job = visit.rng.choice([job for job in mine if job.is_alive] or [None])
    if job is None:
        create(visit)
        return

    def flow(world: World, partitions: Sequence[str]) -> write.Written:
        client = visit.acting_for(world, visit.client.client_id)
        asked = write.NamedRequest(client=client, job_key=job.job_key, as_sent=job.as_sent, definition=job.definition)
        return write.create_named(world, asked, partitions)

    answered(visit, visit.call_until_answered(flow, 1))


def known(visit: Visit) -> str:
    """The id of one of the client's named jobs; sometimes of an anonymous job, or of none at all."""
    promise = visit.known_job() if visit.rng.random() < 0.05 else None
    if promise is not None:
        return promise.job_id
    lives = visit.watcher.named.lives
    mine = [life.truths[-1].job_id for (c, _), life in lives.items() if c == visit.client.client_id and life.truths]
    return visit.rng.choice(mine or ["?"])


def life_of(visit: Visit, job_id: str) -> Life:
    """Everything the watcher knows of a named job."""
    place = decode_job(job_id)
    if not isinstance(place, NamedJobId):
        raise TypeError(f"{job_id} is not named")
    return visit.watcher.named.lives[place.client_id, place.job_key]


def living(visit: Visit, world: World, job_id: str) -> NamedJob:
    """The job, if it is the caller's and not deleted. Raises JobNotFound otherwise."""
    job = get_named(world, visit.caller(world), job_id)
    if not job.is_alive:
        raise JobNotFound(job_id)
    return job


def change(
    visit: Visit, changed: changes.Change, is_as_wanted: Callable[[NamedJob], bool], job_id: str | None = None
) -> None:
    """Changes a job unless it already is as wanted; some clients repeat the call until they have an answer."""
    job_id = job_id or known(visit)
    revision = visit.rng.choice((None, None, None, 1))
    ask = visit.rng.choice((visit.call, visit.call_until_answered))

    def flow(world: World, _: Sequence[str]) -> tuple[write.Written, bool]:
        job = get_named(world, visit.caller(world), job_id)
        if not job.is_alive and not is_as_wanted(job):
            raise JobNotFound(job_id)
        if is_as_wanted(job):
            return write.unchanged(world, job), False
        return write.change(world, job, revision, changed), True

    written, is_new = ask(flow)
    answered(visit, written, is_change=True, is_new=is_new)


def in_state(state: JobState) -> Callable[[NamedJob], bool]:
    """A test whether a job is in a state."""
    return lambda job: job.state is state


def replace(visit: Visit) -> None:
    """Replaces the definition by PUT, with the same schedule or another one."""
    wanted = definition_of(visit)
    kind = visit.rng.choice(("same", "same", "bounds", "any", "any"))
    text = b'{"n": %d}' % visit.rng.getrandbits(64)

    def changed(job: NamedJob, boundary_at: int, home: changes.Home) -> NamedJob:
        new = wanted if kind == "any" else like(job.definition, wanted, kind)
        return changes.replaced(new, text)(job, boundary_at, home)

    change(visit, changed, lambda job: job.is_alive and job.as_sent == text)


def like(before: Definition, wanted: Definition, kind: str) -> Definition:
    """The wanted definition with the timing of the one before (`same`), or with its beat in other bounds.

    The api takes no order of what ends by a report: such a target is not wanted then.
    """
    if before.ordering_key is not None and (isinstance(wanted.target, PoolTarget) or wanted.completion is not None):
        wanted = msgspec.structs.replace(wanted, target=before.target, completion=before.completion)
    kept = msgspec.structs.replace(
        wanted,
        at=before.at,
        recurrence=before.recurrence,
        ordering_key=before.ordering_key,
        sequence=before.sequence,
    )
    if kind == "same" or before.recurrence is None:
        return kept
    jitter, most = (3, 7) if before.recurrence.jitter_seconds == 0 else (0, None)
    if before.recurrence.follows_zone:
        most = None  # How many fires there were depends on the rules by which they are counted.
    bounds = msgspec.structs.replace(before.recurrence, jitter_seconds=jitter, max_fires=most)
    return msgspec.structs.replace(kept, recurrence=bounds)


def run_now(visit: Visit) -> None:
    """Runs a job once by hand."""
    job_id = known(visit)
    key = visit.rng.choice((None, f"run-{visit.rng.getrandbits(64)}"))
    ask = visit.call if key is None else visit.call_until_answered
    execution_id = ask(lambda w, _: trigger.run_now(w, living(visit, w, job_id), key))
    life_of(visit, job_id).by_hand.add(execution_id)


def backfill(visit: Visit) -> None:
    """Fires the instants of a past range again."""
    job_id = known(visit)
    from_at = visit.now - visit.rng.randrange(100_000, 600_000)
    key = f"backfill-{visit.rng.getrandbits(64)}"
    now, changes = visit.now, len(life_of(visit, job_id).truths) if is_named(job_id) else 0
    planned = visit.call_until_answered(
        lambda w, _: trigger.backfill(w, living(visit, w, job_id), from_at, now, 0.5, key, admit=visit.admitting(w))
    )
    life_of(visit, job_id).backfills[planned.backfill_id] = (job_id, planned.count, changes)


def look(visit: Visit) -> None:
    """Gets a job, which checks its chain, lists its executions, and lists the client's jobs."""
    job_id = known(visit)

    def flow(world: World, _: Sequence[str]) -> int:
        job = get_named(world, visit.caller(world), job_id)
        check_chain(world, job)
        read.list_executions(world, visit.caller(world), job_id, 3)
        return len(list_jobs(world, job.client_id, None, None, 3, lambda other: other.is_alive).jobs)

    visit.call_until_answered(flow)


def snoop(visit: Visit) -> None:
    """Reads another client's named job, which must be refused."""
    lives = visit.watcher.named.lives
    others = [life.truths[-1].job_id for (c, _), life in lives.items() if c != visit.client.client_id and life.truths]
    job_id = visit.rng.choice(others or ["?"])
    visit.call_until_answered(lambda w, _: get_named(w, visit.caller(w), job_id))
    visit.watcher.violated("I9", "another client's named job is shown", job_id)


NAMED_OPERATIONS: dict[str, Callable[[Visit], None]] = {
    "create named": create,
    "repeat named": repeat,
    "replace": replace,
    "pause": lambda visit: change(visit, changes.paused("a pause"), in_state(JobState.PAUSED)),
    "pause and cancel": lambda visit: change(
        visit, changes.paused(CANCELLING, cancels=True), lambda job: has_cancelled_waiting(job) or not job.is_alive
    ),
    "resume": lambda visit: change(visit, changes.resumed(None), in_state(JobState.ACTIVE)),
    "delete": lambda visit: change(visit, changes.cancelled(None), in_state(JobState.CANCELLED)),
    "run now": run_now,
    "backfill": backfill,
    "look at named": look,
    "snoop named": snoop,
}
NAMED_WEIGHTS = {
    "create named": 14, "repeat named": 4, "replace": 7, "pause": 3, "pause and cancel": 1, "resume": 5, "delete": 3,
    "run now": 3, "backfill": 2, "look at named": 4, "snoop named": 1,
}  # fmt: skip
