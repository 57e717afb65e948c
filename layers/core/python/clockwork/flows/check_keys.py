"""The keys of the deployment, under which tickets, checks of unsigned tokens, and tokens of pages are sealed.

The first that needs one makes it. How it fails. The keys give no answer: a deliverer delivers no token then, and its
message comes back. The api does not decide about an unsigned report, and gives no page that needs a token; the caller
may repeat.
"""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.flows.world import World


def check_keys(world: World) -> Sequence[str]:
    """The keys of the checks in tokens that may come unsigned: the first one makes checks, and all of them prove one.

    Empty if the deployment takes no report unsigned. Raises Unavailable.
    """
    return deployment_keys(world) if world.settings.takes_unsigned else ()


def deployment_keys(world: World) -> Sequence[str]:
    """The keys, of which the first one seals and all open; one is made if there is none. Raises Unavailable."""
    if not (keys := world.ticket_keys.get()):
        world.ticket_keys.make(world.random.token() + world.random.token())
        keys = world.ticket_keys.get()
    return keys
