"""A released occurrence of an ordered job comes due: one of a key at a time, and none before the one ahead has ended.

A head that has to wait is never sent anew, which would put it behind its followers. It is reported as failed, and its
followers with it, and all of them are hidden for as long as the head has to wait: the queue hands out nothing of a
group of which something is in hand.


What a deliverer has in hand of the ordered queue: what has to wait does so in its place.
"""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence

import msgspec

from clockwork.domain.errors import Unavailable, Unreadable
from clockwork.domain.executions import WAITING
from clockwork.domain.lifecycle.attempts import Plan
from clockwork.domain.ordering import LONGEST_RETRYING_SECONDS, paced_execution, patience, resumed
from clockwork.flows.deliver.batch import Batch, DeliverReport, Item
from clockwork.flows.deliver.bundles import Message, unbundled
from clockwork.flows.deliver.deliver import attempt
from clockwork.flows.world import World

log = logging.getLogger(__name__)


class OrderedMessage(Message, frozen=True, kw_only=True):
    """A message of the ordered queue. `receipt` stands for this receive of it."""

    receipt: str
    group: str


def deliver_ordered(world: World, messages: Sequence[OrderedMessage], deadline_at: int) -> DeliverReport:
    """Deliver a batch of the ordered queue: of each group one after the other, up to the first that has to wait."""
    batch = OrderedBatch(world, deadline_at, {message.message_id: message.receive_count for message in messages})
    groups: defaultdict[str, deque[OrderedMessage]] = defaultdict(deque)
    for message in messages:
        groups[message.group].append(message)
    while groups:
        # 1. One attempt at the head of each group.
        heads = {group: waiting[0] for group, waiting in groups.items()}
        attempt(batch, _resumed(batch, list(heads.values())))
        # 2. Where the head is done the next one moves up; where it is not, all of its group come back.
        for group, head in heads.items():
            if head.message_id in batch.report.failed_messages:
                _come_back(batch, groups.pop(group))
                continue
            groups[group].popleft()
            if not groups[group]:
                del groups[group]
    return batch.report


def _resumed(batch: OrderedBatch, heads: Sequence[OrderedMessage]) -> list[Item]:
    """The attempts that the heads stand for: of a message that was received before, its record tells how far it got."""
    received_before = {message.message_id for message in heads if message.receive_count > 1}
    items = []
    for item in unbundled(batch, heads):
        if item.message_id in received_before:
            try:
                item.seen = batch.world.executions.find(item.release.job_id, item.release.execution_id)
            except (Unavailable, Unreadable) as error:
                batch.fail(item, str(error))
                continue
            if item.seen is not None and item.seen.is_final:
                batch.absorb(item, item.seen)
                continue
            item.release = resumed(item.release, item.seen)
        items.append(item)
    return items


def _come_back(batch: OrderedBatch, group: Sequence[OrderedMessage]) -> None:
    """Hide a group's messages alike: a head alone would wait for its followers, which come back later by themselves."""
    for message in group:
        batch.fail_message(message.message_id)
    back_at = batch.back_at.get(group[0].message_id)
    if back_at is None:
        return  # Nobody can read it: it comes back when the queue says.
    seconds = (back_at - batch.world.clock.now()) // 1000
    most = LONGEST_RETRYING_SECONDS - batch.world.settings.deliverer_timeout_seconds
    try:
        batch.world.in_hand.hide([message.receipt for message in group], max(0, min(seconds, most)))
    except Unavailable as error:
        # They come back when the queue says: later than they could, in the same order.
        log.warning("messages not hidden: %s", error, extra={"action": "messages_not_hidden"})


#: What failed for a reason that should pass comes again after this (ms), at first.
FAILED_AGAIN_MS = 5_000


#: What a pause or an open circuit holds back looks so often whether it may go (ms), at first.
LOOK_AGAIN_MS = 60_000


class OrderedBatch(Batch):
    """The messages of one invocation. Nothing is sent anew: each that is not done comes back at its `back_at`."""

    def __init__(self, world: World, deadline_at: int, receive_counts: Mapping[str, int]) -> None:
        super().__init__(world, deadline_at)
        self._receive_counts = receive_counts
        #: When messages that are not done are to come again (ms).
        self.back_at: dict[str, int] = {}

    def fail(self, item: Item, why: str) -> None:
        """Let the message come back, and everything behind it."""
        super().fail(item, why)
        self.back_at.setdefault(item.message_id, self._look_again_at(item, FAILED_AGAIN_MS))

    def send_back(self, items: Sequence[Item]) -> None:
        """Let each wait for its `run_at`. A slot under a rate cap is noted, or another would be taken next time."""
        for item in items:
            if item.release.paced and not self._is_slot_noted(item):
                continue
            self.report.deferred += 1
            self._wait(item, item.release.run_at)

    def park(self, items: Sequence[Item]) -> bool:
        """Set nothing aside: what is ordered waits where it is, and so do its followers."""
        self.report.parked += len(items)
        for item in items:
            self._wait(item, self._look_again_at(item, LOOK_AGAIN_MS))
        return True

    def patience(self, item: Item) -> int:
        return patience(self._receive_counts[item.message_id])

    def _look_again_at(self, item: Item, first_ms: int) -> int:
        return self.world.clock.now() + first_ms * self.patience(item)

    def apply_plan(self, item: Item, plan: Plan) -> None:
        """Count what a plan means once it is saved. What it wants sent is this same message, later."""
        super().apply_plan(item, msgspec.structs.replace(plan, release=None))
        if plan.release is not None:
            self._wait(item, plan.release.run_at)

    def _wait(self, item: Item, until: int) -> None:
        self.fail_message(item.message_id)
        self.back_at[item.message_id] = until

    def _is_slot_noted(self, item: Item) -> bool:
        if item.seen is not None and item.seen.state not in WAITING:
            return True  # Somebody has claimed it, and that must stand: another slot will be taken next time.
        noted = paced_execution(item.release, item.seen, self.world.execution_expires_at(self.world.clock.now()))
        saved = self.world.executions.save([(item.seen, noted)])[0]
        if not saved.ok:
            self.fail(item, saved.unavailable or "its record has changed")
        return saved.ok
