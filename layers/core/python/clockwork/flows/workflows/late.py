"""The flows of workflows, loaded by the first release that is of one: most environments never meet any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clockwork.domain.errors import Unavailable, Unreadable
from clockwork.domain.executions import Execution
from clockwork.domain.named.look import Objection
from clockwork.domain.releases import Release
from clockwork.flows.world import World


def carry_on(world: World, release: Release, seen: Execution) -> None:
    """Begin the run of a claimed release, or go on with one that has begun."""
    from clockwork.flows.workflows import start

    start.carry_on(world, release, seen)


def add_ends(world: World, ended: Sequence[Execution], *, buries: bool) -> Mapping[int, str]:
    """Add the ends of nodes to the sets of their runs, and go on with these."""
    from clockwork.flows.workflows import ends

    return ends.add_ends(world, ended, buries=buries)


def objections(world: World, job_ids: Sequence[str]) -> Sequence[Objection | Unreadable | Unavailable | None]:
    """Why each of these nodes is not to start, as its run's sets tell."""
    from clockwork.flows.workflows import look

    return look.objections(world, job_ids)


def nudge(world: World, ended: Sequence[Execution]) -> None:
    """Have the runs of nodes that have ended looked at now."""
    from clockwork.flows.workflows import ends

    ends.nudge(world, ended)


def stop(world: World, runs: Sequence[Execution]) -> Sequence[Execution]:
    """Stop runs that have begun; returns their nodes that still run."""
    from clockwork.flows.workflows import cancel

    return cancel.stop(world, runs)
