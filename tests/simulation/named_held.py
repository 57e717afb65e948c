"""Named jobs that are held back: by a pause of their client, or by the open circuit of a target that is down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.lifecycle.parking import Parked
from clockwork.domain.named import changes
from clockwork.domain.named_jobs import Definition, JobState, NamedJob
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.recurrence import Every, Recurrence
from clockwork.flows.named import write
from clockwork.flows.requests import clients, redrive
from clockwork.flows.world import World
from clockwork.targets.http import HttpTarget
from tests.simulation.batches import create_down
from tests.simulation.clients import Step, Visit, create_once
from tests.simulation.named_clients import KEYS, NAMED_OPERATIONS, answered, change, definition, in_state, known, living
from tests.simulation.regulated import operate, own, redriving
from tests.simulation.requests import DOWNCAST, HALTED
from tests.simulation.targets import DOWN_HOST

#: Jobs that recur while their client is paused for long do so with pauses between (ms).
BEATS_MS = (20_000, 60_000, 130_000)
GOOD = HttpTarget("https://good.example.com/", timeout_seconds=5)


def _held(visit: Visit) -> Definition:
    """Draws a definition of the client that operators pause."""
    wanted = definition(visit.rng, visit.now, visit.desk.began_at)
    recurrence = wanted.recurrence
    if recurrence is None:
        return wanted
    every = Every(every_ms=visit.rng.choice(BEATS_MS), anchor_at=visit.now + visit.rng.randrange(1_000))
    window_seconds = visit.rng.choice((86_400, 86_400, 100))
    return msgspec.structs.replace(
        wanted,
        recurrence=msgspec.structs.replace(recurrence, every=every),
        catch_up_window_seconds=window_seconds,
    )


def _create(visit: Visit, key: str, wanted: Definition) -> NamedJob:
    text = b'{"n": %d}' % visit.rng.getrandbits(64)

    def flow(world: World, partitions: Sequence[str]) -> write.Written:
        client = visit.acting_for(world, visit.client.client_id)
        asked = write.NamedRequest(client=client, job_key=key, as_sent=text, definition=wanted)
        return write.create_named(world, asked, partitions)

    written = visit.call_until_answered(flow, 1)
    answered(visit, written)
    return written.job


def create_held(visit: Visit) -> None:
    """Creates a job of the client that operators pause."""
    visit.client = HALTED
    _create(visit, visit.rng.choice(KEYS), _held(visit))


def change_held(visit: Visit) -> None:
    """Changes such a job: replaces, pauses, resumes, deletes it, runs it by hand, or looks at it."""
    visit.client = HALTED
    kind = visit.rng.choice(("replace", "replace", "pause", "resume", "resume", "delete", "run now", "look at named"))
    kind = "pause and cancel" if visit.rng.random() < 0.1 else kind
    if kind != "replace":
        NAMED_OPERATIONS[kind](visit)
        return
    wanted, text = _held(visit), b'{"n": %d}' % visit.rng.getrandbits(64)
    is_retimed = visit.rng.random() < 0.3

    def replaced(job: NamedJob, boundary_at: int, home: changes.Home) -> NamedJob:
        before = job.definition
        kept = msgspec.structs.replace(
            wanted,
            at=before.at,
            recurrence=before.recurrence,
            ordering_key=before.ordering_key,
            sequence=before.sequence,
        )
        return changes.replaced(wanted if is_retimed else kept, text)(job, boundary_at, home)

    change(visit, replaced, lambda job: job.is_alive and job.as_sent == text)


def pause_for_a_while(visit: Visit) -> None:
    """Pauses the client, and resumes it minutes later, when fires have come due."""
    client_id = HALTED.client_id
    operate(visit, lambda world: clients.pause_client(world, client_id, None, "tests"), client_id=client_id)
    for _ in range(visit.rng.randrange(3)):
        step = Step(visit.now, "change within", HALTED, visit.rng.getrandbits(64), visit.step.by_stranger)
        visit.desk.carry_out(step, _change_within)
    visit.actor.pause(visit.rng.randrange(30_000, 400_000))
    if visit.rng.random() < 0.9:
        operate(visit, lambda world: clients.resume_client(world, client_id, None), client_id=client_id)


def _change_within(visit: Visit) -> None:
    """Pauses a job while its client is paused, and soon resumes it or ends what waits of it."""
    visit.actor.pause(visit.rng.randrange(1_000, 100_000))
    job_id = known(visit)
    change(visit, changes.paused("a pause"), in_state(JobState.PAUSED), job_id)
    visit.actor.pause(visit.rng.randrange(20_000, 150_000))
    if visit.rng.random() < 0.7:
        change(visit, changes.resumed(None), in_state(JobState.ACTIVE), job_id)
    else:
        change(visit, changes.cancelled(None), in_state(JobState.CANCELLED), job_id)


def create_many_held(visit: Visit) -> None:
    """Creates many jobs of the client that operators pause: more than one page of a sweep holds."""
    visit.client = HALTED
    create_once(visit, visit.rng.choice((5, 20)))


def discard_held(visit: Visit) -> None:
    """Has what is parked of the client ended, or released by hand."""
    client_id = HALTED.client_id
    if visit.rng.random() < 0.5:
        operate(visit, partial(_release_by_hand, client_id, visit.rng.choice((0.2, 5.0))), client_id=client_id)
        return
    if visit.may_act:
        visit.watcher.discarded.add(client_id)
    operate(
        visit,
        lambda world: world.regulation.direct_parked(Parked(client_id, discard_until=world.clock.now())),
        client_id=client_id,
    )


def contend_for_client(visit: Visit) -> None:
    """Several operators change one client at the same time, the last of them under a revision that may be gone."""
    for number in range(4):
        step = Step(visit.now, "contend again", visit.client, visit.rng.getrandbits(64), visit.step.by_stranger)
        visit.desk.carry_out(step, partial(_change_client, number))
    _change_client(0, visit, visit.rng.choice((None, 0)))


def _change_client(number: int, visit: Visit, revision: int | None = None) -> None:
    visit.actor.pause(visit.rng.randrange(10))

    def changed(client: Client) -> Client:
        return msgspec.structs.replace(client, signing_secrets=(f"clockwork/{number}",))

    operate(visit, lambda world: clients.change_client(world, DOWNCAST.client_id, revision, changed))


def operate_on_nobody(visit: Visit) -> None:
    """An operator names a client that does not exist."""
    operate(visit, lambda _: None, client_id="nobody")
    visit.watcher.violated("I9", "a client is shown that does not exist")


def release_down(visit: Visit) -> None:
    """Opens the circuit of a target that is down, and has what is parked behind it released by hand."""
    create_down(visit)
    visit.actor.pause(visit.rng.randrange(70_000, 130_000))
    for _ in range(2):
        rate = visit.rng.choice((0.2, 5.0, 100.0))
        operate(visit, partial(_release_by_hand, DOWNCAST.client_id, rate), client_id=DOWNCAST.client_id)
        visit.actor.pause(visit.rng.randrange(20_000, 90_000))


def _release_by_hand(client_id: str, rate: float, world: World) -> bool:
    return world.regulation.direct_parked(Parked(client_id, rate=rate, by_hand=True))


def move_away(visit: Visit) -> None:
    """Lets a named job be parked behind a target that is down, then gives it another target, and asks once more."""
    create_down(visit)
    wanted = msgspec.structs.replace(
        definition(visit.rng, visit.now, visit.desk.began_at),
        target=HttpTarget(DOWN_HOST, timeout_seconds=1),
        retry_policy=RetryPolicy(max_attempts=3, backoff="fixed", initial_seconds=5, jitter="none"),
    )
    if visit.rng.random() < 0.7:
        every = Every(every_ms=visit.rng.choice(BEATS_MS[:2]), anchor_at=visit.now)
        beat = Recurrence(every=every, end_at=visit.now + 300_000)
        wanted = msgspec.structs.replace(wanted, at=None, recurrence=beat, ordering_key=None, sequence=None)
    elif wanted.recurrence is None:
        wanted = msgspec.structs.replace(wanted, at=visit.now + visit.rng.choice((60_000, 80_000, 110_000)))
    job = _create(visit, visit.rng.choice(KEYS), wanted)
    visit.actor.pause(visit.rng.randrange(80_000, 160_000))
    text = b'{"n": %d}' % visit.rng.getrandbits(64)
    new = msgspec.structs.replace(
        job.definition, target=GOOD, payload=definition(visit.rng, visit.now, visit.desk.began_at).payload
    )
    for _ in range(2):
        _put(visit, job, new, text)


def _put(visit: Visit, job: NamedJob, new: Definition, text: bytes) -> None:
    """Replaces a job's definition, as the api does: a repeat of the same request changes nothing."""

    def flow(world: World, _: Sequence[str]) -> tuple[write.Written, bool]:
        stored = living(visit, world, job.job_id)
        if stored.as_sent == text:
            return write.unchanged(world, stored), False
        return write.change(world, stored, None, changes.replaced(new, text)), True

    written, is_new = visit.call_until_answered(flow)
    answered(visit, written, is_change=True, is_new=is_new)


