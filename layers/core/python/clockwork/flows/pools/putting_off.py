"""Put tickets off: only the call that holds a ticket's message sends it again for later.

A ticket that waits, as for a permit, for others of its job or for a worker with its handler, is sent anew for a later
instant, and its message is deleted. A claim that is repeated after a lost answer, a slow worker, and a worker that
shows an old ticket again would each make a duplicate, and each duplicate more of them.

How it fails. If the queue gives no answer, the ticket stays, and comes back. If the message is not in flight any more,
it is still in the queue, or the call that deleted it has sent it anew, or the ticket's check makes it again. This call
then neither sends nor deletes it. If the call dies between send and delete, the claim absorbs the duplicate.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from clockwork.domain.releases import Release
from clockwork.flows.containment import why
from clockwork.flows.deliver.items import Item, Received
from clockwork.flows.deliver.waiting import Failing, Resent
from clockwork.flows.world import World

log = logging.getLogger(__name__)

T = TypeVar("T", bound=Received)

#: A message is hidden for so long (s) until it is deleted: longer than the call that holds it may take.
HELD_SECONDS = 60


class Handed(msgspec.Struct, frozen=True):
    """Where the message of a ticket lies, its receipt, and which attempt the ticket is for."""

    pool: str
    queue: str
    receipt: str
    attempt: int


class PutOff(Resent):
    """`Waiting` of tickets. `staying`: the messages, by their ids, that are not deleted, since others hold them."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.handed: dict[str, Handed] = {}
        self.staying: set[str] = set()
        self._used: set[str] = set()

    def later(self, items: Sequence[Item]) -> Failing:
        """Send tickets anew whose messages this call holds. Leave the others to their holders."""
        failing, held = self._held([(item, item.release) for item in items])
        return [*failing, *super().later([item for item, _ in held])]

    def settle(self) -> Failing:
        """Drop deferred tickets that this call does not hold from the releases that follow.

        The next attempt of a ticket always follows, and so does an attempt whose claim this call gave back, since no
        other call knows of it.

        Called once, when all else of the claim is done: it also logs how many tickets stay, in one line.
        """
        again: list[tuple[Received, Release]] = []
        onwards: list[tuple[Received, Release]] = []
        for item, release in self.following:
            is_owed = item.is_given_back or release.attempt != self.handed[item.message_id].attempt
            (onwards if is_owed else again).append((item, release))
        failing, held = self._held(again)
        self.following = [*onwards, *held]
        if self.staying:
            extra = {"action": "tickets_stay", "count": len(self.staying)}
            log.info("tickets stay with whoever has their messages", extra=extra)
        return failing

    def _held(self, waiting: Sequence[tuple[T, Release]]) -> tuple[Failing, list[tuple[T, Release]]]:
        """The tickets whose messages this call holds, and the tickets without an answer, with the reason."""
        queues: dict[tuple[str, str], list[tuple[T, Release]]] = {}
        for item, release in waiting:
            handed = self.handed[item.message_id]
            if handed.receipt in self._used:
                self.staying.add(item.message_id)  # One message stands for one ticket, however often a call shows it.
                continue
            self._used.add(handed.receipt)
            queues.setdefault((handed.pool, handed.queue), []).append((item, release))
        failing: list[tuple[Received, str]] = []
        held: list[tuple[T, Release]] = []
        for (pool, queue), some in queues.items():
            receipts = [self.handed[item.message_id].receipt for item, _ in some]
            try:
                hidden = self._world.pool_queues.hold(pool, queue, receipts, HELD_SECONDS)
            except Exception as error:  # noqa: BLE001 - whatever the queue says of a receipt, the other tickets go on
                failing += [(item, why(self._world.environment.faults, error, pool)) for item, _ in some]
                continue
            for pair, is_held in zip(some, hidden, strict=True):
                if is_held is None:
                    failing.append((pair[0], "its queue did not tell whether its message is in flight"))
                elif is_held:
                    held.append(pair)
                else:
                    self.staying.add(pair[0].message_id)
        return failing, held
