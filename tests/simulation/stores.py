"""The shared stores of a run: the shipped memory adapters, which tell the watcher each change and its actor."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from clockwork.domain.clients import Client
from clockwork.domain.errors import Unreadable
from clockwork.domain.executions import Execution
from clockwork.domain.limits.circuits import Circuit
from clockwork.domain.limits.slots import Reach, Reserved
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.messages.tickets import is_ticket
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.pools.pool import OVERFLOW
from clockwork.domain.releases import Release
from clockwork.domain.storage.codec import decode_message
from clockwork.domain.workflows.progress import Sets
from clockwork.memory.clients import MemoryClients, MemoryKeyRows, MemoryPools, MemoryTicketKeys
from clockwork.memory.clock import MemoryClock
from clockwork.memory.executions import MemoryExecutions, MemoryRuns
from clockwork.memory.jobs import MemoryJobs
from clockwork.memory.ordered_queue import MemoryOrderedQueue
from clockwork.memory.outboxes import MemoryDeadLetters
from clockwork.memory.queue import Message
from clockwork.memory.regulation import MemoryRegulation
from clockwork.memory.release_queue import MemoryPoolQueues, MemoryReleaseQueue
from clockwork.memory.requests import MemoryOperations
from clockwork.memory.shards import MemoryShards
from clockwork.memory.timeline import MemoryTimeline
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Lease, PoolMessage, Refused, Saved
from clockwork.ports.routing import Routed, by_order
from clockwork.settings import Settings
from tests.simulation.aligned import objection
from tests.simulation.faults import Adversary, Fault
from tests.simulation.gate import Acting
from tests.simulation.watcher import Watcher

#: A payload that the queue refuses permanently, as SQS refuses some characters.
NEVER_SENDABLE = b'"never sendable"'
#: A payload that kills the deliverer that delivers it.
POISON = b'"poison"'


#: How many bytes DynamoDB reads for a page.
LARGEST_PAGE = 1_048_576
#: The audit looks at every job within this many slices.
SLICES_A_DAY = 2
#: No message is doubled while this many wait.
MOST_DOUBLED = 50


class WatchedShards(MemoryShards):
    """Shards that report every lease and commit to the watcher."""

    def __init__(self, watcher: Watcher, acting: Acting) -> None:
        super().__init__()
        self._watcher = watcher
        self._acting = acting

    def acquire(self, partition_id: str, owner: str, now: int, until: int, horizon: str) -> Lease | None:
        before = self.get([partition_id])[partition_id]
        lease = super().acquire(partition_id, owner, now, until, horizon)
        if lease is not None:
            self._watcher.shard_taken(before, self.get([partition_id])[partition_id], self._acting.actor)
        return lease

    def commit(self, lease: Lease) -> bool:
        before = self.get([lease.partition_id])[lease.partition_id]
        done = super().commit(lease)
        if done:
            self._watcher.shard_moved(before, self.get([lease.partition_id])[lease.partition_id], self._acting.actor)
        return done


class Chronicle(MemoryExecutions):
    """Every record as it was last."""

    def note(self, record: Execution) -> None:
        """Keeps a record, in place of an earlier one of the same execution."""
        self._records[record.job_id, record.execution_id] = record

    def forget(self, record: Execution) -> None:
        """Forgets a record, as if there had never been one."""
        del self._records[record.job_id, record.execution_id]


class WatchedExecutions(MemoryExecutions):
    """Executions that report every change to the watcher. `ever` has each record as it was last, also if it expired."""

    def __init__(self, watcher: Watcher, acting: Acting) -> None:
        super().__init__()
        self._watcher = watcher
        self._acting = acting
        self.ever = Chronicle()

    def forget(self, record: Execution) -> None:
        """Deletes a record, as TTL does."""
        del self._records[record.job_id, record.execution_id]

    def lose(self, record: Execution) -> None:
        """Deletes a record, as a restore of the table does: the revisions of its execution begin anew."""
        self.forget(record)
        self.ever.forget(record)
        self._watcher.rewound.add(record.execution_id)

    def save(self, changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        saves: list[Saved] = []
        for before, after in changes:
            stored = self.find(after.job_id, after.execution_id)
            saves += super().save([(before, after)])
            now_stored = self.find(after.job_id, after.execution_id)
            if now_stored is not stored and now_stored is not None:
                if stored is None:
                    promise = self._watcher.promises.get(after.job_id)
                    expired = self.ever.find(after.job_id, after.execution_id)
                    # A job that was never promised tells its level by its record: at level `none` nobody claimed it.
                    is_recorded = expired is None or not expired.budget.unclaimed
                    is_recorded = is_recorded if promise is None else promise.occurrence.record == "full"
                    self._watcher.lives.begins(expired, now_stored, is_recorded=is_recorded)
                self.ever.note(now_stored)
                self._watcher.execution_changed(stored, now_stored, self._acting.actor)
        return saves


class WatchedRuns(MemoryRuns):
    """The sets of runs, which report every change to the watcher."""

    def __init__(self, watcher: Watcher) -> None:
        super().__init__()
        self._watcher = watcher

    def put_new(self, sets: Sets) -> bool:
        is_new = super().put_new(sets)
        if is_new:
            self._watcher.progress.changed(None, sets)
        return is_new

    def _put(self, sets: Sets) -> Sets:
        before = self.stored[sets.run_id]
        self._watcher.progress.changed(before, super()._put(sets))
        return sets


class WatchedJobs(MemoryJobs):
    """Named jobs that report every change to the watcher."""

    def __init__(self, watcher: Watcher) -> None:
        super().__init__()
        self._watcher = watcher

    def save(self, before: NamedJob | None, after: NamedJob) -> bool:
        done = super().save(before, after)
        if done:
            self._watcher.named.changed(after)
        return done

    def scan(self, part: int, parts: int) -> Iterator[Sequence[NamedJob | Unreadable]]:
        """Scans with so few slices a day that each job is audited several times in a run."""
        return super().scan(part % min(parts, SLICES_A_DAY), min(parts, SLICES_A_DAY))


class WatchedRegulation(MemoryRegulation):
    """Regulation that reports every reserved slot and every circuit to the watcher."""

    def __init__(self, clock: MemoryClock, watcher: Watcher, acting: Acting) -> None:
        super().__init__(clock)
        self._watcher = watcher
        self._acting = acting

    def reserve(self, client_id: str, count: int, interval_ms: float, now: int, reach: Reach | None = None) -> Reserved:
        reserved = super().reserve(client_id, count, interval_ms, now, reach)
        self._watcher.reserved(self._acting.actor, client_id, reserved, interval_ms)
        return reserved

    def save_circuit(self, before: Circuit | None, after: Circuit) -> bool:
        is_saved = super().save_circuit(before, after)
        if is_saved:
            self._watcher.turns.saved(self._acting.actor, before, after)
        return is_saved


class WatchedClients(MemoryClients):
    """Clients that report every change to the watcher."""

    def __init__(self, watcher: Watcher, jobs: WatchedJobs, regulation: WatchedRegulation) -> None:
        super().__init__()
        self._watcher = watcher
        self._jobs = jobs
        self._regulation = regulation

    def put(self, client: Client, *, replaces: int | None = None) -> bool:
        is_put = super().put(client, replaces=replaces)
        if is_put:
            self._watcher.client_changed(client)
            if client.gone_at is not None:
                self._check_left(client.client_id)
        return is_put

    def _check_left(self, client_id: str) -> None:
        """Requires that nothing is left of a client whose id is free, for whoever gets it."""
        left = [key for owner, key in self._jobs.unreadable if owner == client_id]
        self._watcher.require(not left, "I5", "it is gone, and a job of it cannot be read", client_id)
        shut = self._regulation.circuits(client_id)
        self._watcher.require(not shut, "I5", f"it is gone, and its circuits are open: {list(shut)}", client_id)


class UnrulyQueue(MemoryReleaseQueue):
    """The release queue with SQS's faults: messages come twice, later than asked, or in another order."""

    def __init__(
        self,
        clock: MemoryClock,
        settings: Settings,
        adversary: Adversary,
        watcher: Watcher,
        acting: Acting,
        ids: str = "m",
    ) -> None:
        self._world: MemoryClock
        visibility_ms, tolerance_ms = settings.visibility_seconds * 1000, settings.late_tolerance_ms
        super().__init__(clock, visibility_ms, settings.max_receive_count, tolerance_ms, ids)
        self._settings = settings
        self._adversary = adversary
        self._watcher = watcher
        self._acting = acting
        self.on_put: Callable[[int], None] = lambda _: None

    def send(self, releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
        good = [r for r in releases if not r.occurrence.payload.body.startswith(NEVER_SENDABLE)]
        super().send(good, now, aligned)
        told = objection(good, now, aligned, self._settings)
        self._watcher.require(told is None, "I3", str(told))
        self._watcher.sent(good, self._acting.actor)
        refused = [index for index, r in enumerate(releases) if r.occurrence.payload.body.startswith(NEVER_SENDABLE)]
        for _ in refused:
            self._adversary.counts[Fault.NEVER_SENDABLE] += 1
        return [Refused(index, True, "the queue will never take it") for index in refused]

    @property
    def may_double(self) -> bool:
        """Whether messages may be doubled; at a simulation's rates they would otherwise multiply without end."""
        return len(self.messages) < MOST_DOUBLED

    def put(self, body: str, delay: int = 0) -> str:
        rate = self._adversary.profile.queue
        if self.may_double and self._adversary.strikes(Fault.MESSAGE_TWICE, rate):
            self._put_one(body, delay, rate)
        return self._put_one(body, delay, rate)

    def receive(self, limit: int = 10) -> Sequence[Message]:
        received = super().receive(limit)
        for message in received:
            if self._adversary.strikes(Fault.MESSAGE_SHOWN_TWICE, self._adversary.profile.queue):
                message.visible_at = self._world.at + self._adversary.rng.randrange(100, 50_000)
            self.on_put(message.visible_at)
        return received

    def put_garbage(self, body: str) -> str:
        """Puts a message that Clockwork never sent; returns its id."""
        return self._put_one(body, 0, 0.0)

    def _put_one(self, body: str, delay: int, rate: float) -> str:
        message_id = super().put(body, delay)
        message = self.messages[message_id]
        if self._adversary.strikes(Fault.MESSAGE_LATE, rate):
            message.visible_at += self._adversary.rng.randrange(1, 20_000)
        if self._adversary.strikes(Fault.MESSAGE_EARLY, rate / 4):
            message.visible_at -= self._adversary.rng.randrange(1, 60_000)
        self.on_put(message.visible_at)
        return message_id


def carried(body: str) -> str:
    """The text of the release in a message: what a ticket seals, or the message itself."""
    return str(json.loads(body)["release"]) if is_ticket(body) else body


#: A ticket is moved once. A call that dies behind the send repeats it, and so does each copy of its message.
MOST_MOVES = 20


class UnrulyPoolQueues(MemoryPoolQueues):
    """The queues of a pool, each as unruly as the release queue."""

    def __init__(
        self, clock: MemoryClock, settings: Settings, adversary: Adversary, watcher: Watcher, acting: Acting
    ) -> None:
        super().__init__(clock, {})
        brief = settings.with_(visibility_seconds=60)
        self._queues = {
            (pool, priority): UnrulyQueue(clock, brief, adversary, watcher, acting, f"{pool}-{priority}-")
            for pool, urls in settings.pool_queue_urls.items()
            for priority in urls
        }
        self._watcher = watcher
        self._acting = acting
        #: How often each very release was sent to an overflow queue.
        self._moved: Counter[str] = Counter()
        #: Told the release in each ticket that was deleted.
        self.on_deleted: Callable[[str], None] = lambda _: None

    def all(self) -> Sequence[UnrulyQueue]:
        return [queue for queue in self._queues.values() if isinstance(queue, UnrulyQueue)]

    def before(self, queue: UnrulyQueue) -> UnrulyQueue | None:
        """The first queue of a priority, for its overflow queue: a worker asks it before."""
        for (pool, name), one in self._queues.items():
            if one is queue and name.endswith(OVERFLOW):
                first = self._queues[pool, name.removesuffix(OVERFLOW)]
                return first if isinstance(first, UnrulyQueue) else None
        return None

    def send(self, messages: Sequence[PoolMessage], now: int) -> Sequence[Refused]:
        releases = [release for one in messages for release in decode_message(carried(one.body))]
        never = [n for n, one in enumerate(releases) if one.occurrence.payload.body.startswith(NEVER_SENDABLE)]
        super().send([one for number, one in enumerate(messages) if number not in never], now)
        self._moved.update(carried(one.body) for one in messages if one.queue.endswith(OVERFLOW))
        often = [text for text, count in self._moved.items() if count > MOST_MOVES]
        self._watcher.require(not often, "P10", f"a ticket was moved {MOST_MOVES} times")
        self._watcher.sent([one for number, one in enumerate(releases) if number not in never], self._acting.actor)
        return [Refused(number, True, "the queue will never take it") for number in never]

    def delete(self, pool: str, priority: str, receipts: Sequence[str]) -> None:
        held = self.of(pool, priority).messages
        bodies = [carried(held[receipt].body) for receipt in receipts if receipt in held]
        super().delete(pool, priority, receipts)
        for body in bodies:
            self.on_deleted(body)


class UnrulyOrderedQueue(MemoryOrderedQueue):
    """The ordered queue, which tells when messages may be received, and refuses some for now.

    It keeps the order that SQS promises.
    """

    def __init__(self, clock: MemoryClock, settings: Settings, adversary: Adversary, watcher: Watcher) -> None:
        super().__init__(clock, settings.visibility_seconds * 1000, settings.ordered_max_receive_count)
        self._clock = clock
        self._adversary = adversary
        self._watcher = watcher
        self.on_put: Callable[[int], None] = lambda _: None

    def send(self, releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
        refused = super().send(releases, now, aligned)
        places = {refusal.index for refusal in refused}
        self._watcher.sent([release for place, release in enumerate(releases) if place not in places])
        self.on_put(self._clock.at)
        return refused

    def _send_turn(self, turn: Sequence[Release]) -> Sequence[Refused]:
        rate = self._adversary.profile.queue
        struck = {place for place, _ in enumerate(turn) if self._adversary.strikes(Fault.THROTTLED, rate)}
        going = [place for place, _ in enumerate(turn) if place not in struck]
        refused = super()._send_turn([turn[place] for place in going])
        later = [Refused(place, False, "the queue does not take it now") for place in sorted(struck)]
        return [*later, *(Refused(going[one.index], one.permanent, one.reason) for one in refused)]

    def receive(self, limit: int = 10) -> Sequence[Message]:
        known = set(self.dead)
        received = super().receive(limit)
        for message_id in self.dead.keys() - known:
            self._watcher.order.loses(release.execution_id for release in decode_message(self.dead[message_id].body))
            # SQS counts the retention of a FIFO queue anew in the dead-letter queue.
            self.dead[message_id].sent_at = self._clock.at
        for message in received:
            self.on_put(message.visible_at)
        return received

    def put_garbage(self, body: str) -> str:
        """Puts a message that Clockwork never sent; returns its id."""
        self.put(body, "garbage", "garbage")
        self.on_put(self._clock.at)
        return next(m.message_id for m in self.messages.values() if m.group == "garbage")

    def hide(self, receipts: Sequence[str], seconds: int) -> None:
        super().hide(receipts, seconds)
        self.on_put(self._clock.at + seconds * 1000)

    def delete(self, message_id: str) -> None:
        super().delete(message_id)
        self.on_put(self._clock.at)


class Stores:
    """All state that outlives an invocation."""

    def __init__(
        self,
        clock: MemoryClock,
        settings: Settings,
        adversary: Adversary,
        watcher: Watcher,
        page_bytes: int = LARGEST_PAGE,
    ) -> None:
        self.acting = Acting()
        self._shipped = MemoryClockwork(settings).world
        self.timeline = MemoryTimeline(page_bytes)
        self.shards = WatchedShards(watcher, self.acting)
        self.executions = WatchedExecutions(watcher, self.acting)
        self.runs = WatchedRuns(watcher)
        self.queue = self.backlog = UnrulyQueue(clock, settings, adversary, watcher, self.acting)
        self.ordered_queue = self.visibility = UnrulyOrderedQueue(clock, settings, adversary, watcher)
        self.releases = Routed(by_order(self.queue, self.ordered_queue))
        self.pool_queues = UnrulyPoolQueues(clock, settings, adversary, watcher, self.acting)
        #: The ids of jobs of which a ticket was lost in its queue: their checks have to find that.
        self.lost: set[str] = set()
        self.dead_letters = MemoryDeadLetters(self.queue, self.ordered_queue, *self.pool_queues.all())
        self.jobs = WatchedJobs(watcher)
        self.regulation = WatchedRegulation(clock, watcher, self.acting)
        self.clients = WatchedClients(watcher, self.jobs, self.regulation)
        self.pools = MemoryPools()
        self.ticket_keys = MemoryTicketKeys()
        self.key_rows = MemoryKeyRows()
        self.operations = MemoryOperations()
        watcher.timeline = self.timeline
        watcher.executions = watcher.named.executions = self.executions.ever

    def port(self, name: str) -> object:
        """The shared store behind a port; the shipped memory adapter for ports that are not watched."""
        return getattr(self, name) if hasattr(self, name) else getattr(self._shipped, name)
