"""The right to work for a pool: only principals that the pool lists have it, whatever other rights a caller has."""

from __future__ import annotations

from clockwork.domain.errors import NotAllowed
from clockwork.domain.pools.pool import Pool
from clockwork.flows.access import Caller
from clockwork.flows.world import World


def worked_by(world: World, caller: Caller, name: str) -> Pool:
    """The pool, which lists the caller. Raises NotAllowed for all others, whether or not there is such a pool."""
    pool = world.pools.get(name) if name in world.settings.pool_queue_urls else None
    if pool is None or not pool.lets_work(caller.principal):
        raise NotAllowed("there is no such pool, or it does not list the caller's principal")
    return pool
