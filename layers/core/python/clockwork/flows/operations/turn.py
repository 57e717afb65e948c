"""One turn of one operation: a sweep takes it, makes one call, and writes the result.

How it fails. The sweeper dies behind the take: the lease ends, and the next sweep takes the operation at the same
cursor, and counts the call as uncertain. It dies behind the call: the same, and the items are found changed. Two sweeps
take at once: one compare-and-set wins, and the other leaves the operation alone. A stop comes meanwhile: the write of
the result loses, reads the record again, and ends the operation with the counts of its call. A sweep that was out for
longer than its lease writes nothing: its call has been counted as uncertain.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from clockwork.domain.clients import DELETED, SPARE_MS, Client
from clockwork.domain.errors import NewerFormat, TooManyRequests, Unavailable, Unreadable, readable
from clockwork.domain.lifecycle.awaiting import CLAIM_GRACE_MS
from clockwork.domain.requests import operations
from clockwork.domain.requests.operations import Operation, Stage, Worked
from clockwork.flows.containment import why
from clockwork.flows.operations.begin import close
from clockwork.flows.operations.work import work
from clockwork.flows.records import replans
from clockwork.flows.world import World

log = logging.getLogger(__name__)


def turn(world: World, client_id: str, operation_id: str, opened_at: int) -> int | None:
    """Make one call of an operation if it is ready; when its next one is (ms). None: not in this sweep, or never.

    `opened_at`: when it was put into the list of open ones (ms). Raises Unavailable.
    """
    asked_at = world.clock.now()
    stored = world.operations.find(client_id, operation_id)
    now = world.clock.now()
    if isinstance(stored, NewerFormat):
        return None  # A newer version than this one runs it.
    if stored is None:
        # The api may have been about to write it as this read began, or have put it into the list once more since.
        if asked_at >= opened_at + world.settings.api_timeout_seconds * 1000 + SPARE_MS:
            close(world, client_id, [operation_id], opened_at)
        return None
    if isinstance(stored, Unreadable) or stored.is_over:
        close(world, client_id, [operation_id])
        return None
    if stored.is_taken(now):
        return None
    client = world.clients.get(client_id)
    if client is None or client.deleting_at is not None or client.since_at != stored.since_at:
        _end(world, stored, operations.ended(stored, Stage.STOPPED, now, DELETED))
        return None
    if stored.stage is Stage.STOPPING:
        _end(world, stored, operations.stopped(stored, stored.stopped_by or "", now))
        return None
    return stored.next_at if now < stored.next_at else _call(world, client, stored)


def _call(world: World, client: Client, stored: Operation) -> int | None:
    lease = world.random.token()
    until = world.clock.now() + world.settings.sweeper_timeout_seconds * 1000 + CLAIM_GRACE_MS
    mine = operations.taken(stored, lease, until)
    if not world.operations.save(stored, mine):
        return None
    after = _written(world, mine, _result(world, client, mine))
    if after is None:
        return None
    if after.is_over:
        close(world, client.client_id, [after.operation_id])
        return None
    return after.next_at


def _result(world: World, client: Client, mine: Operation) -> Callable[[Operation], Operation]:
    """Make the call: what it makes of the record."""
    extra = {"action": "operation_call_failed", "clientId": mine.client_id, "operationId": mine.operation_id}
    try:
        done: Worked = work(world, client, mine)
    except TooManyRequests as refused:
        until, said = world.clock.now() + refused.retry_after_seconds * 1000, str(refused)
        return lambda stored: operations.held_back(stored, said, until, world.clock.now())
    except Exception as error:  # noqa: BLE001 - whatever one call raises, other operations go on
        told = str(error) if isinstance(error, Unavailable) else why(world.environment.faults, error, mine.operation_id)
        log.warning("a call of an operation failed: %s", told, extra=extra)
        return lambda stored: operations.failed(stored, told, world.clock.now())
    return lambda stored: operations.worked(stored, done, world.clock.now())


def _written(world: World, mine: Operation, result: Callable[[Operation], Operation]) -> Operation | None:
    """Write the result of a call; None if another sweep has taken the operation meanwhile. Raises Unavailable."""
    again = replans("the operation's record")
    while not world.operations.save(mine, after := result(mine)):
        stored = world.operations.find(mine.client_id, mine.operation_id)
        if stored is None or readable(stored).lease != mine.lease:
            return None
        mine = readable(stored)
        next(again)
    return after


def _end(world: World, stored: Operation, after: Operation) -> None:
    if world.operations.save(stored, after):
        close(world, after.client_id, [after.operation_id])
