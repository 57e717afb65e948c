"""A flood in a pool, in virtual time: one worker process, a quiet client, and one whose tickets come all at once.

All jobs take equally long. The worker is the SDK's own, and the API answers from several environments, which know
nothing of each other. A job's time counts from its due instant to its end.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from bench.arrivals.percentiles import percentile
from bench.arrivals.virtual import Loop
from bench.working.virtual import Process, TimedQueue, actors
from clockwork.aws.stores.pools import CachedPools
from clockwork.domain.clients import Client
from clockwork.domain.ids import AnonymousJob, only_execution
from clockwork.domain.jobs import Occurrence
from clockwork.domain.keys import row_key
from clockwork.domain.pools.floods import Overflow
from clockwork.domain.pools.pool import PRIORITIES, Pool
from clockwork.domain.releases import Deliver, Of
from clockwork.flows.hardening import hardened_releases
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.flows.world import Environment
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import ReleaseQueue
from clockwork.settings import Settings
from clockwork.targets.message import Payload
from clockwork.targets.pool import PoolTarget, Priority
from clockwork_client.worker.draws import is_priority

POOL = Pool(name="etl", revision=1, handlers=("work",))
SETTINGS = Settings.for_account().with_(pools=(f"etl={','.join(PRIORITIES)}",), release_queue_url="https://q/1/Release")
QUIET, FLOODING = "quiet", "flooding"
#: Slots of the process, environments of the API, jobs of the quiet client, and tickets of the flood.
SLOTS, ENVIRONMENTS, QUIET_JOBS, FLOOD = 10, 3, 100, 600
#: The flood comes behind so much of the quiet client's jobs.
BEHIND = 0.1


@dataclass(frozen=True)
class Flood:
    """Figures of a scene: the times of the quiet client's jobs from due to end (ms), all ends, and sends to queues."""

    quiet_ms: Sequence[int]
    lost: int
    duplicates: int
    #: When the last job of all ended, since the flood came (ms).
    over_ms: int
    #: How many tickets came from an overflow queue, and how often a queue was asked.
    moved: int
    receives: int

    @property
    def p99_ms(self) -> int:
        """The 99th percentile."""
        return int(percentile(sorted(self.quiet_ms), 0.99))


def flood(
    priority: Priority,
    takes_ms: int,
    seed: int,
    *,
    count: int = FLOOD,
    quiet: int = QUIET_JOBS,
    slots: int = SLOTS,
    apart_ms: int = 0,
) -> Flood:
    """`count` tickets of one client (0: none), beside the quiet client's, as a process of so many slots works.

    `apart_ms`: between two tickets of the flood; 0: they come at once.
    """
    return _Scene(priority, takes_ms, seed, count, quiet, slots, apart_ms).run()


class _Scene:
    def __init__(
        self, priority: Priority, takes_ms: int, seed: int, count: int, quiet: int, slots: int, apart_ms: int
    ) -> None:
        self._rng, self._priority, self._count, self._quiet = random.Random(seed), priority, count, quiet
        self._takes_ms, self._slots, self._apart_ms = takes_ms, slots, apart_ms
        self._core = MemoryClockwork(SETTINGS)
        self._loop = Loop(self._core.clock)
        self._core.ticket_keys.make("k" * 22)
        self._core.pools.put(POOL, replaces=0)
        self._core.pools.note_overflow(POOL.name, Overflow(self._core.clock.at))
        for client_id in (QUIET, FLOODING):
            self._core.clients.put(Client(client_id=client_id, allowed_pools=(POOL.name,)))
        self._queues = {
            name: TimedQueue(self._core.pool_queues.of(POOL.name, name), self._loop, self._rng)
            for name in SETTINGS.pool_queue_urls[POOL.name]
        }
        self._shards = ensure_shards(self._core.world)
        self._sender = self._sender_of(self._core)
        self._due: dict[str, tuple[str, int]] = {}
        self._ends: list[tuple[str, int]] = []

    def run(self) -> Flood:
        began_at = self._loop.clock.at
        # The flood is work for so long, and the quiet client's jobs are due in this time.
        lasts_ms = FLOOD * self._takes_ms // SLOTS
        flood_at = began_at + int(lasts_ms * BEHIND)
        for _ in range(self._quiet):
            self._send_at(QUIET, began_at + self._rng.randrange(lasts_ms))
        for number in range(self._count):
            self._send_at(FLOODING, flood_at + number * self._apart_ms)
        with actors(self._loop):
            process = self._process()
            process.start()
            self._loop.at(began_at + 3 * lasts_ms + 60_000, process.stop)
            self._loop.run()
        return self._figures(flood_at)

    def _process(self) -> Process:
        worlds = [self._core.world.with_(environment=Environment(str(n))) for n in range(ENVIRONMENTS)]
        return Process(
            self._loop, worlds, POOL, self._queues, self._slots, lambda _: self._takes_ms, self._note_end, self._rng
        )

    def _note_end(self, execution_id: str) -> None:
        self._ends.append((execution_id, self._loop.clock.at))

    def _send_at(self, client_id: str, due_at: int) -> None:
        job_id = AnonymousJob(self._shards[0], row_key(due_at, f"{len(self._due):022d}"), 0).job_id
        target = PoolTarget(POOL.name, "work", timeout_seconds=3_600, priority=self._priority)
        occurrence = Occurrence(client_id, due_at, due_at, target, Payload(b"{}"))
        release = Deliver(Of(job_id), occurrence, due_at)
        self._due[only_execution(job_id, due_at)] = client_id, due_at
        self._loop.at(due_at, lambda: self._sender.send([release], due_at))

    @staticmethod
    def _sender_of(core: MemoryClockwork) -> ReleaseQueue:
        """The releases of an environment that sends, which reads notes of pools as seldom as a deployed one."""
        pools = CachedPools(core.pools, core.clock, SETTINGS.client_cache_seconds)
        return hardened_releases(core.world.with_(pools=pools, environment=Environment("sender")), core.queue)

    def _figures(self, flood_at: int) -> Flood:
        quiet = [at - self._due[one][1] for one, at in self._ends if self._due[one][0] == QUIET]
        ended = {one for one, _ in self._ends}
        over_ms = max((at for _, at in self._ends), default=0) - flood_at
        moved = sum(queue.received for name, queue in self._queues.items() if not is_priority(name))
        receives = sum(queue.receives for queue in self._queues.values())
        return Flood(quiet, len(self._due) - len(ended), len(self._ends) - len(ended), over_ms, moved, receives)
