"""The batch: all messages that a deliverer has received in one invocation."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.lifecycle.attempts import Action, Plan
from clockwork.domain.lifecycle.awaiting import Worker
from clockwork.domain.releases import Release
from clockwork.flows.apart import ASKED_FOR_MS
from clockwork.flows.containment import why
from clockwork.flows.deliver.items import Item, LeasedBlock, Received
from clockwork.flows.deliver.waiting import Waiting
from clockwork.flows.workflows.follow import is_followed
from clockwork.flows.world import World
from clockwork.ports import Saved
from clockwork.targets.pool import PoolTarget

log = logging.getLogger(__name__)

R = TypeVar("R")
T = TypeVar("T", bound=Received)

#: A deliverer holds an occurrence no longer than this (ms). An earlier occurrence goes back to the queue with the rest
#: of its delay.
LONGEST_HOLD_MS = 2_000


class Batch:
    """The messages of one invocation, the report on them, and the work that is left for its end."""

    def __init__(self, world: World, deadline_at: int, waiting: Waiting, worker: Worker | None = None) -> None:
        self.world = world
        #: For whom the items are claimed, if that is a worker of a pool. None: this deliverer starts them.
        self.worker = worker
        self.deadline_at = deadline_at
        self.waiting = waiting
        self.report = waiting.report
        #: Records that became DEAD, for which their clients get a notice.
        self.dead: list[Execution] = []
        #: Items from whose ends something follows, which is done before their messages are acknowledged.
        self.ended: list[tuple[Received, Execution]] = []
        #: Runs of workflows that are claimed, or that go on under their own claim.
        self.runs: list[Received] = []
        #: Items whose targets are not allowed to their clients any more, with their outcomes.
        self.refused: list[tuple[Item, Outcome]] = []
        #: Items whose first attempts failed at level `none`, with the records that follow their retries.
        self.first_failures: list[tuple[Item, Execution]] = []
        #: Failed items of messages that carry other items, too.
        self.failed_of_bundles: list[Received] = []
        #: Leased blocks of permits, by clientId.
        self.leased: dict[str, LeasedBlock] = {}
        #: For so long (ms) the permits of workers may be asked for still.
        self.permits_ms = ASKED_FOR_MS
        #: For so long (ms) the gates of clients may take still.
        self.gates_ms = ASKED_FOR_MS

    def takes(self, release: Release) -> bool:
        """Whether whoever claims in this batch may start the release. Any other is sent anew, and goes its own way."""
        target = release.occurrence.target
        if self.worker is None:
            return not isinstance(target, PoolTarget)
        return isinstance(target, PoolTarget) and target.pool == self.worker.pool

    def fail(self, item: Received, why: str) -> None:
        """Let an item come back: with its message, or alone if the message carries other items, too."""
        item.left = True
        execution_id = item.release.execution_id
        log.warning("message fails: %s", why, extra={"action": "message_failed", "executionId": execution_id})
        if item.bundled:
            self.failed_of_bundles.append(item)
        else:
            self.report.fail_message(item.message_id)
        self.waiting.failed(item)

    @contextmanager
    def failing(self, *items: Received) -> Iterator[None]:
        """Fail the items, and no others, if the block raises anything."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever one item raises, the others of the batch go on
            why_not = why(self.world.environment.faults, error, items[0].release.execution_id)
            for item in items:
                self.fail(item, why_not)

    def each(self, items: Iterable[T], step: Callable[[T], R]) -> list[tuple[T, R]]:
        """The step's answer for each item. An item for which the step raises fails, alone."""
        answers = []
        for item in items:
            with self.failing(item):
                answers.append((item, step(item)))
        return answers

    def take_replan(self, item: Received, actual: Execution | None) -> bool:
        """Take a replan of an item whose change lost to the record `actual`; False if none is left.

        Without one it fails.
        """
        item.seen = actual
        with self.failing(item):
            next(item.replans)
            return True
        return False

    def send_back(self, items: Sequence[Item]) -> None:
        """Let items come again for their releases' `run_at`. An item for which that is not certain fails."""
        failing = self.waiting.later(items)
        for item in items:
            item.left = True
        for failed, why_not in failing:
            self.fail(failed, why_not)

    def absorb(self, item: Received, stored: Execution | None) -> None:
        """Acknowledge an item whose work is done, as its record `stored` says."""
        item.left = True
        self.report.absorbed += 1
        self.owe(item, stored)

    def owe(self, item: Received, stored: Execution | None) -> None:
        """Note an item if something follows from its end.

        The deliverer that recorded the end may have died before it did that.
        """
        if stored is not None and is_followed(item.release, stored):
            self.ended.append((item, stored))

    def save_plans(self, plans: Sequence[tuple[Received, Plan]]) -> Iterator[tuple[int, Saved]]:
        """Save the records that the plans ask for, and apply the plans that ask for none.

        Yields for each record that was saved, or lost to another writer, the plan's index and the store's answer. Items
        for which the store gave no definite answer fail.
        """
        for item, plan in plans:
            if plan.execution is None:
                with self.failing(item):
                    self.apply_plan(item, plan)
        changes = [(i, (item.seen, plan.execution)) for i, (item, plan) in enumerate(plans) if plan.execution]
        saves = self.world.executions.save([change for _, change in changes]) if changes else ()
        for (index, _), saved in zip(changes, saves, strict=True):
            if saved.unavailable is not None:
                self.fail(plans[index][0], saved.unavailable)
            else:
                yield index, saved

    def apply_plan(self, item: Received, plan: Plan) -> None:
        """Count a plan that is saved or needs no save, and note the release and the callback that follow from it."""
        item.left = True
        if plan.action is Action.ABSORB:
            self.absorb(item, item.seen)
        elif plan.action is Action.DEFER:
            self.report.deferred += 1
        elif plan.action is Action.GO_ON:
            self.runs.append(item)
        elif plan.execution is not None:
            if plan.execution.state is State.DEAD:
                self.report.dead += 1
                self.dead.append(plan.execution)
            if plan.execution.state is State.DEAD or item.release.of.node is not None:
                self.owe(item, plan.execution)
            self.report.expired += plan.execution.state is State.EXPIRED
        if plan.release is not None:
            self.waiting.follow(item, plan.release)
