"""Corner scenes of pools: no key, no handler, more than may be held, changes beneath a claim, and late reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.errors import UnknownToken
from clockwork.domain.executions import State
from clockwork.domain.ids import only_execution
from clockwork.domain.lifecycle.tokens import Token
from clockwork.domain.named import changes
from clockwork.domain.requests.create import NewJob
from clockwork.domain.storage.codec import decode_ticket
from clockwork.flows.requests import unsigned
from clockwork.flows.requests.reporting import Reported
from clockwork.flows.world import World
from clockwork.targets.message import Payload
from clockwork.targets.pool import PoolTarget
from clockwork.targets.registry import Target
from tests.simulation.clients import Visit, ask_again
from tests.simulation.fleet import HANDLERS
from tests.simulation.receivers import SAYS, Manner
from tests.simulation.requests import CLIENTS, POOL, REGULATED, KeyedRequest
from tests.simulation.scenes import TARGET, Steps, change_key, create_key, definition_of, job_of, keyed_request
from tests.simulation.stage import BEGAN_AT
from tests.simulation.stores import carried

WORK, TOIL = (PoolTarget(POOL, handler, 300) for handler in HANDLERS)
#: The secret of a token that a receiver comes with once its execution has gone.
SECRET = "a" * 22
#: One claim meets so many changes, so long apart (ms). Of four, this one is of the handler.
CHANGES, CHANGED_EVERY_MS, CHANGES_HANDLER = 14, 25, 3
#: The attempts that run at once in a pool that one client floods.
FEW_SLOTS = 4
#: By then (ms) claims have found that a client floods.
TRICKLED_AT = 250_000
#: The work of a worker for half a minute at least.
STEADY = Payload(SAYS + Manner.STEADY.name.encode())
#: A job is moved between a worker's claim and the look (ms), and back before the worker asks again.
MOVED_AFTER_MS, MOVED_FOR_MS, ASKS_AGAIN_AFTER_MS = 2_595, 100, 200


def keyless() -> Steps:
    """Jobs for a pool come due before there is a key for tickets: they wait, and are sent once it is made."""
    jobs = [msgspec.structs.replace(job_of(b"keyless %d" % n, 2_000 + n), target=WORK) for n in range(2)]

    def make_key(visit: Visit) -> None:
        visit.desk.cloud.stores.ticket_keys.make("a key that comes late")

    return [(1_000, _ask("keyless", jobs)), (120_000, make_key)]


def lacking() -> Steps:
    """The workers lack a handler for a while, and show each message twice: tickets go on, and come back."""

    def let_lack(visit: Visit) -> None:
        visit.desk.cloud.fleet.handlers, visit.desk.cloud.fleet.shows_twice = HANDLERS[:1], True

    def let_have(visit: Visit) -> None:
        visit.desk.cloud.fleet.handlers, visit.desk.cloud.fleet.shows_twice = HANDLERS, False

    jobs = [msgspec.structs.replace(job_of(b"lacking %d" % n, 2_000), target=TOIL) for n in range(2)]
    return [(500, let_lack), (1_000, _ask("lacking", jobs)), (30_000, let_have)]


def crowded() -> Steps:
    """More jobs of a client come due at once than it may have in progress, and than its rate lets start."""
    jobs = [msgspec.structs.replace(job_of(b"crowded %d" % n, 2_000), target=WORK) for n in range(7)]

    def ask(visit: Visit) -> None:
        visit.client = REGULATED
        ask_again(visit, KeyedRequest(keyed_request("crowded", jobs, REGULATED), visit.now))

    return [(1_000, ask)]


def flooded() -> Steps:
    """A client's tickets fill all slots of the workers, and wait. Another client's come behind them."""
    return [
        (500, _let_have_slots),
        (1_000, _ask_apart("quiet", CLIENTS[1], 1, 1_000)),
        (2_000, _ask_apart("flood", CLIENTS[0], 10, 200_000)),
        (203_000, _ask_apart("quiet again", CLIENTS[1], 1, 12_000)),
    ]


def trickling() -> Steps:
    """Claims note a client that floods, and its tickets that are sent from then on lie in the overflow queue alone."""

    def look(visit: Visit) -> None:
        stores, floods = visit.desk.cloud.stores, CLIENTS[0].client_id
        note = stores.pools.overflow(POOL)
        noted = note is not None and note.flooding(WORK.priority, visit.now)
        visit.watcher.require(bool(noted), "P10", "no claim has noted who floods the pool", floods)
        first = stores.pool_queues.of(POOL, WORK.priority).messages.values()
        clients = [decode_ticket(carried(one.body)).occurrence.client_id for one in first]
        visit.watcher.require(floods not in clients, "P10", "a ticket of a flood lies in the first queue", floods)

    return [
        (500, _let_have_slots),
        (1_000, _ask_apart("quiet", CLIENTS[1], 1, 1_000)),
        (2_000, _ask_apart("flood", CLIENTS[0], 20, 200_000)),
        (TRICKLED_AT, _ask_apart("trickle", CLIENTS[0], 5, 500)),
        (TRICKLED_AT + 1_000, look),
    ]


def _let_have_slots(visit: Visit) -> None:
    visit.desk.cloud.fleet.slots = FEW_SLOTS


def _ask_apart(key: str, client: Client, count: int, delay_ms: int) -> Callable[[Visit], None]:
    """Ask for so many jobs that are due a second apart."""
    jobs = [job_of(b"%s %d" % (key.encode(), n), delay_ms + 1_000 * n) for n in range(count)]
    jobs = [msgspec.structs.replace(job, target=WORK) for job in jobs]

    def asking(visit: Visit) -> None:
        visit.client = client
        ask_again(visit, KeyedRequest(keyed_request(key, jobs, client), visit.now))

    return asking


def recast() -> Steps:
    """A job of a pool gets another payload, and another handler, again and again while a worker claims its fire."""
    at = BEGAN_AT + 3_000
    steps: list[tuple[int, Callable[[Visit], None]]] = [(1_000, create_key("recast", target=WORK, at=at))]
    for number in range(CHANGES):
        target = TOIL if number % 4 == CHANGES_HANDLER else WORK
        wanted = definition_of(target=target, payload=Payload(b"recast %d" % number), at=at)
        changed = change_key("recast", changes.replaced(wanted, b"%d" % number), is_repeated=False)
        steps.append((2_400 + CHANGED_EVERY_MS * number, changed))
    return steps


def stalled() -> Steps:
    """A worker's call stalls that has found its job at another target. The job comes back; the worker asks again."""
    at = BEGAN_AT + 3_000

    def let_ask_again(visit: Visit) -> None:
        visit.desk.cloud.fleet.asks_again_after_ms = ASKS_AGAIN_AFTER_MS

    def moved(target: Target, change: bytes) -> Callable[[Visit], None]:
        wanted = definition_of(target=target, payload=STEADY, at=at)
        return change_key("stalled", changes.replaced(wanted, change), is_repeated=False)

    return [
        (500, let_ask_again),
        (1_000, create_key("stalled", target=WORK, payload=STEADY, at=at)),
        (MOVED_AFTER_MS, moved(TARGET, b"away")),
        (MOVED_AFTER_MS + MOVED_FOR_MS, moved(WORK, b"back")),
    ]


def outlived() -> Steps:
    """A receiver comes unsigned, under a token that was given out once, after the record has gone."""

    def come(visit: Visit) -> None:
        keys = visit.desk.cloud.stores.ticket_keys
        keys.make("key of the scene")
        token = Token(only_execution("gone", BEGAN_AT), 1, SECRET).checked(keys.get()[0])

        def flow(world: World, _: Sequence[str]) -> None:
            said = Reported(State.SUCCEEDED)
            unsigned.report_unsigned(world, unsigned.checked_token(world, str(token)), said)

        try:
            visit.call_until_answered(flow)
            visit.watcher.violated("I1", "a report of what is gone is taken", token.execution_id)
        except UnknownToken:
            pass

    return [(1_000, come)]


def _ask(key: str, jobs: list[NewJob]) -> Callable[[Visit], None]:
    return lambda visit: ask_again(visit, KeyedRequest(keyed_request(key, jobs), visit.now))


PULLING: dict[str, Callable[[], Steps]] = {
    scene.__name__: scene for scene in (keyless, lacking, crowded, flooded, trickling, recast, stalled, outlived)
}
