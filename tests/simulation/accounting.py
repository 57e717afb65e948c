"""Invariant I12, checked during a run: accepted, unended work is stored, never only in a process's memory."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache

from clockwork.domain.errors import NewerFormat, Undecodable
from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.jobs import Occurrence
from clockwork.domain.lifecycle.parking import parking_of
from clockwork.domain.releases import Check, Release
from clockwork.domain.storage.codec import decode_message
from clockwork.domain.timeline import Row
from tests.simulation.requests import DEPARTING, EVERYBODY
from tests.simulation.rows import elements_of, every_row, quarantined_rows
from tests.simulation.stores import Stores, carried
from tests.simulation.verdict import where_it_stands
from tests.simulation.watcher import Watcher

#: States of an execution whose attempt has failed and that waits for the next one.
RETRIED = (State.FAILED, State.TIMED_OUT, State.WORKER_LOST, State.HANDED_BACK)


def check_accounted(stores: Stores, watcher: Watcher, job_ids: Iterable[str] | None = None) -> None:
    """Requires that each acknowledged, unended job waits in a row or a message, or is listed for a redrive.

    `job_ids`: look at these jobs only.
    """
    kept: set[str] | None = None
    for job_id in watcher.promises if job_ids is None else job_ids:
        promise = watcher.promises.get(job_id)
        if promise is None or promise.cancel_asked or where_it_stands(watcher, promise) != "pending":
            continue
        if kept is None:
            kept = set(_kept(stores))
        record = watcher.executions.find(promise.job_id, promise.execution_id)
        told = f"accepted, pending ({record and record.state}), and kept nowhere"
        is_listed = record is not None and record.state is State.PENDING and record.needs_attention
        watcher.require(promise.job_id in kept or is_listed, "I12", told, promise.job_id)


def check_acknowledged(stores: Stores, watcher: Watcher, body: str) -> None:
    """Requires the same of the jobs of an acknowledged message whose executions have not ended and wait for no other.

    A claim stands: the message was perhaps the only one, in the hands of the claimant as well. Then nothing would bring
    the execution to its end if the claimant were lost. Or an attempt has failed, and the next one was never sent:
    whoever recorded the failure may have died before it sent what follows.
    """
    try:
        releases = decode_message(body)
    except (Undecodable, NewerFormat):
        return
    records = [watcher.executions.find(one.job_id, one.execution_id) for one in releases]
    waiting = [record.job_id for record in records if record is not None and _needs_message(watcher, record)]
    if waiting:
        check_accounted(stores, watcher, waiting)


def _needs_message(watcher: Watcher, record: Execution) -> bool:
    if record.state is State.RUNNING:
        return True
    return record.state in RETRIED and not record.is_final and not watcher.was_sent(record.job_id, record.attempt + 1)


def _kept(stores: Stores) -> Iterator[str]:
    """The ids of all waiting jobs: in messages, in rows that no cursor has passed or that are quarantined or parked."""
    for queue in (stores.queue, stores.ordered_queue, *stores.pool_queues.all()):
        for message in (*queue.messages.values(), *queue.dead.values()):
            yield from (one.job_id for one in _releases_in(message.body) if _keeps(one, stores.lost))
    for partition_id, shard in stores.shards.get(stores.shards.list()).items():
        for row in (*every_row(stores.timeline, partition_id, shard.cursor), *quarantined_rows(stores.timeline, shard)):
            yield from _jobs_of_row(row, stores.lost)
    for client in (*EVERYBODY, DEPARTING):
        for row in every_row(stores.timeline, parking_of(client.client_id)):
            yield from _jobs_of_row(row, stores.lost)


def _keeps(release: Release, lost: Container[str]) -> bool:
    """Whether a release keeps its job. A check counts for a job whose ticket was lost, and for no other."""
    return not isinstance(release, Check) or release.job_id in lost


@lru_cache(maxsize=4_096)
def _releases_in(body: str) -> Sequence[Release]:
    """The releases in a message, or in the ticket that it is. One message is asked for hundreds of times in a run."""
    try:
        return decode_message(carried(body))
    except (Undecodable, NewerFormat):
        return ()


def _jobs_of_row(row: Row, lost: Container[str]) -> Iterator[str]:
    for index, element in elements_of(row).items():
        if isinstance(element, Release):
            if _keeps(element, lost):
                yield element.job_id
        elif isinstance(element, Occurrence) and index not in row.cancelled:
            yield AnonymousJob(row.partition_id, row.key, index).job_id
