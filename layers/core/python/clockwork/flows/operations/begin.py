"""Begin an operation, or stop one: a caller asks.

How it fails. The api dies behind the list of open operations: sweeps find no record under the id, and drop it once no
api can still be about to write it. It dies behind the record: sweeps run the operation, and the caller finds it in the
list; a repeat under the same Idempotency-Key is answered with it. Two begin at once, or a sweep drops one: each write
of the list is a compare-and-set. A stop meets a call: the sweep finds it as it writes the call's result, and ends.
"""

from __future__ import annotations

import msgspec

from clockwork.domain import ids
from clockwork.domain.clients import Client
from clockwork.domain.errors import ClientDeleting, OperationNotFound, TooManyOpen, Unreadable, readable
from clockwork.domain.requests.operations import KEPT_MS, MOST_OPEN, Kind, Meant, Open, Operation, stopped
from clockwork.domain.requests.trail import Note
from clockwork.flows.idempotency import claim_key
from clockwork.flows.records import replans
from clockwork.flows.world import World


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """An operation as a caller asks for it."""

    kind: Kind
    meant: Meant
    by: str
    max_per_second: float
    reason: str | None = None
    cancels_waiting: bool = False


def begin(world: World, client: Client, asked: Asked, key: str | None, note: Note) -> Operation:
    """Write the record of an operation, for the sweeps to find; with an Idempotency-Key the one of the first request.

    It means what was due, or was made, by the instant of the request. Raises TooManyOpen, KeyReused, ClientDeleting,
    and Unavailable: then a repeat under the same key is safe.
    """
    if client.deleting_at is not None:
        raise ClientDeleting(f"the client {client.client_id} is being deleted: it takes no change any more")
    digest = ids.digest_of([b"operation", msgspec.msgpack.encode(asked)])
    origin = claim_key(world, client.client_id, key, digest, world.random.token(), "operations", client.since_at)
    operation_id = f"{origin.created_at:013d}-{ids.derive('operation', client.client_id, origin.seed)}"
    if key is not None and (stored := world.operations.find(client.client_id, operation_id)) is not None:
        return readable(stored)
    made = Operation(
        client_id=client.client_id,
        operation_id=operation_id,
        kind=asked.kind,
        meant=_bounded(asked, origin.created_at),
        made_at=origin.created_at,
        made_by=asked.by,
        max_per_second=asked.max_per_second,
        since_at=client.since_at,
        cancels_waiting=asked.cancels_waiting,
        reason=asked.reason,
        expires_at=origin.created_at + KEPT_MS,
    )
    note(client.client_id)
    _open(world, made)
    if not world.operations.save(None, made):
        return find(world, client, operation_id)
    return made


def find(world: World, client: Client, operation_id: str) -> Operation:
    """One operation of the client. Raises OperationNotFound, also for one of a client that had the id before."""
    stored = world.operations.find(client.client_id, operation_id)
    if stored is None or readable(stored).since_at != client.since_at:
        raise OperationNotFound(operation_id)
    return readable(stored)


def stop(world: World, client: Client, operation_id: str, by: str, note: Note) -> Operation:
    """Stop an operation: at once, or behind the call that is under way, which changes up to 100 items more.

    If it is over, or is being stopped, it stays as it is. Raises OperationNotFound, and Unavailable.
    """
    again = replans("the operation's record")
    while not (stored := find(world, client, operation_id)).is_over and stored.stopped_by is None:
        note(client.client_id)
        after = stopped(stored, by, world.clock.now())
        if world.operations.save(stored, after):
            stored = after
            break
        next(again)
    if stored.is_over:
        close(world, client.client_id, [operation_id])
    return stored


def close(world: World, client_id: str, operation_ids: list[str], opened_at: int | None = None) -> None:
    """Let no sweep look at these operations any more. Raises Unavailable.

    `opened_at`: only those that were put into the list at that instant (ms), and not once more since.
    """
    again = replans("the list of open operations")
    while True:
        before = world.operations.open_of(client_id)
        since = {one: at for one, at in before.since.items() if one not in operation_ids or opened_at not in (None, at)}
        if len(since) == len(before.since) or world.operations.put_open(before, Open(client_id, since)):
            return
        next(again)


def _bounded(asked: Asked, now: int) -> Meant:
    """The filter, of what was due by the instant of the request: no operation chases what comes due meanwhile."""
    if asked.kind not in (Kind.REDRIVE_DEAD, Kind.DISCARD_DEAD) or asked.meant.to_at is not None:
        return asked.meant
    return msgspec.structs.replace(asked.meant, to_at=now)


def _open(world: World, made: Operation) -> None:
    again = replans("the list of open operations")
    while True:
        before = world.operations.open_of(made.client_id)
        others = {one: at for one, at in before.since.items() if one != made.operation_id}
        if len(others) >= MOST_OPEN and sum(_takes_a_place(world, made.client_id, one) for one in others) >= MOST_OPEN:
            raise TooManyOpen(f"the client has {MOST_OPEN} operations that are not over: wait for one, or stop one")
        since = {**others, made.operation_id: world.clock.now()}
        if world.operations.put_open(before, Open(made.client_id, since)):
            return
        next(again)


def _takes_a_place(world: World, client_id: str, operation_id: str) -> bool:
    """Whether an open operation is one of the few. Nobody can stop one whose record this version cannot read."""
    return not isinstance(world.operations.find(client_id, operation_id), Unreadable)
