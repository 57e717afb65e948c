"""Operations on many: clients begin and stop them, sweeps run them; and the judge of their records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from clockwork.domain.errors import Unreadable
from clockwork.domain.requests.operations import MOST_PASSED, Kind, Meant, Operation, Stage
from clockwork.domain.requests.trail import unnoted
from clockwork.flows.operations.begin import Asked, begin, stop
from clockwork.flows.world import World
from tests.simulation.clients import Visit
from tests.simulation.regulated import redriving

if TYPE_CHECKING:
    from tests.simulation.stores import Stores
    from tests.simulation.watcher import Watcher

#: Slow ones last for many sweeps, and are still under way when they are stopped.
RATES = (0.1, 1.0, 1_000.0)
#: Kinds as often as they are drawn. Jobs are resumed more often than paused, so that most of them go on.
KINDS = (
    *(*[Kind.REDRIVE_DEAD] * 4, *[Kind.DISCARD_DEAD] * 2),
    *(Kind.PAUSE_JOBS, *[Kind.RESUME_JOBS] * 2, Kind.CANCEL_JOBS),
)


def operate(visit: Visit) -> None:
    """Begins a change of many dead executions or named jobs, and sometimes stops it a little later."""
    rng, now = visit.rng, visit.now
    kind = rng.choice(KINDS)
    meant = rng.choice((Meant(), Meant(), Meant(prefix="job-"), Meant(from_at=now - 200_000, to_at=now - 50_000)))
    if kind in (Kind.REDRIVE_DEAD, Kind.DISCARD_DEAD):
        redriving(visit)
    else:
        meant = Meant(prefix=rng.choice(("job-", "job-1")), paused_reason=rng.choice((None, "an operation")))
    by, key = visit.client.principals[0], f"operation {rng.getrandbits(64):x}"
    rate, reason = rng.choice(RATES), rng.choice((None, "an operation"))
    asked = Asked(kind=kind, meant=meant, by=by, max_per_second=rate, reason=reason)

    place = begin_one(visit, asked, key)
    if rng.random() < 0.4:
        visit.actor.pause(rng.randrange(0, 200_000))
        stopped = stop_one(visit, place)
        visit.watcher.stops[place] = stopped.calls + stopped.uncertain + (stopped.stage is Stage.STOPPING)


def begin_one(visit: Visit, asked: Asked, key: str) -> tuple[str, str]:
    """Begins an operation of the visiting client, for the judge to follow; returns the client and the operationId."""
    client_id = visit.client.client_id

    def beginning(world: World, _: Sequence[str]) -> Operation:
        return begin(world, visit.acting_for(world, client_id), asked, key, unnoted)

    place = client_id, visit.call_until_answered(beginning).operation_id
    visit.watcher.operations.add(place)
    return place


def stop_one(visit: Visit, place: tuple[str, str]) -> Operation:
    """Stops an operation of the visiting client; returns its record."""
    client_id, operation_id = place
    by = visit.client.principals[0]
    return visit.call_until_answered(
        lambda world, _: stop(world, visit.acting_for(world, client_id), operation_id, by, unnoted)
    )


def objections(stores: Stores, watcher: Watcher) -> Iterator[tuple[str, str, str]]:
    """The objections to the operations of a run that is over: the invariant, the words, and the client."""
    for one in stores.operations.open():
        yield "L1", f"operations are open for ever: {sorted(one.since)}", one.client_id
    for client_id, operation_id in sorted(watcher.operations):
        record = stores.operations.find(client_id, operation_id)
        if record is None or isinstance(record, Unreadable):
            yield "I1", f"the operation {operation_id} was acknowledged, and there is none", client_id
            continue
        if not record.is_over or record.lease:
            yield "L1", f"the operation {operation_id} never ends: {record}", client_id
        if record.changed + record.passed_count > record.matched or len(record.passed) > MOST_PASSED:
            yield "I12", f"the counts of the operation {operation_id} are wrong: {record}", client_id
        most = watcher.stops.get((client_id, operation_id))
        if most is not None and record.calls + record.uncertain > most:
            yield "I5", f"more than one call followed a stop of the operation {operation_id}: {record}", client_id


OPERATING_OPERATIONS: dict[str, Callable[[Visit], None]] = {"operate": operate}
OPERATING_WEIGHTS = {"operate": 6}
