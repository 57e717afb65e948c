"""A client that operators pause, delete and make anew under its id; and who looks at what waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from clockwork.domain import keys
from clockwork.domain.clients import Client
from clockwork.domain.errors import ClientDeleting
from clockwork.domain.executions import WAITING, Execution, State
from clockwork.domain.ids import is_named
from clockwork.domain.lifecycle.holding import Holding
from clockwork.domain.lifecycle.parking import BEHIND_CIRCUIT
from clockwork.domain.named import changes
from clockwork.domain.named.changes import has_cancelled_waiting
from clockwork.domain.named_jobs import Definition
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.requests.trail import Entry, Note
from clockwork.flows import access
from clockwork.flows.named import write
from clockwork.flows.requests import clients, read, redrive
from clockwork.flows.requests.holding import what_holds
from clockwork.flows.requests.upcoming import Position, list_upcoming
from clockwork.flows.trail import noting
from clockwork.flows.world import World
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from tests.simulation.batches import with_jobs
from tests.simulation.clients import Visit, ask_again, cancel_one, create_once, request_of
from tests.simulation.named_clients import NAMED_OPERATIONS, answered, change
from tests.simulation.named_history import CANCELLING
from tests.simulation.requests import ADMIN, CLIENTS, DEPARTING, DOWNCAST, REGULATED, KeyedRequest
from tests.simulation.targets import DOWN_HOST

T = TypeVar("T")
CLIENT_ID = DEPARTING.client_id
#: After a delete an operator asks so often, and waits so long in between (ms), whether the id is free again.
ASKED, ASKED_EVERY_MS = 4, (60_000, 200_000)
#: More entries than any trail has, and more executions than any client.
MOST = 10_000


def _as_departing(work: Callable[[Visit], None]) -> Callable[[Visit], None]:
    def visit_as_departing(visit: Visit) -> None:
        visit.client = DEPARTING
        work(visit)

    return visit_as_departing


def control(
    visit: Visit,
    action: str,
    nonce: str,
    work: Callable[[World, Note], T],
    *,
    principal: str = ADMIN,
    is_new: bool = False,
) -> T:
    """Makes a control call, which is noted in the trail of its client, until it is answered."""

    def flow(world: World, _: Sequence[str]) -> T:
        caller = access.identify(world, principal if visit.may_act else visit.principal)
        if principal == ADMIN:
            access.require_admin(caller)
        if not is_new:
            access.client_for(world, caller, visit.client.client_id)
        entry = Entry(
            client_id="",
            at=world.clock.now(),
            entry_id=world.random.token(),
            principal=caller.principal,
            action=action,
            expires_at=0,
            asked={"nonce": nonce},
        )
        with noting(world, entry) as note:
            return work(world, note)

    return visit.call_until_answered(flow)


def entries_of(visit: Visit, client_id: str) -> list[Entry]:
    """All entries in the trail of a client."""
    trail = visit.desk.cloud.stores.port("trail")
    return [one for one in trail.list(client_id, MOST, None).entries if isinstance(one, Entry)]  # type: ignore[attr-defined]


def require_noted(visit: Visit, client_id: str, nonce: str) -> None:
    """Requires that a change has its entry, which does not tell of a refusal."""
    noted = [one for one in entries_of(visit, client_id) if one.asked.get("nonce") == nonce]
    is_told = any(one.refused is None for one in noted)
    visit.watcher.require(is_told, "I12", f"a change that its trail does not tell: {noted}", client_id)


def pause(visit: Visit) -> None:
    """Pauses the client, with a reason of its own."""
    nonce = f"pause {visit.rng.getrandbits(64):x}"
    paused = control(visit, "pauseClient", nonce, lambda w, note: clients.pause_client(w, CLIENT_ID, None, nonce, note))
    if paused.pause_reason == nonce:
        require_noted(visit, CLIENT_ID, nonce)


def resume(visit: Visit) -> None:
    """Resumes the client."""
    control(visit, "resumeClient", "", lambda w, note: clients.resume_client(w, CLIENT_ID, None, note))


def delete(visit: Visit) -> None:
    """Deletes the client while some of its work is parked, and makes another one under its id once that is free."""
    rng = visit.rng
    if rng.random() < 0.5:
        create_failing(visit)
        visit.actor.pause(rng.randrange(30_000, 90_000))
    if rng.random() < 0.6:
        pause(visit)
        visit.actor.pause(rng.randrange(20_000, 120_000))
    if visit.may_act:
        visit.watcher.discarded.add(CLIENT_ID)
    nonce, revision = f"delete {rng.getrandbits(64):x}", rng.choice((None, None, 1_000))
    control(visit, "deleteClient", nonce, lambda w, note: clients.delete_client(w, CLIENT_ID, revision, note))
    deletes = [one for one in entries_of(visit, CLIENT_ID) if one.action == "deleteClient" and one.refused is None]
    visit.watcher.require(bool(deletes), "I12", "a client is deleted, and its trail does not tell of it", CLIENT_ID)
    for _ in range(ASKED):
        visit.actor.pause(rng.randrange(*ASKED_EVERY_MS))
        try:
            make_anew(visit)
        except ClientDeleting:
            continue
        create_once(visit, 3)
        return


def make_anew(visit: Visit) -> None:
    """Puts the client. Under the id of one that is gone that makes another one; one that is there stays as it is."""

    def put(client: Client) -> Client:
        return msgspec.structs.replace(
            client,
            principals=DEPARTING.principals,
            record=DEPARTING.record,
            allowed_queue_arns=DEPARTING.allowed_queue_arns,
            allowed_topics=DEPARTING.allowed_topics,
            allowed_pools=DEPARTING.allowed_pools,
        )

    control(visit, "putClient", "", lambda w, note: clients.change_client(w, CLIENT_ID, None, put, note), is_new=True)


def create_failing(visit: Visit) -> None:
    """Creates jobs for a target that is down, enough to open its circuit, some of them with callbacks."""
    asked = request_of(visit, 24, f"failing-{visit.rng.getrandbits(64):x}")
    jobs = [
        msgspec.structs.replace(
            job,
            payload=Payload(b"failing %d" % visit.rng.getrandbits(64)),
            delay_ms=5_000 + 1_500 * job.index,
            target=HttpTarget(DOWN_HOST, timeout_seconds=1),
            retry_policy=RetryPolicy(max_attempts=1),
            relevancy_window_seconds=None,
        )
        for job in asked.jobs
    ]
    ask_again(visit, KeyedRequest(with_jobs(asked, jobs), visit.now))


def end_what_waits(visit: Visit) -> None:
    """Lets a named job fail and wait for its retry, then pauses or moves it, and with that ends what waits of it."""
    rng, key = visit.rng, f"job-{visit.rng.randrange(2)}"
    at = visit.now + 2_000
    wanted = Definition(
        target=HttpTarget(DOWN_HOST, timeout_seconds=1),
        payload=Payload(b"waiting %d" % rng.getrandbits(64)),
        at=at,
        retry_policy=RetryPolicy(max_attempts=2, backoff="fixed", initial_seconds=600, max_age_seconds=5_000),
    )
    text = b'{"n": %d}' % rng.getrandbits(64)

    def flow(world: World, partitions: Sequence[str]) -> write.Written:
        client = visit.acting_for(world, visit.client.client_id)
        asked = write.NamedRequest(client=client, job_key=key, as_sent=text, definition=wanted)
        return write.create_named(world, asked, partitions)

    written = visit.call_until_answered(flow, 1)
    answered(visit, written)
    visit.actor.pause(rng.randrange(8_000, 40_000))
    if rng.random() < 0.5:
        change(
            visit,
            changes.paused(CANCELLING, cancels=True),
            lambda job: has_cancelled_waiting(job) or not job.is_alive,
            written.job.job_id,
        )
        return
    moved, again = msgspec.structs.replace(wanted, at=visit.now + 30_000), b'{"n": %d}' % rng.getrandbits(64)
    change(visit, changes.replaced(moved, again), lambda job: job.as_sent == again, written.job.job_id)


def look_ahead(visit: Visit) -> None:
    """Lists what is to come: nothing of a client that had the id before."""
    until, start = visit.now + 3_600_000, Position(keys.row_key(visit.now, ""), 0)

    def flow(world: World, _: Sequence[str]) -> list[str]:
        client = visit.acting_for(world, CLIENT_ID)
        found = list_upcoming(world, client.client_id, start, until, 50, client.since_at)
        return [one.job_id for one in found.items]

    _require_own(visit, visit.call_until_answered(flow))


def redrive_own(visit: Visit) -> None:
    """Lists and redrives the client's dead executions: none of a client that had the id before."""
    if visit.may_act:
        visit.watcher.redriven.add(CLIENT_ID)

    def flow(world: World, _: Sequence[str]) -> list[str]:
        client = visit.acting_for(world, CLIENT_ID)
        wanted = redrive.DeadFilter(since_at=client.since_at)
        dead = redrive.list_dead(world, client.client_id, wanted, 20, None).executions
        redrive.redrive_dead(world, client.client_id, wanted, 20, None, admit=visit.admitting(world, client))
        return [one.job_id for one in dead]

    _require_own(visit, visit.call_until_answered(flow))


