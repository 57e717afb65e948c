"""What a deliverer has in hand during one invocation."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, State
from clockwork.domain.lifecycle.attempts import Action, Plan
from clockwork.domain.lifecycle.callbacks import is_called_back
from clockwork.flows.deliver.items import Item, LeasedBlock
from clockwork.flows.deliver.waiting import Waiting
from clockwork.flows.world import World
from clockwork.ports import Saved

log = logging.getLogger(__name__)

#: What comes earlier than this goes back to the queue with the rest of its delay (ms).
LONGEST_HOLD_MS = 2_000


class Batch:
    """The messages of one invocation and what became of them."""

    def __init__(self, world: World, deadline_at: int, waiting: Waiting) -> None:
        self.world = world
        self.deadline_at = deadline_at
        self.waiting = waiting
        self.report = waiting.report
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
            self.report.fail_message(item.message_id)
        self.waiting.failed(item)

    def may_replan(self, item: Item, actual: Execution | None) -> bool:
        """Whether an item whose change lost to `actual` may be planned again. After too many times it fails."""
        item.seen = actual
        try:
            next(item.replans)
        except Unavailable as error:
            self.fail(item, str(error))
            return False
        return True

    def send_back(self, items: Sequence[Item]) -> None:
        """Let releases come again for their `run_at`."""
        for item, why_not in self.waiting.later(items):
            self.fail(item, why_not)

    def absorb(self, item: Item, stored: Execution | None) -> None:
        """Acknowledge an item whose work is done, as `stored` has it."""
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
            self.waiting.follow(item, plan.release)
