"""Tell clients of their dead: a message to the client's own dead-letter queue, if it has one.

The record is the truth and the list of dead executions is complete; this is a call to look. It is made once, and not
again if we die before it or it is refused, which the log says.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from clockwork.domain.errors import Unavailable, Unreadable
from clockwork.domain.executions import Execution, State
from clockwork.flows.world import World

log = logging.getLogger(__name__)


def tell_dead(world: World, executions: Sequence[Execution]) -> None:
    """Tell of those among records that were just stored which are DEAD. Never raises for what a queue answers."""
    for execution in executions:
        if execution.state is not State.DEAD:
            continue
        try:
            client = world.clients.get(execution.client_id)
            if client is not None and client.dead_letter_queue_arn is not None:
                world.notices.tell(client.dead_letter_queue_arn, execution)
        except (Unavailable, Unreadable) as error:
            extra = {"action": "death_not_told", "executionId": execution.execution_id}
            log.warning("a death was not told: %s", error, extra=extra)
