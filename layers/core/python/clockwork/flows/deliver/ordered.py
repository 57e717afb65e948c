"""Deliver ordered occurrences: one of an ordering key at a time, and none before the one ahead of it has ended.

A head that has to wait is never sent anew, which would put it behind its followers. The deliverer reports the head as
failed, and its followers with it, and hides all of them for as long as the head has to wait. The queue hands out no
message of a group while another message of the group is in flight.
"""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from collections.abc import Sequence

from clockwork.domain.executions import Execution
from clockwork.domain.lifecycle.awaited import has_ended_for
from clockwork.domain.lifecycle.awaiting import is_claimed
from clockwork.domain.ordering import LONGEST_RETRYING_SECONDS, behind_others, resumed
from clockwork.flows.deaths import bury
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.deliver import attempt
from clockwork.flows.deliver.inbox import Inbox, Message, opened
from clockwork.flows.deliver.items import DeliverReport, Item
from clockwork.flows.deliver.waiting import InPlace
from clockwork.flows.outages import tolerated
from clockwork.flows.world import World

log = logging.getLogger(__name__)


class OrderedMessage(Message, frozen=True, kw_only=True):
    """A message of the ordered queue. `receipt` names this receive of it, `group` its message group.

    `sent_at`: when it was sent (ms). The queue counts its retention from there, however often the message is received.
    """

    receipt: str
    group: str
    sent_at: int


def deliver_ordered(world: World, messages: Sequence[OrderedMessage], deadline_at: int) -> DeliverReport:
    """Deliver a batch of the ordered queue: of each group one message after the other, until one has to wait."""
    waiting = InPlace(world, {message.message_id: message.receive_count for message in messages})
    batch = Batch(world, deadline_at, waiting)
    groups: defaultdict[str, deque[OrderedMessage]] = defaultdict(deque)
    for message in messages:
        groups[message.group].append(message)
    moved_up = False
    while groups:
        # 1. Make one attempt at the head of each group.
        heads = {group: in_group[0] for group, in_group in groups.items()}
        attempt(batch, _resumed(batch, list(heads.values()), moved_up=moved_up))
        # 2. If the head is done, the next message moves up. If it is not, all messages of its group come back.
        for group, head in heads.items():
            if head.message_id in batch.report.failed_messages:
                _come_back(batch, waiting, groups.pop(group))
                continue
            groups[group].popleft()
            if not groups[group]:
                del groups[group]
        moved_up = True
    return batch.report


def _resumed(batch: Batch, heads: Sequence[OrderedMessage], *, moved_up: bool) -> Inbox:
    """The releases of the heads, each item at its next attempt, as the record of a message received before tells."""
    now = batch.world.clock.now()
    overdue_at = now - batch.world.settings.ordered_wait_seconds * 1000
    overdue = {message.message_id for message in heads if message.sent_at <= overdue_at}
    received_before = {message.message_id for message in heads if message.receive_count > 1} | overdue
    inbox = opened(batch, heads)
    items, inbox.items = inbox.items, []
    for item in items:
        with batch.failing(item):
            if item.message_id in received_before:
                item.seen = batch.world.executions.find(item.release.job_id, item.release.execution_id)
                if has_ended_for(item.release, item.seen):
                    batch.absorb(item, item.seen)
                    continue
                if item.message_id in overdue and not _is_claimed(batch, item.seen):
                    _bury(batch, item)
                    continue
                item.release = resumed(item.release, item.seen, now)
            if item.seen is None:
                item.release = behind_others(item.release, now, moved_up=moved_up)
            inbox.items.append(item)
    return inbox


def _is_claimed(batch: Batch, seen: Execution | None) -> bool:
    return seen is not None and is_claimed(seen, batch.world.clock.now())


def _bury(batch: Batch, item: Item) -> None:
    """End an item DEAD that has waited for as long as its queue surely keeps it; the next in its group moves up."""
    days = batch.world.settings.ordered_wait_seconds / 86_400
    dead = bury(batch.world, item.release, item.seen, f"it waited in its order for {days:g} days")
    if dead is None:
        batch.fail(item, "its end is not recorded")
        return
    batch.report.dead += 1
    batch.owe(item, dead)


def _come_back(batch: Batch, waiting: InPlace, group: Sequence[OrderedMessage]) -> None:
    """Hide a group's messages alike. A head alone would wait for its followers, which come back later by themselves."""
    for message in group:
        batch.report.fail_message(message.message_id)
    back_at = waiting.back_at.get(group[0].message_id)
    if back_at is None:
        return  # This version cannot read the head: it comes back when the queue says.
    seconds = (back_at - batch.world.clock.now()) // 1000
    most = LONGEST_RETRYING_SECONDS - batch.world.settings.deliverer_timeout_seconds
    # If they are not hidden, the messages come back when the queue says: later than they could, in the same order.
    with tolerated(batch.world, log, "messages not hidden: %s", {"action": "messages_not_hidden"}):
        batch.world.visibility.hide([message.receipt for message in group], max(0, min(seconds, most)))