def redrive_named(visit: Visit) -> None:
    """Redrives a dead execution of a named job, by its job as it is now or as its record has it."""
    visit.client = visit.rng.choice((visit.client, visit.client, HALTED))
    redriving(visit)
    as_it_was = visit.rng.random() < 0.5

    def flow(world: World, _: Sequence[str]) -> None:
        page = redrive.list_dead(world, own(visit, world), redrive.DeadFilter(prefix="job-"), 50, None)
        for execution in page.executions[:1]:
            if as_it_was:
                visit.watcher.named.as_it_was.add(execution.execution_id)
            redrive.redrive(world, execution, as_it_was=as_it_was)

    visit.call_until_answered(flow)


HELD_OPERATIONS: dict[str, Callable[[Visit], None]] = {
    "create held": create_held,
    "change held": change_held,
    "create many held": create_many_held,
    "pause for a while": pause_for_a_while,
    "discard held": discard_held,
    "contend for client": contend_for_client,
    "operate on nobody": operate_on_nobody,
    "release down": release_down,
    "move away": move_away,
    "redrive named": redrive_named,
}
HELD_WEIGHTS = {
    "create held": 4, "change held": 5, "pause for a while": 3, "contend for client": 0.6, "operate on nobody": 0.4,
    "release down": 0.6, "move away": 1, "redrive named": 2,
    "create many held": 1, "discard held": 1,
}  # fmt: skip
