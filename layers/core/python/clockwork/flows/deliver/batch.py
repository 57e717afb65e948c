"""What a deliverer has in hand during one invocation."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import msgspec

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, State
from clockwork.domain.lifecycle.attempts import Action, Plan
from clockwork.domain.lifecycle.callbacks import is_called_back
from clockwork.domain.limits.circuits import Circuit
from clockwork.domain.releases import Release
from clockwork.flows.records import replans
from clockwork.flows.world import World
from clockwork.ports import Saved

log = logging.getLogger(__name__)

#: What comes earlier than this goes back to the queue with the rest of its delay (ms).
LONGEST_HOLD_MS = 2_000


class DeliverReport(msgspec.Struct):
    """What became of a batch. `failed_messages` come back; all others are acknowledged."""

    failed_messages: list[str] = []
    lateness_ms: list[int] = []
    succeeded: int = 0
    failed: int = 0
    dead: int = 0
    expired: int = 0
    absorbed: int = 0
    deferred: int = 0
    dropped: int = 0
    parked: int = 0
    early: int = 0


class Item(msgspec.Struct):
    """One message in hand. `seen` is the record as it was last seen: with our claim on it once the item is started.

    `probes`: the circuit, as it was saved for this, through which it was let to see whether its target has recovered.
    `is_started`: its target may have seen it. `bundled`: its message carries others besides.
    `replans`: how often a change of its record may still be planned again.
    """

    message_id: str
    release: Release
    seen: Execution | None = None
    probes: Circuit | None = None
    is_started: bool = False
    bundled: bool = False
    replans: Iterator[int] = msgspec.field(default_factory=replans)


class LeasedBlock(msgspec.Struct):
    """A block of a client's permits that this invocation holds, and how many deliveries under it have not ended."""

    number: int
    running: int


class Batch:
    """The messages of one invocation and what became of them."""

    def __init__(self, world: World, deadline_at: int) -> None:
        self.world = world
        self.deadline_at = deadline_at
        self.report = DeliverReport()
        #: What is to be sent before the item's message is acknowledged.
        self.following: list[tuple[Item, Release]] = []
        #: What became DEAD, of which its client is told.
        self.dead: list[Execution] = []
        #: What was found or became DEAD, and is called back before its message is acknowledged.
        self.called_back: list[tuple[Item, Execution]] = []
        #: What did not end well of messages that carry others besides.
        self.failed_of_bundles: list[Item] = []
        #: Blocks of permits by clientId.
        self.leased: dict[str, LeasedBlock] = {}

    def fail(self, item: Item, why: str) -> None:
        """Let the occurrence come back: with its message, or alone if that carries others besides."""
        execution_id = item.release.execution_id
        log.warning("message fails: %s", why, extra={"action": "message_failed", "executionId": execution_id})
        if item.bundled:
            self.failed_of_bundles.append(item)
        else:
            self.fail_message(item.message_id)

    def may_replan(self, item: Item, actual: Execution | None) -> bool:
        """Whether an item whose change lost to `actual` may be planned again. After too many times it fails."""
        item.seen = actual
        try:
            next(item.replans)
        except Unavailable as error:
            self.fail(item, str(error))
            return False
        return True

    def patience(self, _item: Item) -> int:
        """How many times as long as at first an item waits until it looks again."""
        return 1

    def fail_message(self, message_id: str) -> None:
        """Let a message come back, with all that it carries."""
        if message_id not in self.report.failed_messages:
            self.report.failed_messages.append(message_id)

    def send_back(self, items: Sequence[Item]) -> None:
        """Let releases come again for their `run_at`; delays beyond the queue's longest travel like this in hops."""
        releases = [item.release for item in items]
        refused = self.world.releases.send(releases, self.world.clock.now()) if releases else ()
        for refusal in refused:
            self.fail(items[refusal.index], refusal.reason)
        self.report.deferred += len(items) - len(refused)

    def park(self, items: Sequence[Item]) -> bool:  # noqa: ARG002 - others do something with them
        """Whether the batch has its own way with what may not go now; if not, each is set aside in a row."""
        return False

    def absorb(self, item: Item, stored: Execution | None) -> None:
        """Let go of an item whose work is done, as `stored` has it."""
        self.report.absorbed += 1
        self.owe_callback(item, stored)

    def owe_callback(self, item: Item, stored: Execution | None) -> None:
        """See to a callback of what is DEAD: whoever recorded that may have died before placing it."""
        if stored is not None and is_called_back(item.release, stored):
            self.called_back.append((item, stored))

    def save_plans(self, plans: Sequence[tuple[Item, Plan]]) -> Iterator[tuple[int, Saved]]:
        """Save what the plans want saved, and apply those that want nothing saved.

        For each that was saved, or lost to another writer: its index and the store's answer. The others fail.
        """
        for item, plan in plans:
            if plan.execution is None:
                self.apply_plan(item, plan)
        changes = [(i, (item.seen, plan.execution)) for i, (item, plan) in enumerate(plans) if plan.execution]
        saves = self.world.executions.save([change for _, change in changes]) if changes else ()
        for (index, _), saved in zip(changes, saves, strict=True):
            if saved.unavailable is not None:
                self.fail(plans[index][0], saved.unavailable)
            else:
                yield index, saved

    def apply_plan(self, item: Item, plan: Plan) -> None:
        """Count what a plan means once it is saved, and note what it wants sent."""
        if plan.action is Action.ABSORB:
            self.absorb(item, item.seen)
        elif plan.action is Action.DEFER:
            self.report.deferred += 1
        elif plan.execution is not None:
            if plan.execution.state is State.DEAD:
                self.report.dead += 1
                self.dead.append(plan.execution)
                self.owe_callback(item, plan.execution)
            self.report.expired += plan.execution.state is State.EXPIRED
        if plan.release is not None:
            self.following.append((item, plan.release))
