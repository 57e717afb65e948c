"""Ordered jobs, the client with caps, and operators who pause it, resume it, and handle its parked and dead work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.errors import KeyReused, Unavailable
from clockwork.domain.lifecycle.parking import Parked
from clockwork.flows import access
from clockwork.flows.requests import cancel, clients, create, read, redrive
from clockwork.flows.world import World
from tests.simulation.clients import (
    Step,
    Visit,
    accept,
    ask_again,
    cancel_one,
    create_once,
    get_one,
    note_cancel,
    request_of,
)
from tests.simulation.named_clients import ORDERING_KEYS
from tests.simulation.requests import (
    ADMIN,
    DOWNCAST,
    PACED,
    PACES,
    REGULATED,
    REVOCABLE,
    KeyedRequest,
    ordered_policy,
    ordered_target,
)
from tests.simulation.revoking import without_some

T = TypeVar("T")


def _regulated(work: Callable[[Visit], None], client: Client = REGULATED) -> Callable[[Visit], None]:
    """The same operation, done by a client with caps."""

    def visit_as_regulated(visit: Visit) -> None:
        visit.client = client
        work(visit)

    return visit_as_regulated


def create_ordered(visit: Visit) -> None:
    """Creates some jobs of one ordering key, soon and close together."""
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
            retry_policy=ordered_policy(job.retry_policy),
            target=ordered_target(job.target),
        )
        for job in asked.jobs
    ]
    ask_again(visit, KeyedRequest(msgspec.structs.replace(asked, jobs=tuple(jobs), outlines=()), visit.now))


def create_each(visit: Visit) -> None:
    """Creates one job per request, all in one batch, each under its own key; one key may come twice."""
    asked = [request_of(visit, 1, f"each-{visit.rng.getrandbits(64):x}") for _ in range(visit.rng.randint(1, 4))]
    if visit.rng.random() < 0.3:
        asked.append(msgspec.structs.replace(asked[0], digest="another digest"))

    def flow(world: World, shards: Sequence[str]) -> Sequence[create.CreatedJob | KeyReused]:
        visit.acting_for(world, visit.client.client_id)
        outcomes = create.create_each(world, asked, shards)
        for one in outcomes:
            if isinstance(one, Unavailable):
                raise one
        return [one for one in outcomes if not isinstance(one, Unavailable)]

    created = visit.call_until_answered(flow, len(asked))
    for request, job in zip(asked, created, strict=True):
        if isinstance(job, create.CreatedJob):
            accept(visit, request, [job])


def operate(
    visit: Visit, work: Callable[[World], T], *, as_operator: bool = True, client_id: str = REGULATED.client_id
) -> T:
    """Does something with a client, the one that has a pace by default, as only an operator may."""
    is_operator = as_operator and not visit.step.by_stranger

    def flow(world: World, _: Sequence[str]) -> T:
        caller = access.identify(world, ADMIN if is_operator else visit.principal)
        access.require_admin(caller)
        access.client_for(world, caller, client_id)
        return work(world)

    return visit.call_until_answered(flow)


def usurp(visit: Visit) -> None:
    """A client tries to resume itself, which must be refused."""
    operate(visit, lambda world: world.clients.put(REGULATED), as_operator=False)
    visit.watcher.violated("I9", "somebody who is no operator acts as one")


def pause_client(visit: Visit) -> None:
    operate(visit, lambda world: clients.pause_client(world, REGULATED.client_id, None, "tests"))


def resume_client(visit: Visit) -> None:
    """Resumes the client, and perhaps pauses it again while its parked occurrences are unparked."""
    operate(visit, lambda world: clients.resume_client(world, REGULATED.client_id, None))
    if visit.rng.random() < 0.6:
        visit.actor.pause(visit.rng.randrange(5_000, 90_000))
        pause_client(visit)


def delete_client(visit: Visit) -> None:
    """Deletes the client: all that is left of it may end cancelled."""
    visit.watcher.discarded.add(REGULATED.client_id)
    operate(visit, lambda world: clients.delete_client(world, REGULATED.client_id, None))


def release_parked(visit: Visit) -> None:
    rate = visit.rng.choice((0.2, 5.0, 100.0))
    client_id = visit.rng.choice((visit.client, REGULATED, DOWNCAST, DOWNCAST)).client_id
    operate(visit, lambda world: world.regulation.direct_parked(Parked(client_id, rate=rate, by_hand=True)))


def discard_parked(visit: Visit) -> None:
    client_id = REGULATED.client_id
    if visit.may_act:
        visit.watcher.discarded.add(client_id)
    operate(
        visit,
        lambda world: world.regulation.direct_parked(Parked(client_id, discard_until=world.clock.now())),
    )


def take_away(visit: Visit) -> None:
    """Takes targets away from a client, changes its cap and its secrets, and perhaps puts the targets back soon."""
    rng = visit.rng
    left = without_some(REVOCABLE, rng.choice((0.0, 0.5)), rng.random)
    changed = msgspec.structs.replace(
        left,
        paused=rng.random() < 0.2,
        max_concurrency=rng.randint(1, REVOCABLE.max_concurrency or 1),
        signing_secrets=(f"clockwork/{rng.randrange(3)}",),
    )
    operate(visit, lambda world: world.clients.put(changed), client_id=REVOCABLE.client_id)
    if rng.random() < 0.5:
        visit.actor.pause(rng.randrange(1_000, 200_000))
        give_back(visit)


def give_back(visit: Visit) -> None:
    operate(visit, lambda world: world.clients.put(REVOCABLE), client_id=REVOCABLE.client_id)


def change_cap(visit: Visit) -> None:
    """Raises or lowers the rate cap under which a line may stand."""
    changed = msgspec.structs.replace(PACED, max_rate_per_second=visit.rng.choice(PACES))
    operate(visit, lambda world: world.clients.put(changed), client_id=PACED.client_id)


def cancel_some(visit: Visit) -> None:
    """Cancels several of the client's jobs, which may stand in a line."""
    for _ in range(visit.rng.randint(1, 8)):
        cancel_one(visit)


