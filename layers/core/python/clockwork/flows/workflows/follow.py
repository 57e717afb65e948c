"""Follow the ends of executions: the callback of a death, and the next steps of the run of which it was a node.

The process that records an end, or finds a record that has ended, calls this before it acknowledges the message or
answers the request. A repeat does nothing twice: callbacks have derived ids, and marks are added to sets.
"""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.executions import Execution
from clockwork.domain.lifecycle.callbacks import is_called_back
from clockwork.domain.releases import Refused, Release
from clockwork.flows.deaths import call_back
from clockwork.flows.workflows import late
from clockwork.flows.world import World


def is_followed(release: Release, stored: Execution) -> bool:
    """Whether something follows from a stored record: it asks for a callback, or is that of a node that has ended."""
    return is_called_back(release, stored) or (release.of.node is not None and stored.is_final)


def follow_ends(
    world: World, ended: Sequence[tuple[Release, Execution | None]], *, buries: bool = True
) -> Sequence[Refused]:
    """Do what follows from the ends of executions, given as releases with their records as stored.

    `buries`: this process may tell clients of deaths. Returns the index of each release of which this is not certain,
    with the reason, as `call_back` does.
    """
    nodes = [
        (index, stored)
        for index, (release, stored) in enumerate(ended)
        if stored is not None and stored.is_final and release.of.node is not None
    ]
    refused = call_back(world, ended)
    if not nodes:
        return refused
    faults = late.add_ends(world, [stored for _, stored in nodes], buries=buries)
    return [*refused, *(Refused(nodes[place][0], False, why_not) for place, why_not in faults.items())]
