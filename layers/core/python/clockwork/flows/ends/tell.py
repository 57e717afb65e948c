"""Take the word of a service on what an attempt began, as an event brings it. An event proves nothing but its name."""

from __future__ import annotations

from functools import partial

from clockwork.domain import ids
from clockwork.domain.ends.telling import plan_told
from clockwork.domain.errors import StaleToken
from clockwork.flows.requests.reporting import settle
from clockwork.flows.workflows import late
from clockwork.flows.world import World
from clockwork.targets.message import Told


def tell(world: World, told: Told) -> bool:
    """Record an end. Whether it is one that was waited for. Raises Unavailable: the event comes back.

    A node's end is told to its run again, as an earlier reader of the event may have died behind the record.
    """
    try:
        job_id = ids.decode_execution(told.execution_id).job_id
    except ids.InvalidId:
        return False
    stored = world.executions.find(job_id, told.execution_id)
    if stored is None:
        return False
    try:
        settle(world, stored, partial(plan_told, told=told, now=world.clock.now()))
    except StaleToken:
        if ids.is_node(stored.job_id) and stored.is_final:
            late.nudge(world, [stored])
        return False
    return True
