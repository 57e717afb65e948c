"""Scenes of operations on many: a day that has no room for one, and a client that is deleted while one is open."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from clockwork.domain.clients import Client
from clockwork.domain.errors import ExecutionNotFound
from clockwork.domain.requests.operations import Kind, Meant
from clockwork.domain.requests.quotas import day_of
from clockwork.flows.operations.begin import Asked
from clockwork.flows.requests.reporting import require_owner
from tests.simulation.clients import Visit
from tests.simulation.operating import begin_one, stop_one
from tests.simulation.regulated import delete_client, operate, redriving
from tests.simulation.requests import METERED, REGULATED
from tests.simulation.scenes import ONCE, Steps, ask_as, job_of, keyed_request
from tests.simulation.targets import FAILS_ONCE

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
        (FIRST + 101_000, _report_for_nobody),
    ]


def _dies(client: Client, body: str, after_ms: int) -> Callable[[Visit], None]:
    return ask_as(client, keyed_request(body, [job_of(FAILS_ONCE + body.encode(), after_ms, ONCE)], client))


def _operate(client: Client, kind: Kind, visit: Visit) -> None:
    """Begins an operation on all that is dead."""
    visit.client = client
    redriving(visit)
    asked = Asked(kind=kind, meant=Meant(), by=client.principals[0], max_per_second=1_000.0)
    begin_one(visit, asked, f"at {visit.step.at}")


def _report_for_nobody(visit: Visit) -> None:
    """No execution of a client that is being deleted takes a report."""
    stores = visit.desk.cloud.stores
    client = stores.clients.get(REGULATED.client_id)
    is_leaving = client is not None and client.deleting_at is not None
    for record in [one for one in stores.executions.all() if one.client_id == REGULATED.client_id][:1]:
        with suppress(ExecutionNotFound):
            operate(visit, partial(require_owner, execution=record))
            visit.watcher.require(not is_leaving, "I9", "a client that is being deleted owns an execution")


def _fill_the_day(visit: Visit) -> None:
    most = METERED.jobs_per_day or 0
    regulation = visit.desk.cloud.stores.regulation
    while regulation.count_created(METERED.client_id, day_of(visit.now), 1, most):
        pass


def _stop_all(visit: Visit) -> None:
    visit.client = METERED
    for place in sorted(visit.watcher.operations):
        stop_one(visit, place)
