"""The look at the sets of a run, which is the last step before a node starts: it is not to start once its run stopped.

The deliverer claims first and looks then. A cancel stops the sets first and reads the records then. Therefore either
the look sees the stop, or the cancel sees the claim and its answer lists it.
"""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.errors import NewerFormat, Unavailable, Unreadable
from clockwork.domain.executions import State
from clockwork.domain.ids import NodeJob, decode_node
from clockwork.domain.named.look import Objection
from clockwork.domain.workflows.progress import Sets, number_of
from clockwork.flows.apart import sets_apart
from clockwork.flows.world import World

STOPPED = Objection(State.CANCELLED, "its run was stopped")
ENDED = Objection(State.CANCELLED, "its run has gone on without it")
UNKNOWN = Objection(State.CANCELLED, "its run is not known any more")


def objections(world: World, job_ids: Sequence[str]) -> list[Objection | Unreadable | Unavailable | None]:
    """Why each of these nodes is not to start; None: it is. An Unavailable, or a NewerFormat: that is not known."""
    nodes = [decode_node(job_id) for job_id in job_ids]
    found = sets_apart(world, [node.run_id for node in nodes])
    return [_objection(found[node.run_id], node) for node in nodes]


def _objection(
    sets: Sets | Unreadable | Unavailable | None, node: NodeJob
) -> Objection | Unreadable | Unavailable | None:
    if isinstance(sets, Unavailable | NewerFormat):
        return sets
    if sets is None or isinstance(sets, Unreadable):
        return UNKNOWN
    if sets.is_stopped:
        return STOPPED
    number = number_of(node.generation, node.index)
    return ENDED if sets.has(number) or not sets.is_current(number) else None
