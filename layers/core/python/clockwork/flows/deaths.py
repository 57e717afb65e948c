"""Deaths: call back clients whose executions ended DEAD, and send notices to the clients' own dead-letter queues.

A callback (`call_back`) is an ordinary job that is due already: its row is put, and then it is released. The caller
does so before it acknowledges the message that brought the death, and again whenever a message finds its execution
DEAD. Row and ids derive from the execution, so repeats are one job. If the caller dies between the record and the row,
the message comes back.

A notice (`notify_dead`) is a message to the client's own dead-letter queue, if it has one. The record is the truth, and
the list of dead executions is complete without notices. A notice is therefore sent once. It is not sent again if the
process dies before, or if the queue refuses it; the log names a refusal.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import msgspec

from clockwork.domain.errors import ClockworkError, Unavailable, Unreadable
from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import is_node
from clockwork.domain.lifecycle.attempts import plan_death
from clockwork.domain.lifecycle.callbacks import callback_row, is_called_back
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Refused, Release
from clockwork.domain.storage.rows import releases_of
from clockwork.domain.timeline import Row
from clockwork.flows.containment import why
from clockwork.flows.outages import tolerated
from clockwork.flows.world import World


def call_back(world: World, ended: Sequence[tuple[Release, Execution | None]]) -> Sequence[Refused]:
    """Put and release the callback of each execution that is stored as DEAD and whose job asks for one.

    `ended`: releases with their records as stored. Executions of a deleted client are not called back once another
    client has its id. Returns the index of each release whose callback may not come, with the reason. The reason is
    `permanent` if the same call would fail again, for that release alone.
    """
    refused: list[Refused] = []
    rows: dict[int, Row] = {}
    for index, (release, stored) in enumerate(ended):
        try:
            if stored is not None and is_called_back(release, stored) and not _is_over(world, release, stored):
                rows[index] = _row_of(world, release, stored)
        except Exception as error:  # noqa: BLE001 - whatever one callback raises, the others are placed
            refused.append(_refusal(world, index, error))
    return [*refused, *_place(world, rows)]


def _is_over(world: World, release: Release, dead: Execution) -> bool:
    """Whether nobody is called back any more.

    The callback was placed so long ago that its record may have gone. Or the release is of a deleted client whose id
    another one has by now: that one is told nothing of it.
    """
    if dead.end.dead_at is not None and not world.retention.may_owe_callback(dead.end.dead_at, world.clock.now()):
        return True
    client = world.clients.get(release.occurrence.client_id)
    return client is not None and release.occurrence.created_at < client.since_at


def _refusal(world: World, index: int, error: Exception) -> Refused:
    return Refused(index, not isinstance(error, Unavailable), why(world.environment.faults, error, "a callback"))


def _row_of(world: World, release: Release, dead: Execution) -> Row:
    client = world.clients.get(dead.client_id)
    policy = client.retry_policy if client is not None else None
    # Counted from now, not from the death: a message may find its execution DEAD days later.
    expires_at = world.row_expires_at(world.clock.now())
    return callback_row(release, dead, policy or RetryPolicy(), expires_at)


def _place(world: World, rows: Mapping[int, Row]) -> list[Refused]:
    if not rows:
        return []
    try:
        world.timeline.put_new(list(rows.values()))
    except Exception as error:  # noqa: BLE001 - whatever one row raises, the others are put
        if isinstance(error, ClockworkError) or len(rows) == 1:
            return [_refusal(world, index, error) for index in rows]
        return [refusal for one in rows for refusal in _place(world, {one: rows[one]})]
    failed: list[Refused] = []
    sent: list[tuple[int, Release]] = []
    for index, row in rows.items():
        try:
            sent += [(index, release) for release in releases_of(row)]
        except Exception as error:  # noqa: BLE001 - whatever one row raises, the others are sent
            failed.append(_refusal(world, index, error))
    refused = world.releases.send([release for _, release in sent], world.clock.now()) if sent else ()
    return [*failed, *(msgspec.structs.replace(refusal, index=sent[refusal.index][0]) for refusal in refused)]


def bury(world: World, release: Release, stored: Execution | None, reason: str) -> Execution | None:
    """Record an execution as DEAD that nobody has claimed, and send its notice; its callback is the caller's next step.

    `stored` is its record, which is not final, or None. Returns the record; None if another writer came first, or the
    save is not certain.
    """
    now = world.clock.now()
    dead = plan_death(release, stored, reason, now, world.execution_expires_at(now, release.occurrence.retention_days))
    (saved,) = world.executions.save([(stored, dead)])
    if not saved.ok:
        return None
    notify_dead(world, [dead])
    return dead


log = logging.getLogger(__name__)


def notify_dead(world: World, executions: Sequence[Execution]) -> None:
    """Send a notice for each DEAD one of `executions`, records that were just stored.

    A client without a dead-letter queue gets none. If a queue refuses a notice, that is logged and never raised.
    """
    for execution in executions:
        if execution.state is not State.DEAD or is_node(execution.job_id):
            continue  # Of the nodes of a run, the run's death is told.
        extra = {"action": "death_not_told", "executionId": execution.execution_id}
        with tolerated(world, log, "a death was not told: %s", extra, Unreadable):
            client = world.clients.get(execution.client_id)
            if client is not None and client.dead_letter_queue_arn is not None:
                world.notices.send(client.dead_letter_queue_arn, execution)
