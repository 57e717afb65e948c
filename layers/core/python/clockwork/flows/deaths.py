"""Call back clients whose executions ended DEAD: put the callback's row, then release it. It is due already.

It is done before the message that brought the death is let go, and again whenever a message finds its execution DEAD:
row and ids derive from the execution, so repeats are one job. Whoever dies between record and row leaves the message.


Tell clients of their dead: a message to the client's own dead-letter queue, if it has one.

The record is the truth and the list of dead executions is complete; this is a call to look. It is made once, and not
again if we die before it or it is refused, which the log says.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from clockwork.domain.errors import Unavailable, Unreadable
from clockwork.domain.executions import Execution, State
from clockwork.domain.jobs import RetryPolicy
from clockwork.domain.lifecycle.callbacks import callback_row, is_called_back
from clockwork.domain.releases import Release
from clockwork.domain.storage.rows import releases_of
from clockwork.domain.timeline import Row
from clockwork.flows.world import World


def call_back(world: World, ended: Sequence[tuple[Release, Execution | None]]) -> Sequence[str | None]:
    """Place the callback of each whose stored execution is DEAD and that has one.

    For each: None once the callback surely will come or none is wanted, otherwise why that is not certain.
    """
    results: list[str | None] = [None] * len(ended)
    placing: list[tuple[int, Row]] = []
    for index, (release, stored) in enumerate(ended):
        if stored is not None and is_called_back(release, stored):
            try:
                placing.append((index, _row_of(world, release, stored)))
            except Unavailable as error:
                results[index] = str(error)
    for (index, _), why_not in zip(placing, _place(world, [row for _, row in placing]), strict=True):
        results[index] = why_not
    return results


def _row_of(world: World, release: Release, dead: Execution) -> Row:
    client = world.clients.get(dead.client_id)
    policy = client.retry_policy if client is not None else None
    # Anew from now: a message may find its execution dead days later.
    expires_at = world.row_expires_at(world.clock.now())
    return callback_row(release, dead, policy or RetryPolicy(), expires_at)


def _place(world: World, rows: Sequence[Row]) -> list[str | None]:
    if not rows:
        return []
    try:
        world.timeline.put_new(rows)
    except Unavailable as error:
        return [str(error)] * len(rows)
    results: list[str | None] = [None] * len(rows)
    for refusal in world.releases.send([release for row in rows for release in releases_of(row)], world.clock.now()):
        results[refusal.index] = refusal.reason
    return results


log = logging.getLogger(__name__)


def notify_dead(world: World, executions: Sequence[Execution]) -> None:
    """Tell of those among records that were just stored which are DEAD. Never raises for what a queue answers."""
    for execution in executions:
        if execution.state is not State.DEAD:
            continue
        try:
            client = world.clients.get(execution.client_id)
            if client is not None and client.dead_letter_queue_arn is not None:
                world.notices.send(client.dead_letter_queue_arn, execution)
        except (Unavailable, Unreadable) as error:
            extra = {"action": "death_not_told", "executionId": execution.execution_id}
            log.warning("a death was not told: %s", error, extra=extra)
