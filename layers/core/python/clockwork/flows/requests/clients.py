"""Change a client, as a pause and a resume do.

Read it, change it, and write it only if nobody has changed it meanwhile; otherwise begin anew. So of two admins who
write at once neither undoes the other: a PUT that was read before a pause keeps the pause.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from clockwork.domain.clients import Client, with_pause, without_pause
from clockwork.domain.errors import RevisionConflict, Unavailable
from clockwork.domain.requests.differences import differences
from clockwork.domain.requests.trail import Note, unnoted
from clockwork.flows.outages import tolerated
from clockwork.flows.records import MOST_REPLANS
from clockwork.flows.world import World

log = logging.getLogger(__name__)


def change_client(
    world: World, client_id: str, revision: int | None, change: Callable[[Client], Client], note: Note = unnoted
) -> Client:
    """Write what `change` makes of the client, or of an empty one if there is none; returns it as it is stored.

    A change that changes nothing writes nothing. `note` is called before anything is written. Raises
    RevisionConflict if the client is not at `revision`, if that is given (0: there is none), and Unavailable if the
    result is not certain: the caller may repeat.
    """
    for _ in range(MOST_REPLANS + 1):
        stored = world.clients.get(client_id, fresh=True)
        before = Client(client_id=client_id) if stored is None else stored
        after = change(before)
        if after == stored:
            return after  # Also the repeat of a call whose answer was lost.
        if revision is not None and revision != before.revision:
            at = "the client does not exist" if stored is None else f"the client is at revision {before.revision}"
            raise RevisionConflict(f"{at}, the request is for revision {revision}")
        note(client_id, differences(msgspec.json.encode(before), msgspec.json.encode(after)))
        after = msgspec.structs.replace(after, revision=before.revision + 1)
        if world.clients.put(after, replaces=before.revision):
            return after
    raise Unavailable(f"client {client_id} keeps changing")


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
