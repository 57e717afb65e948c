"""Keep the checkpoint of an attempt of a pool's job, and hand it to the next attempt.

How it fails. If the call that keeps dies before its write, nothing has changed. If it dies behind the write, the worker
repeats, and the same checkpoint is kept again. A worker that has lost its claim may still write until the claim of the
next attempt begins: that claim raises the fence in the checkpoint before it hands the value out. No such claim begins
before the record has the end of the earlier attempt. If the call that hands out dies behind the fence, the worker
repeats its claimId, and gets the same checkpoint. Without an answer nothing was claimed yet, so no attempt is used up.
If the checkpoint cannot be decoded, the attempt begins anew.
"""

from __future__ import annotations

import logging

from clockwork.domain import ids
from clockwork.domain.errors import Undecodable
from clockwork.domain.executions import State
from clockwork.domain.pools.checkpoint import Checkpoint, fenced, kept
from clockwork.domain.pools.pool import Pool
from clockwork.domain.requests.reading import Kind
from clockwork.flows.pools.reports import Taken, token_of_worker
from clockwork.flows.records import replans
from clockwork.flows.requests.reading import Reading
from clockwork.flows.world import World

log = logging.getLogger(__name__)


def keep_checkpoint(
    world: World, pool: Pool, token_text: str, sequence: int, value: bytes, reading: Reading | None = None
) -> Taken:
    """Keep a checkpoint of the attempt of a token: stale if that does not run for the pool, or a later one is kept.

    `reading`: the pace of tokens whose claim does not stand, as of `reports.beat_all`. Raises Unavailable if that is
    not certain: the worker may repeat.
    """
    token = token_of_worker(token_text, pool, world.ticket_keys.get())
    if token is None:
        return Taken(None, is_stale=True)
    if reading is not None and not reading.has_room(world, Kind.STALE, token.claimant):
        return Taken(token.execution_id, is_unavailable=True)
    record = world.executions.find(ids.decode_execution(token.execution_id).job_id, token.execution_id)
    if (
        record is None
        or record.state is not State.RUNNING
        or record.attempt != token.attempt
        or not token.belongs_to(record.claimant)
        or record.awaited is None
    ):
        if reading is not None:
            reading.charge(Kind.STALE, token.claimant)
        return Taken(token.execution_id, is_stale=True)
    new = Checkpoint(
        execution_id=token.execution_id,
        attempt=token.attempt,
        sequence=sequence,
        value=value,
        fence=token.attempt,
        expires_at=world.execution_expires_at(record.awaited.deadline_at),
    )
    again = replans(f"the checkpoint of {token.execution_id}")
    while (after := kept(stored := world.checkpoints.get(token.execution_id), new)) is not None:
        if world.checkpoints.put(stored, after):
            return Taken(token.execution_id, record)
        next(again)
    return Taken(token.execution_id, record, is_stale=True)


def last_checkpoint(world: World, execution_id: str, attempt: int) -> Checkpoint | None:
    """The last checkpoint of the attempts before this one, which they cannot change any more; None if there is none.

    The caller has the ticket of this attempt, which was sent once the earlier attempt had ended. A value that no
    version has written counts as none, and is not replaced. Raises Unavailable, and NewerFormat.
    """
    again = replans(f"the checkpoint of {execution_id}")
    while (stored := _stored(world, execution_id)) is not None:
        after = fenced(stored, attempt)
        if after == stored or world.checkpoints.put(stored, after):
            return after
        next(again)
    return None


def _stored(world: World, execution_id: str) -> Checkpoint | None:
    try:
        return world.checkpoints.get(execution_id)
    except Undecodable as error:
        world.environment.faults.add(error)
        extra = {"action": "undecodable_checkpoint", "executionId": execution_id}
        log.error("a checkpoint is lost: %s", error, extra=extra)
        return None
