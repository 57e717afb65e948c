"""Note the workers of a pool, and list their running attempts, without an index over all executions.

Each environment has one item an hour for each worker that it sees, with the ids of its attempts. It writes the item
when the ids have changed, at most once a minute. A list reads the items and the records that they name. The records
tell which attempts still run.

How it fails. A note without an answer is dropped: the worker has its answer, and the next call notes anew. News within
a minute of the last note wait for the next note. An attempt may therefore be missing from the list for a minute or two;
listed attempts are as their records have them. A note that cannot be read is left out, is logged, and counts as `more`.

A worker chooses its own name. Only a claim that starts an attempt makes a note, so a made-up name costs a ticket. An
environment writes at most 500 notes of one pool a minute, and keeps its notes of other pools.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

import msgspec

from clockwork.domain import ids
from clockwork.domain.executions import Execution
from clockwork.domain.pools.pool import Pool
from clockwork.domain.pools.presence import MOST_NOTED, Present, is_news, newest, reaches_back
from clockwork.flows.apart import records_apart
from clockwork.flows.outages import tolerated
from clockwork.flows.pools.claim import Claimed
from clockwork.flows.pools.reports import Taken
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: The most workers of a pool in a list, the notes that are read for it, and the attempts that are looked at.
MOST_WORKERS = 200
MOST_NOTES = 1_000
MOST_LOOKED_AT = 1_000


class Hands(msgspec.Struct, frozen=True):
    """The running attempts of a pool's workers, by their records, and the workers seen last.

    `more`: there are more workers or attempts than were looked at. `running_of`: the number of attempts by worker.
    """

    workers: Sequence[Present]
    running: Sequence[Execution]
    more: bool

    @property
    def running_of(self) -> Counter[str]:
        """How many attempts run, by workerId."""
        return Counter(one.awaited.worker_id or "" for one in self.running if one.awaited is not None)


def note_claims(world: World, pool: Pool, claimed: Sequence[Claimed]) -> None:
    """Note the attempts that the worker of a claim may start, beside its others.

    A claim that starts none makes no note.
    """
    starts = [one.start for one in claimed if one.start is not None]
    late_ms = max((max(0, start.now - start.release.run_at) for start in starts), default=None)
    _note_each(world, pool, [start.claimed for start in starts], late_ms)


def note_beats(world: World, pool: Pool, taken: Sequence[Taken]) -> None:
    """Note the attempts that workers run, by their heartbeats."""
    _note_each(world, pool, [one.record for one in taken if not one.is_stale and one.record is not None], None)


def forget_ended(world: World, pool: Pool, taken: Sequence[Taken]) -> None:
    """Drop ended attempts from this environment's memory. Their stored notes stay, since the records tell their end."""
    # Whose token is stale says nothing of the attempt that is at work now.
    told = [one for one in taken if not one.is_stale and not one.is_unavailable]
    ended = {one.execution_id for one in told if one.execution_id is not None}
    world.environment.present.drop(pool.name, ended)


def _note_each(world: World, pool: Pool, records: Sequence[Execution], late_ms: int | None) -> None:
    """Note what runs under the names that the records have: who asks again for a claim does not get another one."""
    found: dict[str, list[str]] = {}
    for one in records:
        if one.claim is not None and one.claim.awaited is not None:
            found.setdefault(one.claim.awaited.worker_id or "", []).append(one.execution_id)
    for worker_id, running in found.items():
        _note(world, pool, worker_id, running, late_ms)


def _note(world: World, pool: Pool, worker_id: str, told: Sequence[str], late_ms: int | None) -> None:
    remembered = world.environment.present
    noted = remembered.last(pool.name, worker_id)
    # One call may tell of some attempts only: those before may run still.
    running = [*dict.fromkeys([*told, *(noted.running if noted is not None else ())])]
    seen = Present(
        pool=pool.name,
        worker_id=worker_id,
        seen_at=world.clock.now(),
        running=tuple(running[:MOST_NOTED]),
        started_late_ms=late_ms if late_ms is not None or noted is None else noted.started_late_ms,
        by=world.environment.name,
    )
    if not is_news(noted, seen) or not remembered.has_room(seen):
        return
    with tolerated(world, log, "a worker is not noted: %s", {"action": "worker_not_noted", "pool": pool.name}):
        world.workers.note(seen)
        remembered.keep(seen)


def in_progress(world: World, pool: Pool) -> Hands:
    """The running attempts of a pool's workers. Raises Unavailable."""
    now = world.clock.now()
    listed = world.workers.list(pool.name, MOST_NOTES + 1)
    notes = [one for one in listed if isinstance(one, Present)]
    if strange := len(listed) - len(notes):
        log.warning("%d notes cannot be read", strange, extra={"action": "worker_not_told", "pool": pool.name})
    found = newest(notes, now)
    workers = found[:MOST_WORKERS]
    named = list(dict.fromkeys(one for worker in workers for one in worker.running))
    refs = [(ids.decode_execution(one).job_id, one) for one in named[:MOST_LOOKED_AT]]
    records = records_apart(world, refs) if refs else []
    running = [one for one in records if isinstance(one, Execution) and _is_in_progress(pool, one)]
    is_cut = strange > 0 or (len(listed) > MOST_NOTES and not reaches_back(notes, now))
    return Hands(workers, running, is_cut or len(found) > MOST_WORKERS or len(named) > MOST_LOOKED_AT)


def _is_in_progress(pool: Pool, record: Execution) -> bool:
    return record.awaited is not None and record.awaited.pool == pool.name
