"""Graces: the watch that ends a receiver's attempt once the time is over that a cancel left it to stop.

The lease of the attempt may end much later, so whoever notes a cancel sends a watch for the end of the grace.

How it fails. The caller dies after it noted the cancel, or the queue refuses the watch: a repeat finds the cancel
noted, and sends the watch once more. It marks the record then, so that repeats behind it send none. If the mark is
lost, or two repeats come at once, one watch more is sent, which finds what the other one did. Without any watch, the
first heartbeat after the grace ends the attempt, or its own watch when the lease ends.
"""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution
from clockwork.domain.lifecycle.awaiting import release_of, watch_of, watched_again
from clockwork.domain.runs.beginning import is_run
from clockwork.flows.timeline.retries import send_retries
from clockwork.flows.world import World


def watch_graces(world: World, noted: Sequence[Execution], met: Sequence[Execution] = ()) -> None:
    """Send the watches of running attempts with a noted cancel: noted by this call (`noted`), or before (`met`).

    An attempt that its receiver has not accepted yet gets its watch with the acceptance. The run of a workflow has no
    grace of its own. Raises Unavailable: the caller may repeat.
    """
    marked = [(one, after) for one in met if (after := watched_again(one)) is not None]
    running = [*(one for one in noted if one.is_accepted and not is_run(one)), *(one for one, _ in marked)]
    for why_not in send_retries(world, [watch_of(release_of(one), one) for one in running]).values():
        raise Unavailable(why_not)
    if marked:
        # Whoever wrote the record meanwhile wins: another repeat sends one watch more.
        world.executions.save(marked)
