"""What a deliverer has in hand of the ordered queue: what has to wait does so in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from clockwork.domain.attempts import Plan
from clockwork.domain.executions import WAITING
from clockwork.domain.ordering import paced_execution, patience
from clockwork.flows.batch import Batch, Item
from clockwork.flows.world import World

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

    def settle(self, item: Item, plan: Plan) -> None:
        """Count what a plan means once it is saved. What it wants sent is this same message, later."""
        super().settle(item, msgspec.structs.replace(plan, release=None))
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
