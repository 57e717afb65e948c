"""The keys of the checks in tokens that may come unsigned: those of tickets, made by whoever needs them first.

How it fails. The keys give no answer: a deliverer delivers no token then, and its message comes back; what comes
unsigned is not decided, and its caller may repeat.
"""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.flows.world import World


def check_keys(world: World) -> Sequence[str]:
    """The keys; the first one is made if there is none. It makes checks, and all of them prove one.

    Empty if the deployment takes no report unsigned. Raises Unavailable.
    """
    if not world.settings.takes_unsigned:
        return ()
    if not (keys := world.ticket_keys.get()):
        world.ticket_keys.make(world.random.token() + world.random.token())
        keys = world.ticket_keys.get()
    return keys