def _require_own(visit: Visit, job_ids: Sequence[str]) -> None:
    for promise in map(visit.watcher.promises.get, job_ids):
        is_own = promise is None or not visit.watcher.departures.is_of_before(CLIENT_ID, promise.acknowledged_at)
        # A delete may have come in between.
        is_own = is_own or not visit.watcher.departures.has_returned(CLIENT_ID)
        told = "the work of a client that was deleted is shown to the one that has its id"
        visit.watcher.require(is_own, "I9", told, promise.job_id if promise is not None else "")


def look_at_waiting(visit: Visit) -> None:
    """Gets an execution that waits, and what for."""
    watcher, ids = visit.watcher, {one.client_id: one for one in (DEPARTING, REGULATED, DOWNCAST, *CLIENTS)}
    behind = [one for one in watcher.executions.all() if one.state is State.PARKED and one.reason == BEHIND_CIRCUIT]
    behind = [one for one in behind if one.client_id in ids]
    if behind and visit.rng.random() < 0.5:
        visit.client = ids[visit.rng.choice(behind).client_id]
    else:
        visit.client = visit.rng.choice((DEPARTING, REGULATED, DOWNCAST))
    records = [one for one in watcher.executions.all() if one.client_id == visit.client.client_id]
    kinds = (
        [one for one in records if one in behind and is_named(one.job_id)],
        [one for one in records if one in behind],
        [one for one in records if one.state is State.PARKED],
        [one for one in records if one.state in WAITING and is_named(one.job_id)],
        [one for one in records if one.state in WAITING],
        records,
    )
    wanted = visit.rng.choice([kind for kind in kinds if kind] or [[]])
    if not wanted:
        create_once(visit, 1)
        return
    look_at(visit, visit.rng.choice(wanted).execution_id)


