"""Scenes of operations on many: a day that has no room for one, and a client that is deleted while one is open."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.requests.operations import Kind, Meant, Operation
from clockwork.domain.requests.quotas import day_of
from clockwork.domain.requests.trail import unnoted
from clockwork.flows.operations.begin import Asked, begin, stop
from clockwork.flows.world import World
from tests.simulation.clients import Visit, ask_again
from tests.simulation.regulated import delete_client, redriving
from tests.simulation.requests import METERED, REGULATED, KeyedRequest
from tests.simulation.scenes import Steps, job_of, keyed_request
from tests.simulation.targets import FAILS_ONCE

ONCE = RetryPolicy(max_attempts=1)
#: Sweeps run every 300 s, so one of these times lies before the first sweep, and the others around the second.
FIRST, FULL, SECOND, STOPPED = 50_000, 320_000, 350_000, 650_000


def without_room() -> Steps:
    """Dead jobs are redriven while the day has room for them. Behind that an operation waits until it is stopped."""
    return [
        (1_000, _dies(METERED, "early", 2_000)),
        (10_000, _dies(METERED, "late", 310_000)),
        (FIRST, partial(_operate, METERED, Kind.REDRIVE_DEAD)),
        (FULL, _fill_the_day),
        (SECOND, partial(_operate, METERED, Kind.REDRIVE_DEAD)),
        (STOPPED, _stop_all),
    ]


def left_by_its_client() -> Steps:
    """A client is deleted before the first call of its operation, which changes nothing then."""
    return [
        (1_000, _dies(REGULATED, "left", 2_000)),
        (FIRST, partial(_operate, REGULATED, Kind.DISCARD_DEAD)),
        (FIRST + 100_000, delete_client),
    ]


def _dies(client: Client, body: str, after_ms: int) -> Callable[[Visit], None]:
    job = job_of(FAILS_ONCE + body.encode(), after_ms, ONCE)
    asked = msgspec.structs.replace(keyed_request(body, [job], client), outlines=())

    def ask(visit: Visit) -> None:
        visit.client = client
        ask_again(visit, KeyedRequest(asked, visit.now))

    return ask


def _operate(client: Client, kind: Kind, visit: Visit) -> None:
    """Begins an operation on all that is dead."""
    visit.client = client
    redriving(visit)
    asked = Asked(kind=kind, meant=Meant(), by=client.principals[0], max_per_second=1_000.0)

    def beginning(world: World, _: object) -> Operation:
        return begin(world, visit.acting_for(world, client.client_id), asked, f"at {visit.step.at}", unnoted)

    visit.watcher.operations.add((client.client_id, visit.call_until_answered(beginning).operation_id))


def _fill_the_day(visit: Visit) -> None:
    most = METERED.jobs_per_day or 0
    regulation = visit.desk.cloud.stores.regulation
    while regulation.count_created(METERED.client_id, day_of(visit.now), 1, most):
        pass


def _stop_all(visit: Visit) -> None:
    visit.client = METERED

    def stopping(operation_id: str, world: World, _: object) -> Operation:
        return stop(world, visit.acting_for(world, METERED.client_id), operation_id, "somebody", unnoted)

    for _, operation_id in sorted(visit.watcher.operations):
        visit.call_until_answered(partial(stopping, operation_id))