def redriving(visit: Visit) -> None:
    """Notes that dead executions of the client may be delivered from now on."""
    if visit.may_act:
        visit.watcher.redriven.add(visit.client.client_id)


def redrive_one(visit: Visit) -> None:
    """Redrives one of the client's dead executions."""
    client_id = visit.client.client_id
    redriving(visit)

    if visit.step.operation == "redrive" and visit.rng.random() < 0.5:
        # Another client actor redrives at the same moment.
        again = Step(visit.now, "redrive again", visit.client, visit.rng.getrandbits(64), visit.step.by_stranger)
        visit.desk.carry_out(again, redrive_one)

    def flow(world: World, _: Sequence[str]) -> None:
        visit.acting_for(world, client_id)
        page = redrive.list_dead(world, client_id, redrive.DeadFilter(), 5, None)
        for execution in page.executions[:1]:
            redrive.redrive(world, execution)

    visit.call_until_answered(flow)


def redrive_any(visit: Visit) -> None:
    """Redrives a job that need not be dead."""
    promise = visit.known_job()
    if promise is None:
        create_once(visit, 1)
        return
    redriving(visit)

    def flow(world: World, _: Sequence[str]) -> None:
        execution_id = promise.execution_id
        redrive.redrive(world, read.get_execution(world, visit.caller(world), execution_id))

    visit.call_until_answered(flow)


def redrive_many(visit: Visit) -> None:
    """Redrives the client's dead executions, all of them or those that a filter selects."""
    redriving(visit)
    now = visit.now
    wanted = visit.rng.choice((redrive.DeadFilter(), redrive.DeadFilter(prefix="job-"), _range_before(now)))
    visit.call_until_answered(
        lambda w, _: redrive.redrive_dead(w, own(visit, w), wanted, 20, None, admit=visit.admitting(w))
    )


def discard_dead(visit: Visit) -> None:
    """Discards the client's dead executions, of a range of time or of all times."""
    redriving(visit)
    now = visit.now
    wanted = visit.rng.choice((redrive.DeadFilter(), _range_before(now)))
    visit.call_until_answered(lambda w, _: redrive.discard_dead(w, own(visit, w), wanted, 20, None))


def _range_before(now: int) -> redrive.DeadFilter:
    return redrive.DeadFilter(from_at=now - 200_000, to_at=now - 50_000)


def own(visit: Visit, world: World) -> str:
    """The id of the caller's client, once access is checked."""
    return visit.acting_for(world, visit.client.client_id).client_id


def cancel_execution(visit: Visit) -> None:
    """Cancels a job by its execution."""
    promise = visit.known_job()
    if promise is None:
        create_once(visit, 1)
        return
    promise.cancel_asked |= visit.may_act
    execution_id = promise.execution_id
    answer, _ = visit.call_until_answered(lambda w, _: cancel.cancel_execution(w, visit.caller(w), execution_id))
    note_cancel(visit, promise, answer)


REGULATED_OPERATIONS: dict[str, Callable[[Visit], None]] = {
    "create capped": _regulated(lambda visit: create_once(visit, visit.rng.choice((1, 1, 3, 15)))),
    "get capped": _regulated(get_one),
    "create ordered": create_ordered,
    "create ordered capped": _regulated(create_ordered),
    "create revocable": _regulated(lambda visit: create_once(visit, visit.rng.choice((1, 3, 15))), REVOCABLE),
    "create ordered revocable": _regulated(create_ordered, REVOCABLE),
    "create paced": _regulated(lambda visit: create_once(visit, visit.rng.choice((1, 3, 15, 15))), PACED),
    "cancel paced": _regulated(cancel_some, PACED),
    "change cap": change_cap,
    "take away": take_away,
    "give back": give_back,
    "create each": create_each,
    "usurp": usurp,
    "pause client": pause_client,
    "resume client": resume_client,
    "release parked": release_parked,
    "discard parked": discard_parked,
    "redrive": redrive_one,
    "redrive any": redrive_any,
    "redrive many": redrive_many,
    "redrive capped": _regulated(redrive_many),
    "discard dead": discard_dead,
    "cancel execution": cancel_execution,
}
REGULATED_WEIGHTS = {
    "create capped": 5, "get capped": 1, "create ordered": 5, "create ordered capped": 2, "create each": 3,
    "create revocable": 3, "create ordered revocable": 1.5, "take away": 1.5, "give back": 1,
    "usurp": 1, "pause client": 2, "resume client": 2, "release parked": 2,
    "discard parked": 1, "redrive": 2, "redrive any": 1, "redrive many": 2, "redrive capped": 2, "discard dead": 4,
    "cancel execution": 4, "create paced": 4, "cancel paced": 2, "change cap": 1,
}  # fmt: skip
