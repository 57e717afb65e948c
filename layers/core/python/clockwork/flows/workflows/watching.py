"""The watch of a run: it finds ends of which the sets know nothing, and stops a run whose time is over.

It comes now and then, and starts no run. Deadlines rest on it, and the ends of nodes that a process recorded which then
died without a message.
"""

from __future__ import annotations

import logging

from clockwork.domain.errors import Undecodable, readable
from clockwork.domain.executions import Execution
from clockwork.domain.ids import run_of
from clockwork.domain.releases import Watch
from clockwork.domain.runs.beginning import is_over, releases_again
from clockwork.domain.runs.endings import plan_lost
from clockwork.domain.workflows.graph import step_of
from clockwork.domain.workflows.progress import Sets
from clockwork.flows.workflows.advance import Advance, end
from clockwork.flows.workflows.nodes import records_of, tell_ends
from clockwork.flows.world import World

log = logging.getLogger(__name__)


def watch(world: World, release: Watch, run: Execution) -> None:
    """Do what a watch finds to do for a run that has begun. Raises Unavailable: the watch comes back."""
    found = world.runs.get([run_of(run.execution_id)])[0]
    if found is None or isinstance(found, Undecodable):
        log.error("a run has no sets", extra={"action": "run_unknown", "executionId": run.execution_id})
        end(world, run, lambda stored: plan_lost(stored, world.clock.now()), buries=True)
        return
    sets: Sets | None = readable(found)
    assert sets is not None
    if sets.generation != run.attempt:
        return
    if is_over(run, world.clock.now()) and not sets.is_stopped:
        sets = world.runs.stop(sets.run_id, run.attempt) or sets
    # Nodes that are to run and have no mark: those that have ended by their records are told to the sets.
    open_nodes = step_of(sets.nodes, sets.outcomes(), None).ready
    records = records_of(world, run, sets, open_nodes)
    tell_ends(world, run, sets, {index: one for index, one in records.items() if one is not None and one.is_final})
    fresh = [index for index, one in records.items() if one is None]
    Advance(world, sets, run).go(None, among=fresh if releases_again(run, release) else ())
