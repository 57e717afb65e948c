"""A stage: all parts of a run wired together, which runs it to its end."""

from __future__ import annotations

import random
import traceback
from functools import partial

import msgspec

from clockwork.domain.clients import ClientUnreadable, without_pause
from clockwork.domain.executions import Execution, State
from clockwork.flows.requests.redrive import redrive
from clockwork.flows.world import World
from clockwork.memory.clock import MemoryClock
from clockwork.settings import Settings
from tests.simulation.accounting import check_accounted, check_acknowledged
from tests.simulation.clients import Desk
from tests.simulation.cloud import ApiEnvironment, Cloud
from tests.simulation.faults import Adversary
from tests.simulation.history import History
from tests.simulation.requests import ADMIN, CAPPED, DEPARTING, EVERYBODY, HALTED, PACED, PACES, REGULATED, REVOCABLE
from tests.simulation.scheduler import Actor, Livelock, Scheduler
from tests.simulation.stores import LARGEST_PAGE, Stores
from tests.simulation.verdict import ALL_DUE_AT, check_end, is_drained
from tests.simulation.watcher import Watcher

BEGAN_AT = 1_700_000_000_000
#: After faults have stopped, all work must have drained within this time (ms): within the longest life of a job. Its
#: client is paused for 5,200 s more. Then it has two attempts that a report may end within 1,000 s, and a retry that is
#: 5,600 s away. The message that watches the second attempt comes after its 1,000 s. The rest is for ticks and sweeps.
DRAIN_BOUND_MS = 13_200_000
SLICE_MS = 120_000


#: More dead executions than any client has.
MOST_DEAD = 10_000


def _redrive(execution: Execution, world: World, _: ApiEnvironment) -> None:
    redrive(world, execution, as_it_was=execution.kept.source == "record")


class Stage:
    """The world, clients and watcher of one run."""

    def __init__(
        self,
        seed: int,
        settings: Settings,
        adversary: Adversary,
        herd_at: int = 0,
        page_bytes: int = LARGEST_PAGE,
    ) -> None:
        self._page_bytes = page_bytes
        self.clock = MemoryClock(BEGAN_AT)
        self.scheduler = Scheduler(self.clock, random.Random(seed))
        self.scheduler.unexpected = self._unexpected
        self.history = History(BEGAN_AT)
        self.adversary = adversary
        self.watcher = Watcher(self.scheduler, settings, CAPPED, adversary.profile.skew_ms)
        self.stores = self.make_stores(settings)
        for client in EVERYBODY:
            self.stores.clients.put(client)
        self.stores.clients.name_admins([ADMIN])
        self.cloud = Cloud(self.scheduler, adversary, self.watcher, self.stores, settings, self.history)
        self.cloud.on_acknowledged = partial(check_acknowledged, self.stores, self.watcher)
        self.stores.pool_queues.on_deleted = self.cloud.on_acknowledged
        self.desk = Desk(self.cloud, self.watcher, herd_at)
        #: No schedule goes on after this instant (ms, true time).
        self.all_due_at = ALL_DUE_AT
        #: The paused client is not resumed before this instant (ms, true time).
        self.paused_until = 0
        #: Ids of unreadable messages, which stay where they are.
        self.garbage: set[str] = set()

    def make_stores(self, settings: Settings) -> Stores:
        """The stores that outlive invocations; here the memory adapters."""
        return Stores(self.clock, settings, self.adversary, self.watcher, self._page_bytes)

    def run(self, busy_ms: int) -> int:
        """Lets clients be busy, stops faults, lets everything drain, and judges. Returns the time to drain (ms)."""
        self.cloud.start_rules()
        stopped_at = self.scheduler.now + busy_ms
        try:
            self.scheduler.run(stopped_at)
            self.adversary.stop()
            self.watcher.progress.calm_from = self.scheduler.now
            self._drain(stopped_at + DRAIN_BOUND_MS)
        except Livelock as error:
            self.watcher.violated("L1", str(error))
        if not self.watcher.violations:
            left = len(self.desk.requests.queue.messages)
            self.watcher.require(not left, "L1", f"{left} messages that ask for something are left")
            check_end(self.cloud, self.watcher, self.garbage)
        self.scheduler.close()
        return self.scheduler.now - stopped_at

    def _drain(self, until: int) -> None:
        while not self.scheduler.stopped and self.scheduler.now < until:
            has_read = not self.desk.requests.queue.messages
            if has_read and is_drained(self.cloud, self.watcher, self.garbage, self.all_due_at):
                return
            check_accounted(self.stores, self.watcher)
            if self.scheduler.now >= self.paused_until:
                # Resume the clients: every pause ends.
                self._resume()
                # A line is drained at a higher cap.
                self.stores.clients.put(msgspec.structs.replace(PACED, max_rate_per_second=max(PACES)))
                if self.watcher.is_paused(REVOCABLE.client_id):
                    self.stores.clients.put(REVOCABLE)
            self._repeat_redrives()
            self.scheduler.run(self.scheduler.now + SLICE_MS)

    def _resume(self) -> None:
        for client in (REGULATED, HALTED, DEPARTING):
            try:
                stored = self.stores.clients.get(client.client_id)
            except ClientUnreadable:
                continue  # An admin repairs it first.
            if stored is not None and stored.paused and stored.deleting_at is None:
                self.stores.clients.put(without_pause(stored, self.scheduler.now))

    def _repeat_redrives(self) -> None:
        """Repeats redrives that got no answer; such an execution stays listed as dead until then."""
        for client_id in sorted(self.watcher.redriven):
            for execution in self.stores.executions.dead(client_id, MOST_DEAD, None).executions:
                if execution.state is State.PENDING:
                    self.cloud.call_api("api<again", partial(_redrive, execution))

    def _unexpected(self, actor: Actor, error: Exception) -> None:
        trail = "".join(traceback.format_exception(error)[-3:])
        self.watcher.violated("Unexpected", f"{actor.name}: {error!r}\n{trail}")
