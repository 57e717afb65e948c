"""Change a client, as a pause and a resume do, or delete it.

Read it, change it, and write it only if nobody has changed it meanwhile; otherwise begin anew. Of two admins who write
at once, therefore, neither undoes the other: a PUT that was read before a pause keeps the pause.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from clockwork.domain.clients import (
    SPARE_MS,
    Client,
    ClientUnreadable,
    as_replaced,
    present,
    succeeds_at,
    with_pause,
    without_pause,
)
from clockwork.domain.errors import ClientDeleting, RevisionConflict, Unavailable
from clockwork.domain.requests.differences import differences
from clockwork.domain.requests.trail import Note, unnoted
from clockwork.flows.outages import tolerated
from clockwork.flows.records import MOST_REPLANS
from clockwork.flows.world import World

log = logging.getLogger(__name__)


def change_client(
    world: World,
    client_id: str,
    revision: int | None,
    change: Callable[[Client], Client],
    note: Note = unnoted,
    *,
    repairs: bool = False,
) -> Client:
    """Write what `change` makes of the client, or of an empty one if there is none; returns it as it is stored.

    A change that changes nothing writes nothing. `note` is called before anything is written. Raises
    RevisionConflict if the client is not at `revision`, if that is given (0: there is none), and Unavailable if the
    result is not certain: the caller may repeat. Raises ClientDeleting if it is being deleted. Of a client that cannot
    be read `change` gets its standing, if it `repairs`; otherwise this raises ClientUnreadable.
    """
    # By then every environment knows of the change: none has an older copy, and their clocks differ by less.
    indexed_from = world.clock.now() + world.settings.client_cache_seconds * 1000 + SPARE_MS

    def unless_deleting(client: Client) -> Client:
        if client.deleting_at is not None:
            raise ClientDeleting(f"the client {client_id} is being deleted: it takes no change any more")
        return as_replaced(client, change(client), indexed_from)

    return _change(world, client_id, revision, unless_deleting, note, repairs=repairs)


def delete_client(world: World, client_id: str, revision: int | None, note: Note = unnoted) -> Client:
    """Begin to delete the client: nothing of it starts any more, and sweeps end what is left of it.

    The note that lets a sweep find it is written first: without a client that is being deleted it does no harm. A
    repeat writes the note again, and changes nothing else. Raises as `change_client` does.
    """
    now = world.clock.now()
    stored = world.clients.get(client_id, fresh=True)
    if stored is None or stored.deleting_at is None:
        note(client_id, ())
    world.regulation.note_parked(client_id, now)

    def deleting(client: Client) -> Client:
        return client if client.deleting_at is not None else msgspec.structs.replace(client, deleting_at=now)

    return _change(world, client_id, revision, deleting, note)


def _change(
    world: World,
    client_id: str,
    revision: int | None,
    change: Callable[[Client], Client],
    note: Note,
    *,
    repairs: bool = False,
) -> Client:
    for _ in range(MOST_REPLANS + 1):
        tombstone, is_damaged = _stored(world, client_id, repairs=repairs)
        stored = present(tombstone)
        # A client that gets the id of one that is gone does not own what that one left behind.
        before = Client(client_id=client_id, since_at=succeeds_at(tombstone)) if stored is None else stored
        after = change(before)
        if after == stored and not is_damaged:
            return after  # Also the repeat of a call whose answer was lost.
        if revision is not None and revision != before.revision:
            at = "the client does not exist" if stored is None else f"the client is at revision {before.revision}"
            raise RevisionConflict(f"{at}, the request is for revision {revision}")
        note(client_id, differences(msgspec.json.encode(before), msgspec.json.encode(after)))
        last = 0 if tombstone is None else tombstone.revision
        after = msgspec.structs.replace(after, revision=last + 1)
        if world.clients.put(after, replaces=last):
            return after
    raise Unavailable(f"client {client_id} keeps changing")


def _stored(world: World, client_id: str, *, repairs: bool) -> tuple[Client | None, bool]:
    """The client as it is stored, and whether nothing but its standing is left of it. Raises ClientUnreadable."""
    try:
        return world.clients.get(client_id, fresh=True), False
    except ClientUnreadable as fault:
        if not repairs:
            raise
        return fault.standing, True


def pause_client(
    world: World, client_id: str, revision: int | None, reason: str | None, note: Note = unnoted
) -> Client:
    """Pause the client: what comes due for it is parked. Raises as `change_client` does."""
    now = world.clock.now()
    return change_client(world, client_id, revision, lambda client: with_pause(client, reason, now), note)


def resume_client(world: World, client_id: str, revision: int | None, note: Note = unnoted) -> Client:
    """End the client's pause, and have its parked occurrences swept at once. Raises as `change_client` does.

    The row is written first. If this call dies behind it, or the sweeper is not started, the next sweep unparks them.
    """
    now, ended = world.clock.now(), []

    def resumed(client: Client) -> Client:
        ended.append(client.paused)
        return without_pause(client, now)

    client = change_client(world, client_id, revision, resumed, note)
    if ended[-1]:
        with tolerated(world, log, "sweep not started: %s", {"action": "sweep_not_started", "clientId": client_id}):
            world.invoker.sweep(client_id)
    return client
