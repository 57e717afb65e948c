"""Read and change the pools that the deployment has queues for.

A pool is written as a client is: read it, change it, and write it only if nobody has changed it meanwhile; otherwise
begin anew. If the process dies before the write, the trail's entry stands for a change that was not made; the caller
repeats. If the answer of the write is lost, the repeat finds the pool as it is to be and writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from clockwork.domain.errors import NotAllowed, PoolNotFound, RevisionConflict
from clockwork.domain.pools.pool import Pool
from clockwork.domain.requests.differences import differences
from clockwork.domain.requests.trail import Note, unnoted
from clockwork.flows.access import Caller
from clockwork.flows.records import replans
from clockwork.flows.world import World

#: Prefix of a pool's name where a trail has a clientId; no clientId holds a slash.
TRAIL = "pool/"


def require_queues(world: World, name: str) -> None:
    """Raise PoolNotFound for a pool that the deployment has no queues for."""
    if name not in world.settings.pool_queue_urls:
        raise PoolNotFound(
            f"this deployment has no pool {name}: name it in the option `pools` of deployment.json, and deploy"
        )


def get_pool(world: World, name: str, *, fresh: bool = False) -> Pool:
    """The pool as it was written; one that nobody has written has no principals. Raises PoolNotFound."""
    require_queues(world, name)
    return world.pools.get(name, fresh=fresh) or Pool(name=name)


def list_pools(world: World) -> list[Pool]:
    """All pools of the deployment, by name."""
    return [get_pool(world, name) for name in sorted(world.settings.pool_queue_urls)]


def pool_for(world: World, caller: Caller, name: str) -> Pool:
    """The pool, for an admin and for its workers. All others get NotAllowed, whether or not there is such a pool.

    Raises PoolNotFound for an admin.
    """
    if caller.is_admin:
        return get_pool(world, name)
    pool = world.pools.get(name) if name in world.settings.pool_queue_urls else None
    if pool is None or not pool.lets_work(caller.principal):
        raise NotAllowed("the pool does not list the caller's principal")
    return pool


def change_pool(
    world: World, name: str, revision: int | None, change: Callable[[Pool], Pool], note: Note = unnoted
) -> Pool:
    """Write what `change` makes of the pool; returns it as it is stored. A change that changes nothing writes nothing.

    `note` is called before anything is written. Raises PoolNotFound, RevisionConflict if the pool is not at `revision`,
    if that is given (0: nobody has written it), and Unavailable if the result is not certain: the caller may repeat.
    """
    again = replans(f"pool {name}")
    while True:
        before = get_pool(world, name, fresh=True)
        after = change(before)
        if before.revision and after == before:
            return after  # Also the repeat of a call whose answer was lost.
        if revision is not None and revision != before.revision:
            detail = f"the pool is at revision {before.revision}, the request is for revision {revision}"
            raise RevisionConflict(detail)
        note(TRAIL + name, differences(msgspec.json.encode(before), msgspec.json.encode(after)))
        after = msgspec.structs.replace(after, revision=before.revision + 1)
        # Whoever sends to a pool seals it: there is a key before there is anything to send.
        world.ticket_keys.make(world.random.token() + world.random.token())
        if world.pools.put(after, replaces=before.revision):
            return after
        next(again)
