"""The Lambdas behind the API, run one after the other as virtual time reaches their work.

Time jumps from one due instant to the next. In an account a tick, once a minute, polls every shard and sweeps. The kit
leaves out a tick that would find nothing, so that a quiet year costs no more than a busy minute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clockwork.domain import keys
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.releases import LONGEST_DELAY_SECONDS, Refused, Release
from clockwork.domain.requests.operations import Operation
from clockwork.flows.operations.sweep import run_operations
from clockwork.flows.sweep.sweep import repair_all
from clockwork.flows.sweep.unpark import unpark
from clockwork.flows.timeline.shards import all_shards
from clockwork.memory.release_queue import MemoryReleaseQueue
from clockwork.memory.world import MemoryClockwork

#: Records and rows are looked through for expired ones as often (ms) as that. TTL is never prompt either.
EXPIRES_EVERY_MS = 3_600_000


class ExactQueue:
    """A release queue whose messages are visible at the millisecond at which their release is to run.

    SQS delays by whole seconds, and several releases share a message. A deliverer holds the early ones, and while it
    holds in virtual time, nothing else could happen.
    """

    def __init__(self, queue: MemoryReleaseQueue) -> None:
        self._queue = queue

    def send(self, releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
        """Send each release alone."""
        refused = []
        for index, release in enumerate(releases):
            before = set(self._queue.messages)
            refused += [Refused(index, one.permanent, one.reason) for one in self._queue.send([release], now, aligned)]
            for message_id in self._queue.messages.keys() - before:
                if release.run_at - now <= LONGEST_DELAY_SECONDS * 1000:
                    self._queue.messages[message_id].visible_at = max(now, release.run_at)
        return refused


class Lambdas:
    """Ticker, pollers, deliverers and sweeper of a Clockwork in memory."""

    def __init__(self, clockwork: MemoryClockwork) -> None:
        self._clockwork = clockwork
        self._world = clockwork.world
        self._tick_ms = clockwork.settings.tick_seconds * 1000
        self._first_tick = clockwork.clock.at
        self._last_tick = clockwork.clock.at
        #: When (ms) each ordered shard was polled last: a row that could not be released then waits for a tick.
        self._polled_at: dict[str, int] = {}
        #: No poller runs before this instant (ms).
        self.blind_until = 0
        self._expired_at = clockwork.clock.at
        all_shards(self._world)

    def next_at(self) -> int | None:
        """The next instant (ms) at which something is to do; None if there is nothing to come. It may be past."""
        return min(self._events(), default=None)

    def step(self) -> None:
        """Do the work that is due now: one tick, and one batch of deliveries."""
        now = self._clockwork.clock.at
        if any(at <= now for at in self._ticks()):
            self._tick()
        if any(at <= now for at in self._calls()):
            run_operations(self._world, self._sweep_ends_at(), waits=False)
        self._handle_requests()
        for partition_id, due_at in self._ordered_due():
            if due_at <= now:
                self._poll(partition_id)
        if _is_due(self._clockwork.queue.next_visible_at(), now):
            self._clockwork.deliver_visible()
        elif _is_due(self._clockwork.ordered_queue.next_visible_at(), now):
            self._clockwork.deliver_ordered()
        self._handle_requests()

    def _events(self) -> Iterator[int]:
        invoker = self._clockwork.invoker
        if invoker.swept:
            yield self._clockwork.clock.at
        if invoker.asked or invoker.successors:
            yield max(self._clockwork.clock.at, self.blind_until)
        yield from self._ticks()
        yield from self._calls()
        for queue in (self._clockwork.queue, self._clockwork.ordered_queue):
            if (visible_at := queue.next_visible_at()) is not None:
                yield visible_at
        for partition_id, due_at in self._ordered_due():
            if due_at > self._polled_at.get(partition_id, -1):
                yield due_at

    def _ordered_due(self) -> Iterator[tuple[str, int]]:
        """When (ms) the next row of each ordered shard is released: at its instant, or once pollers run again."""
        for partition_id, due_at in self._clockwork.ordered_due().items():
            yield partition_id, max(due_at, self.blind_until)

    def _ticks(self) -> Iterator[int]:
        """The tick that is needed next, if any."""
        needed_at = min(self._needs(), default=None)
        if needed_at is not None:
            at = max(needed_at, self._last_tick + self._tick_ms, self.blind_until)
            ticks = -(-(at - self._first_tick) // self._tick_ms)
            yield self._first_tick + ticks * self._tick_ms

    def _needs(self) -> Iterator[int]:
        """From when on (ms) a tick finds something to do."""
        clockwork, ahead_ms = self._clockwork, self._clockwork.settings.lookahead_seconds * 1000
        for shard in clockwork.shards.all():
            rows = clockwork.timeline.read(shard.partition_id, shard.cursor, keys.END, 1).rows
            if rows:
                at = keys.instant_of(rows[0].key)
                yield at if keys.is_ordered(shard.partition_id) else at - ahead_ms
            if shard.quarantined:
                yield clockwork.clock.at
        if clockwork.queue.dead or clockwork.ordered_queue.dead or self._has_parked():
            yield clockwork.clock.at
        if any(not one.is_begun for one in self._operations()):
            yield clockwork.clock.at

    def _calls(self) -> Iterator[int]:
        """When (ms) operations go on. They begin with a tick."""
        return (one.next_at for one in self._operations() if one.is_begun)

    def _operations(self) -> Iterator[Operation]:
        """The operations that sweeps have something to do with."""
        operations = self._world.operations
        for one in operations.open():
            found = (operations.find(one.client_id, operation_id) for operation_id in one.since)
            yield from (each for each in found if isinstance(each, Operation))

    def _has_parked(self) -> bool:
        """Whether a client has parked work and is not paused; its resume asks for a sweep by itself."""
        for parked in self._clockwork.regulation.parked():
            client = self._clockwork.clients.get(parked.client_id)
            if client is None or not client.paused or parked.discard_until is not None:
                return True
        return False

    def expire(self) -> None:
        """Delete the records and rows whose time is over."""
        self._expired_at = self._clockwork.clock.at
        self._clockwork.executions.expire(self._expired_at)
        self._clockwork.timeline.expire(self._expired_at)

    def _tick(self) -> None:
        self._last_tick = self._clockwork.clock.at
        if self._last_tick - self._expired_at >= EXPIRES_EVERY_MS:
            self.expire()
        for shard in all_shards(self._world):
            self._poll(shard.partition_id)
        repairs = repair_all(self._world, self._sweep_ends_at(), waits=False)
        if repairs.failures:
            raise repairs.failures[0]

    def _handle_requests(self) -> None:
        """Start the pollers and sweeps that other Lambdas have asked for."""
        invoker = self._clockwork.invoker
        while invoker.swept or (self._sees and (invoker.asked or invoker.successors)):
            partition_ids, client_ids = [*invoker.asked, *invoker.successors] if self._sees else [], [*invoker.swept]
            done = (invoker.asked, invoker.successors, invoker.together, invoker.lookaheads) if self._sees else ()
            for asked in (invoker.swept, *done):
                asked.clear()
            for partition_id in dict.fromkeys(partition_ids):
                self._poll(partition_id)
            for client_id in dict.fromkeys(client_ids):
                unpark(self._world, self._sweep_ends_at(), client_id)

    @property
    def _sees(self) -> bool:
        """Whether pollers run."""
        return self._clockwork.clock.at >= self.blind_until

    def _poll(self, partition_id: str) -> None:
        self._polled_at[partition_id] = self._clockwork.clock.at
        self._clockwork.poll(partition_id)

    def _sweep_ends_at(self) -> int:
        return self._clockwork.clock.at + self._clockwork.settings.sweeper_timeout_seconds * 1000


def _is_due(at: int | None, now: int) -> bool:
    return at is not None and at <= now