def look_at(visit: Visit, execution_id: str) -> Holding | None:
    """Gets an execution of the client, and what it waits for; returns the latter."""
    watcher, client_id = visit.watcher, visit.client.client_id
    pauses, was_paused = _pauses(visit, client_id), watcher.is_paused(client_id)
    regulation = visit.desk.cloud.stores.regulation
    tries = [circuit.probe_at for circuit in regulation.circuits(client_id).values()]

    def flow(world: World, _: Sequence[str]) -> tuple[Execution, Holding | None]:
        execution = read.get_execution(world, visit.caller(world), execution_id)
        return execution, what_holds(world, execution)

    execution, holding = visit.call_until_answered(flow)
    is_told = (holding is not None) == (execution.state in WAITING)
    watcher.require(is_told, "I1", f"{execution.state}, and it waits for {holding}", execution.job_id)
    is_paused = was_paused or watcher.is_paused(client_id) or _pauses(visit, client_id) != pauses
    says_pause = holding is not None and holding.wait == "pause"
    watcher.require(is_paused or not says_pause, "I1", "it waits for a pause that there is not", execution.job_id)
    is_same = tries == [circuit.probe_at for circuit in regulation.circuits(client_id).values()]
    is_tried = holding is None or holding.wait != "circuit" or holding.until is None or holding.until in tries
    watcher.require(is_tried or not is_same, "I1", "it waits for a try that no circuit knows of", execution.job_id)
    return holding


def _pauses(visit: Visit, client_id: str) -> object:
    """The pauses of a client that have ended."""
    client = visit.desk.cloud.stores.clients.get(client_id)
    return None if client is None else client.pauses


def change_named(visit: Visit) -> None:
    """Creates, changes or deletes a named job of the client."""
    visit.client = DEPARTING
    kinds = ("create named", "create named", "create named", "pause", "resume", "replace", "run now", "backfill")
    NAMED_OPERATIONS[visit.rng.choice(kinds)](visit)


DEPARTING_OPERATIONS: dict[str, Callable[[Visit], None]] = {
    "create departing": _as_departing(lambda visit: create_once(visit, visit.rng.choice((1, 3, 8)))),
    "create failing": _as_departing(create_failing),
    "cancel departing": _as_departing(cancel_one),
    "change departing": change_named,
    "pause departing": _as_departing(pause),
    "resume departing": _as_departing(resume),
    "delete client": _as_departing(delete),
    "make client anew": _as_departing(make_anew),
    "look ahead departing": _as_departing(look_ahead),
    "redrive departing": _as_departing(redrive_own),
    "look at waiting": look_at_waiting,
    "end what waits": end_what_waits,
}
DEPARTING_WEIGHTS = {
    "create departing": 10, "create failing": 1.5, "cancel departing": 1, "change departing": 6,
    "pause departing": 1, "resume departing": 2, "delete client": 2, "make client anew": 2,
    "look ahead departing": 2, "redrive departing": 2, "look at waiting": 5,
    "end what waits": 3,
}  # fmt: skip
