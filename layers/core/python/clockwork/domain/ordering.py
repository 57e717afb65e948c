"""Ordered jobs: what has one ordering key of one client shares a partition, and a message group of the FIFO queue."""

from __future__ import annotations

import hashlib

import msgspec

from clockwork.domain import ids, keys
from clockwork.domain.executions import WAITING, Execution, State
from clockwork.domain.jobs import KafkaTarget, Occurrence, RetryPolicy, SnsTarget, SqsTarget, Target
from clockwork.domain.releases import Release

#: A head that waits for its next attempt is hidden in its queue, which SQS does for 12 hours at the most:
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html
LONGEST_RETRYING_SECONDS = 43_200
#: After so many receives a head that waits looks half as often as at first, then a third as often, and so on.
RECEIVES_PER_STEP = 25
#: What is acknowledged so long before it is due (ms) has its place in the order.
IN_TIME_MS = 1_000
LARGEST_SEQUENCE = 2**53
LONGEST_ORDERING_KEY = 255


def partition_of(client_id: str, ordering_key: str, ordered_shards: int) -> str:
    """The ordered partition of a key: the same for as long as the number of ordered shards is."""
    digest = hashlib.sha256(f"{client_id}\x00{ordering_key}".encode()).digest()
    return keys.ordered_partition(int.from_bytes(digest[:8], "big") % ordered_shards)


def row_id_of(row_id: str, sequence: int | None) -> str:
    """A row's id with the sequence in front, so that the rows of one instant sort by it; unchanged without one."""
    return row_id if sequence is None else f"{sequence:016d}-{row_id}"


def policy_of(policy: RetryPolicy, ordering_key: str | None) -> RetryPolicy:
    """The policy of a job: an ordered one is not retried for longer than its queue can hide it."""
    if ordering_key is None or policy.max_age_seconds <= LONGEST_RETRYING_SECONDS:
        return policy
    return msgspec.structs.replace(policy, max_age_seconds=LONGEST_RETRYING_SECONDS)


def patience(receive_count: int) -> int:
    """By how much longer a head waits until it looks again whether it may go, the more often it has been received.

    A message that was received 1,000 times becomes a dead letter, and what is sent again from there has lost its place:
    so a thousand looks must outlast a long pause. At 60 s times this they take 14.2 days, longer than SQS keeps it.
    """
    return 1 + (receive_count - 1) // RECEIVES_PER_STEP


def in_order(target: Target, ordering_key: str | None) -> Target:
    """The target of a job: one that can keep an order of its own is told which messages have one."""
    if ordering_key is None:
        return target
    if isinstance(target, KafkaTarget) and target.key is None:
        return msgspec.structs.replace(target, key=ordering_key)
    if isinstance(target, SqsTarget | SnsTarget) and target.message_group_id is None and _is_fifo(target):
        # Keys may be longer, and of other characters, than groups.
        return msgspec.structs.replace(target, message_group_id=ids.derive("group", ordering_key))
    return target


def _is_fifo(target: SqsTarget | SnsTarget) -> bool:
    return (target.queue_arn if isinstance(target, SqsTarget) else target.topic_arn).endswith(".fifo")


def is_for_its_poller(release: Release, cursor: str) -> bool:
    """Whether nobody but its shard's poller may release it: it may have been promised its place, and is yet unread.

    `cursor` is the shard's. Released by anybody else it would overtake what is due before it and unread as well.
    """
    occurrence = release.occurrence
    may_be_in_time = occurrence.due_at - occurrence.created_at >= IN_TIME_MS
    return occurrence.ordering_key is not None and may_be_in_time and cursor < keys.edge_key(occurrence.due_at)


def group_of(occurrence: Occurrence) -> str:
    """The message group of an ordered occurrence: nothing of it is handed out while something of it is in hand."""
    return ids.derive("group", occurrence.client_id, occurrence.ordering_key or "")


def dedup_of(release: Release) -> str:
    """By what the queue tells, for five minutes, that a release was sent before: anew only for a deliberate re-send."""
    if release.attempt == 1 and not release.sweeps:
        return ids.derive("release", release.execution_id)
    return ids.derive("release", release.execution_id, release.attempt, release.sweeps)


def resumed(release: Release, stored: Execution | None) -> Release:
    """The attempt for which a message of the ordered queue stands: it is never sent anew, so its record tells."""
    if stored is None or stored.state not in WAITING:
        return release
    run_at = max(release.run_at, stored.next_attempt_at or 0)
    # A slot is noted as the instant for which the record waits, before the first attempt or between two.
    paced = stored.state is State.PENDING and stored.next_attempt_at is not None
    return msgspec.structs.replace(release, attempt=stored.attempt + 1, run_at=run_at, paced=paced)


def paced_execution(release: Release, stored: Execution | None, expires_at: int) -> Execution:
    """The record of a head that waits for its slot under a rate cap. `stored` is one that waits, or none."""
    if stored is None:
        stored = release.first_record(State.PENDING, expires_at, revision=0)
    return stored.changed(state=State.PENDING, next_attempt_at=release.run_at)
