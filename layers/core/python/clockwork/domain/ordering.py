"""Ordering: occurrences of one client with the same ordering key are delivered one after the other.

They share a shard of the timeline, and a message group of the FIFO queue.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

import msgspec

from clockwork.domain import ids, keys
from clockwork.domain.executions import WAITING, Execution, State
from clockwork.domain.jobs import Occurrence
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Deliver, Release
from clockwork.domain.waits import Waited, Waiting, together

#: A head that waits for its next attempt is hidden in its queue. SQS hides a message for 12 hours at the most:
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html
LONGEST_RETRYING_SECONDS = 43_200
#: After this many receives a head that waits comes back half as often as at first, then a third as often, and so on.
RECEIVES_PER_STEP = 25
#: An ordered job that is acknowledged this long before it is due (ms), or longer, has its place in the order.
IN_TIME_MS = 1_000
#: A queue hands out a message sooner than this (ms) after its instant, unless another of its group holds it back.
HANDED_OUT_MS = 1_000
LARGEST_SEQUENCE = 2**53
LONGEST_ORDERING_KEY = 255


def partition_of(client_id: str, ordering_key: str, ordered_shards: int) -> str:
    """The partitionId of a key's ordered shard. It stays the same as long as the number of ordered shards does."""
    digest = hashlib.sha256(f"{client_id}\x00{ordering_key}".encode()).digest()
    return keys.ordered_partition(int.from_bytes(digest[:8], "big") % ordered_shards)


def row_id_of(row_id: str, sequence: int | None) -> str:
    """A row's id with the sequence in front, so that rows of one instant sort by it; unchanged without a sequence."""
    return row_id if sequence is None else f"{sequence:016d}-{row_id}"


def policy_of(policy: RetryPolicy, ordering_key: str | None) -> RetryPolicy:
    """The retry policy of a job. An ordered job is not retried for longer than its queue can hide its message."""
    if ordering_key is None:
        return policy
    return msgspec.structs.replace(policy, max_age_seconds=min(policy.max_age_seconds, LONGEST_RETRYING_SECONDS))


def patience(receive_count: int) -> int:
    """The factor by which a head's wait until its next receive grows.

    A message that was received 1,000 times becomes a dead letter. If the sweeper sends the message again from there, it
    has lost its place. 1,000 receives must therefore outlast a long pause: at 60 s times this factor they take 14.2
    days, which is longer than SQS keeps the message.
    """
    return 1 + (receive_count - 1) // RECEIVES_PER_STEP


def is_for_its_poller(release: Release, cursor: str) -> bool:
    """Whether only its shard's poller may release it: it may have been promised its place, and is not read yet.

    `cursor` is the shard's. If another Lambda released it, it would overtake occurrences that are due before it and are
    not read yet either.
    """
    occurrence = release.occurrence
    may_be_in_time = occurrence.due_at - occurrence.created_at >= IN_TIME_MS
    return occurrence.ordering_key is not None and may_be_in_time and cursor < keys.edge_key(occurrence.due_at)


def order_of(ordering_key: str | None, lane: str, lanes: Collection[str]) -> str | None:
    """The order in which a message lies, among those of its client: by its queue and its ordering key. None: in none.

    `lane` is that of the target for which it was sent; `lanes` are those that have a queue of their own.
    """
    return None if ordering_key is None else f"{lane if lane in lanes else ''}/{ordering_key}"


def group_of(occurrence: Occurrence) -> str:
    """The message group of an ordered occurrence.

    The queue hands out no message of a group while another message of the group is in flight.
    """
    return ids.derive("group", occurrence.client_id, occurrence.ordering_key or "")


def dedup_of(release: Release) -> str:
    """The deduplication id of a release. For five minutes the queue drops a message whose id was sent before.

    A release that is sent again on purpose, as a later attempt or by the sweeper, has another id. A release of another
    revision of its named job has another id, too: the earlier one may have ended in a pause, and this one replaces it.
    """
    if release.attempt == 1 and not release.sweeps:
        return ids.derive("release", release.execution_id, *release.of_revision)
    return release.row_id("release", release.sweeps)


def resumed(release: Deliver, stored: Execution | None, now: int) -> Deliver:
    """The release of the next attempt for which a message of the ordered queue stands.

    The message is never sent anew, so the record has the number of the next attempt. `stored` is None if there is no
    record.
    """
    if stored is None or stored.state not in WAITING:
        return release
    waits = stored.waits
    run_at = max(release.run_at, waits.next_attempt_at or 0)
    # A release that is parked or in line is sent again to see whether it may start: its wait goes on until then.
    comes_to_see = waits.held is not None and (stored.state is State.PARKED or waits.line is not None)
    run_at = max(run_at, now) if comes_to_see else run_at
    waiting = release.waiting(paced=waits.paced, held=waits.held, line=waits.line)
    return msgspec.structs.replace(waiting, attempt=stored.attempt + 1, run_at=run_at)


def behind_others(release: Deliver, now: int, *, moved_up: bool) -> Deliver:
    """The release of a message that is handed out for the first time: until `now` (ms) it waited for those ahead of it.

    `moved_up`: one ahead of it has just ended. Otherwise a wait counts if an empty queue would not have caused it.
    """
    ms = now - max(release.run_at, release.occurrence.due_since)
    if ms < (1 if moved_up else HANDED_OUT_MS):
        return release
    return release.waiting(waited=(release.waits.waited or Waited()).and_for("ordered", ms))


def is_noted(release: Deliver, stored: Execution | None) -> bool:
    """Whether the record of a waiting head has the slot or the place of its release already."""
    if stored is None or stored.state not in WAITING or stored.state is State.PARKED:
        return False
    noted, told = stored.waits, release.waits
    slot_at = noted.next_attempt_at if noted.paced else None
    return slot_at == (release.run_at if told.paced else None) and noted.line == told.line


def paced_execution(release: Deliver, stored: Execution | None, expires_at: int) -> Execution:
    """The record of a head that waits for a slot or in the line of a rate limit. `stored`: its record, or None.

    A head in the line may start from the instant in its earlier record on; its slot names the exact instant later.
    """
    if stored is None:
        stored = release.first_record(State.PENDING, expires_at, revision=0)
    told, noted = release.waits, stored.waits
    may_start_at = release.run_at if told.paced else noted.next_attempt_at or release.occurrence.due_since
    waited = together(noted.waited, told.waited)
    waits = Waiting(may_start_at, waited, held=told.held, paced=told.paced, line=told.line, order=noted.order)
    return stored.changed(state=State.PENDING, waits=waits)
