"""TTL of records, and the profile in which rows, messages and records live for minutes."""

from __future__ import annotations

from collections.abc import Iterator

from clockwork.domain.errors import NewerFormat, Undecodable
from clockwork.domain.ids import AnonymousJob, only_execution
from clockwork.domain.jobs import Occurrence
from clockwork.domain.lifecycle.parking import parking_of
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Release
from clockwork.domain.storage.codec import decode_message
from clockwork.domain.timeline import Row
from tests.simulation.faults import Adversary, Fault
from tests.simulation.lives import Lives
from tests.simulation.requests import EVERYBODY
from tests.simulation.rows import elements_of, every_row
from tests.simulation.stores import Stores, carried

#: Settings under which a record ends well within a run. A row outlives the memory of its key, as it does where it is
#: shipped: that is a day, and three days for a row.
SHORT = {
    "row_retention_seconds": 600,
    "idempotency_seconds": 500,
    "execution_retention_seconds": 120,
    "queue_retention_seconds": 2_400,
    "ordered_wait_seconds": 900,
}
#: After faults have stopped, the paused client stays paused for so long (ms): longer than anything but a record is
#: kept.
LONG_PAUSE_MS = 5_200_000
#: Retries that are further away than records are kept.
SLOW_RETRIES = (
    RetryPolicy(max_attempts=2, backoff="fixed", initial_seconds=5_600, max_seconds=5_600, jitter="none"),
    RetryPolicy(max_attempts=2, backoff="fixed", initial_seconds=5_300, max_seconds=5_300, jitter="none"),
)


def expire_records(stores: Stores, lives: Lives, adversary: Adversary, now: int) -> None:
    """Deletes records that have expired: each of them now, or at a later call."""
    expired = [one for one in stores.executions.all() if 0 < one.expires_at <= now and adversary.rng.random() < 0.7]
    if not expired:
        return
    named = frozenset((*_named(stores), *_named_by_parked_rows(stores)))
    for record in expired:
        adversary.counts[Fault.RECORD_EXPIRED] += 1
        lives.ends(record, named)
        stores.executions.forget(record)


def expire_messages(stores: Stores, kept_ms: int, now: int) -> None:
    """Deletes the messages that were sent too long ago, as SQS does: nobody is told, and a receive renews nothing."""
    for queue in (stores.queue, stores.ordered_queue, *stores.pool_queues.all()):
        for messages in (queue.messages, queue.dead):
            for message in [one for one in messages.values() if one.sent_at + kept_ms <= now]:
                del messages[message.message_id]


def _named(stores: Stores) -> Iterator[str]:
    """The ids of all executions that are named in messages, and in rows that no cursor has passed.

    First attempts at level `none` are left out: nobody asks for their records.
    """
    for queue in (stores.queue, stores.ordered_queue, *stores.pool_queues.all()):
        for message in (*queue.messages.values(), *queue.dead.values()):
            try:
                releases = decode_message(carried(message.body))
                yield from (one.execution_id for one in releases if one.is_recorded)
            except (Undecodable, NewerFormat):
                continue
    for partition_id, shard in stores.shards.get(stores.shards.list()).items():
        for row in every_row(stores.timeline, partition_id, shard.cursor):
            yield from _named_in(row)


def _named_by_parked_rows(stores: Stores) -> Iterator[str]:
    """The ids of what lies parked."""
    for client in EVERYBODY:
        for row in every_row(stores.timeline, parking_of(client.client_id)):
            yield from _named_in(row)


def _named_in(row: Row) -> Iterator[str]:
    for index, element in elements_of(row).items():
        if isinstance(element, Release) and element.is_recorded:
            yield element.execution_id
        if isinstance(element, Occurrence) and element.record == "full" and index not in row.cancelled:
            yield only_execution(AnonymousJob(row.partition_id, row.key, index).job_id, element.due_at)
