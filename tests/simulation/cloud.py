"""The part of AWS around the flows: invocations with deadlines, event sources, rules that fire, deploys, TTL."""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from clockwork.domain.lifecycle.quarantine import kept_in
from clockwork.domain.messages.tickets import is_ticket
from clockwork.domain.storage.codec import decode_message
from clockwork.flows.containment import Faults
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.deliver.items import DeliverReport
from clockwork.flows.deliver.ordered import OrderedMessage, deliver_ordered
from clockwork.flows.hardening import hardened
from clockwork.flows.poll.looking import ROW_GONE
from clockwork.flows.poll.poller import poll_among_others, poll_any
from clockwork.flows.poll.pool import Waits
from clockwork.flows.poll.tick import tick
from clockwork.flows.requests.quotas import Intake
from clockwork.flows.sweep.sweep import repair_all
from clockwork.flows.sweep.unpark import unpark
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.flows.world import Environment, World
from clockwork.memory.clock import SeededRandom
from clockwork.memory.queue import Message as Ticket
from clockwork.ports import Invoker
from clockwork.settings import Settings
from tests.simulation import proxies
from tests.simulation.defects import Defect
from tests.simulation.faults import Adversary, Fault
from tests.simulation.fleet import Fleet
from tests.simulation.gate import Gate
from tests.simulation.history import History
from tests.simulation.machines import Machines
from tests.simulation.receivers import Receivers
from tests.simulation.retention import expire_messages, expire_records
from tests.simulation.scheduler import Actor, Killed, Scheduler
from tests.simulation.stores import Stores, UnrulyQueue, carried
from tests.simulation.targets import MoodyTargets, UnderWay
from tests.simulation.thaw import freezes
from tests.simulation.watcher import MOST_SKEW_MS, Watcher

PORTS = World.__struct_fields__
#: Most messages that the event source hands over at once.
BATCH = 10


@dataclass
class ApiEnvironment:
    """One Lambda environment of the api: a machine with its clock, and the settings it was deployed with."""

    settings: Settings
    skew_ms: int
    partitions: Sequence[str] = field(default_factory=tuple)
    intake: Intake = field(default_factory=Intake)
    #: Whether it carries out a request; another request then goes to another environment.
    is_busy: bool = False
    #: The memory from one request to the next, as of the workers that it has heard of; None before the first.
    machine: Machine | None = None

    def shards(self, world: World) -> Sequence[str]:
        """The registered shards; the environment reads them once."""
        if not self.partitions:
            self.partitions = ensure_shards(world)
        return self.partitions


class Watched(Faults):
    """Contained defects: any that the adversary has not raised is a violation."""

    def __init__(self, watcher: Watcher, actor: Actor) -> None:
        super().__init__()
        self._watcher = watcher
        self._actor = actor

    def add(self, error: Exception) -> None:
        """Note a defect of the flows themselves."""
        if not isinstance(error, Defect):
            trail = "".join(traceback.format_exception(error)[-3:])
            self._watcher.violated("Unexpected", f"{self._actor.name}: {error!r}\n{trail}")

    def lost(self, action: str, told: str, why_not: str, **extra: str) -> None:
        """Object: what is refused everywhere is in the quarantine for days, and no fault of a run lasts for so long.

        A pointer that was lost from its shard may have been in the quarantine: its chain is repaired.
        """
        if why_not == ROW_GONE and kept_in(extra["key"])[0] in self._watcher.named.cut_rows:
            return
        self._watcher.violated(
            "I1", f"{self._actor.name}: it ends in the log alone: {action}, {told}: {why_not} {extra}"
        )


class Machine:
    """One Lambda environment of the deliverer: the state that it keeps from one invocation to the next."""

    def __init__(self, number: int, skew_ms: int) -> None:
        self.skew_ms = skew_ms
        self.environment = Environment(name=str(number))
        self.under_way: dict[int, UnderWay] = {}


def _sweep_and_audit(world: World, deadline_at: int) -> None:
    for failure in repair_all(world, deadline_at).failures:
        raise failure


def _deliver(messages: Sequence[Message], world: World, deadline_at: int) -> DeliverReport:
    return deliver_batch(world, messages, deadline_at)


def _deliver_ordered(messages: Sequence[OrderedMessage], world: World, deadline_at: int) -> DeliverReport:
    return deliver_ordered(world, messages, deadline_at)


class Cloud:
    """Starts actors and ends them. One object per run."""

    def __init__(
        self,
        scheduler: Scheduler,
        adversary: Adversary,
        watcher: Watcher,
        stores: Stores,
        settings: Settings,
        history: History,
    ) -> None:
        self.scheduler = scheduler
        self.adversary = adversary
        self.watcher = watcher
        #: Told the body of each message that a deliverer has acknowledged.
        self.on_acknowledged: Callable[[str], None] = lambda _: None
        self.stores = stores
        self.settings = settings
        self.history = history
        self._rng = adversary.rng
        self._random = SeededRandom(self._rng.getrandbits(64))
        self._environments = itertools.count()
        self._idle: list[Machine] = []
        self._pumps: set[tuple[int, bool]] = set()
        #: An event source looks at its queue this often (ms). The coarser it looks, the more it hands over at once.
        self.looks_every_ms = 1
        #: How much later than at its deadline an invocation is killed (ms), where machines do not fail.
        self.overrun_ms = 0
        #: Whether it hands over as many as there are.
        self.fills_batches = False
        #: When each rule fires, or fired, in its present period (ms).
        self.fires_at: dict[str, int] = {}
        #: How the flows invoke pollers.
        self.invoker: Invoker = self
        self.receivers = Receivers(scheduler, watcher, self.call_api)
        self.machines = Machines(scheduler, adversary, watcher, self._read_ends)
        self.fleet = Fleet(scheduler, adversary, watcher, self.call_api)
        self.environments = [ApiEnvironment(settings, self.skew()) for _ in range(3)]
        stores.queue.on_put = self._pump_at
        stores.ordered_queue.on_put = partial(self._pump_at, is_ordered=True)
        for queue in stores.pool_queues.all():
            queue.on_put = partial(self._pull_at, queue)
        self.fleet.on_free = self._pull_all

    def skew(self) -> int:
        """How far a new machine's clock is ahead (ms)."""
        most = min(self.adversary.profile.skew_ms, MOST_SKEW_MS) if self.adversary.is_active else 0
        if most:
            self.adversary.counts[Fault.CLOCK_SKEW] += 1
        return self._rng.randint(-most, most)

    def world(self, actor: Actor, settings: Settings, skew_ms: int, machine: Machine | None = None) -> World:
        """The world that one actor works in."""
        stores = self.stores
        gate = Gate(actor, self.scheduler, self.adversary, self.history, stores.acting)
        clock = proxies.SkewedClock(actor, self.scheduler, skew_ms)
        machine = machine or Machine(next(self._environments), skew_ms)
        machine.environment.faults = Watched(self.watcher, actor)
        ports: dict[str, Any] = {
            "settings": settings,
            "clock": clock,
            "environment": machine.environment,
            "random": proxies.NotedRandom(self._random, actor),
            "invoker": proxies.gated("invoker", self.invoker, gate),
            "targets": MoodyTargets(
                actor,
                clock,
                gate,
                self.scheduler,
                self.adversary,
                self.watcher,
                machine.under_way,
                self.receivers,
                self.machines,
            ),
        }
        stored = {name: proxies.gated(name, stores.port(name), gate) for name in PORTS if name not in ports}
        return hardened(World(**ports, **stored))

    def invoke(
        self,
        name: str,
        timeout_seconds: int,
        work: Callable[[World, int], object],
        *,
        after: int = 0,
        on_end: Callable[[Actor], None] | None = None,
    ) -> Actor:
        """Runs `work(world, deadline_at)` as an invocation, which ends at its timeout."""

        def run(actor: Actor) -> object:
            self.end_at_deadline(actor, timeout_seconds)
            world = self.world(actor, self.settings, self.skew())
            return work(world, world.clock.now() + timeout_seconds * 1000)

        return self.scheduler.spawn(name, run, after=after, on_end=on_end)

    def _read_ends(self, name: str, work: Callable[[World, int], object], on_end: Callable[[Actor], None]) -> Actor:
        """Runs a reader of events that tell ends, in a deliverer of its own."""
        timeout = self.settings.deliverer_timeout_seconds
        return self.invoke(name, timeout, work, after=self._rng.randrange(5, 300), on_end=on_end)

    def end_at_deadline(self, actor: Actor, timeout_seconds: int) -> None:
        """Ends the actor when its invocation's time is over, or somewhat later."""
        actor.deadline_at = self.scheduler.now + timeout_seconds * 1000
        late = self.overrun_ms
        if self.adversary.is_active and self._rng.random() < self.adversary.profile.machines:
            late = self._rng.randrange(1, 60_000)
        self.scheduler.after(timeout_seconds * 1000 + late, lambda: self._time_out(actor))

    def _time_out(self, actor: Actor) -> None:
        if not actor.ended and not freezes(actor, self.scheduler, self.adversary):
            self.adversary.counts[Fault.DEADLINE] += 1
            self.adversary.counts[Fault.OVERRUN] += self.scheduler.now > (actor.deadline_at or 0)
            actor.kill()

    def call_api(self, name: str, work: Callable[[World, ApiEnvironment], object]) -> Actor:
        """Runs `work(world, environment)` in one of the api's environments, a new one if all are busy."""

        def run(actor: Actor) -> object:
            free = [one for one in self.environments if not one.is_busy]
            if not free:
                free = [ApiEnvironment(self.settings, self.skew())]
                self.environments += free
            environment = self._rng.choice(free)
            environment.is_busy = True
            environment.machine = environment.machine or Machine(next(self._environments), environment.skew_ms)
            self.end_at_deadline(actor, environment.settings.api_timeout_seconds)
            try:
                world = self.world(actor, environment.settings, environment.skew_ms, environment.machine)
                return work(world, environment)
            except Killed:
                environment.machine = None  # Another process takes its place.
                raise
            finally:
                environment.is_busy = False

        return self.scheduler.spawn(name, run, after=self._rng.randrange(1, 30))

    # Pollers: this class is itself the `ports.Invoker`.

    def poll(self, partition_id: str, *, succeeds: bool = False, lookahead_seconds: int | None = None) -> None:
        """Accepts an asynchronous invocation of the poller; the adversary may lose or double it."""
        rate = self.adversary.profile.machines
        if self.adversary.strikes(Fault.INVOKE_LOST, rate):
            return
        if self.adversary.strikes(Fault.INVOKE_TWICE, rate):
            self._poller(partition_id, lookahead_seconds, succeeds=succeeds)
        self._poller(partition_id, lookahead_seconds, succeeds=succeeds)

    def _poller(self, partition_id: str, lookahead_seconds: int | None, *, succeeds: bool) -> None:
        def work(world: World, deadline_at: int) -> object:
            return poll_any(world.looking_ahead(lookahead_seconds), partition_id, deadline_at, succeeds=succeeds)

        timeout = self.settings.poller_timeout_seconds
        self.invoke(f"poller {partition_id}", timeout, work, after=self._rng.randrange(5, 400))

    def poll_together(self, partition_ids: Sequence[str], *, lookahead_seconds: int | None = None) -> None:
        """Accepts an asynchronous invocation of a poller of several shards, which may be lost or doubled, too."""
        rate = self.adversary.profile.machines
        if self.adversary.strikes(Fault.INVOKE_LOST, rate):
            return
        for _ in range(1 + self.adversary.strikes(Fault.INVOKE_TWICE, rate)):
            self._poller_of_several(partition_ids, lookahead_seconds)

    def _poller_of_several(self, partition_ids: Sequence[str], lookahead_seconds: int | None) -> None:
        """Starts an actor for each of the poller's threads; where one dies all die, since the process does."""
        threads: list[Actor] = []
        waits: list[Waits] = []

        def on_end(ended: Actor) -> None:
            for other in threads if ended.killed else ():
                self.scheduler.after(0, other.kill)

        def work(partition_id: str, world: World, deadline_at: int) -> object:
            waits.append(Waits(deadline_at))
            return poll_among_others(world.looking_ahead(lookahead_seconds), partition_id, deadline_at, waits[0])

        timeout, after = self.settings.poller_timeout_seconds, self._rng.randrange(5, 400)
        threads += [
            self.invoke(f"poller {one} of several", timeout, partial(work, one), after=after, on_end=on_end)
            for one in partition_ids
        ]

    def sweep(self, client_id: str) -> None:
        """Accepts an asynchronous invocation of the sweeper for one client, which may be lost or doubled, too."""
        rate = self.adversary.profile.machines
        if self.adversary.strikes(Fault.INVOKE_LOST, rate):
            return

        def work(world: World, deadline_at: int) -> object:
            return unpark(world, deadline_at, client_id)

        for _ in range(1 + self.adversary.strikes(Fault.INVOKE_TWICE, rate)):
            self.invoke("sweeper", self.settings.sweeper_timeout_seconds, work, after=self._rng.randrange(5, 400))

    # Rules.

    def start_rules(self) -> None:
        """Lets the ticker's and the sweeper's rules fire from now on."""
        self._every("tick", self.settings.tick_seconds * 1000, self._tick)
        self._every("sweep", self.settings.sweep_seconds * 1000, self._sweep)

    def _every(self, rule: str, period_ms: int, fire: Callable[[], None]) -> None:
        """Fires once in each period, at a random instant in it."""

        def minute() -> None:
            after_ms = self._rng.randrange(period_ms)
            self.fires_at[rule] = self.scheduler.now + after_ms
            self.scheduler.after(after_ms, fire)
            self.scheduler.after(period_ms, minute)

        minute()

    def _tick(self) -> None:
        rate = self.adversary.profile.machines
        if self.adversary.strikes(Fault.TICK_MISSED, rate * 3):
            return
        twice = self.adversary.strikes(Fault.TICK_TWICE, rate)
        for _ in range(1 + twice):
            self.invoke("ticker", self.settings.ticker_timeout_seconds, lambda world, _: tick(world))

    def _sweep(self) -> None:
        if self.stores.queue.dead:
            self.adversary.counts[Fault.DEAD_LETTERED] += 1
        twice = self.adversary.strikes(Fault.SWEEP_TWICE, self.adversary.profile.machines)
        for _ in range(1 + twice):
            self.invoke("sweeper", self.settings.sweeper_timeout_seconds, _sweep_and_audit)

    # The event source.

    def _pump_at(self, visible_at: int, *, is_ordered: bool = False) -> None:
        """Schedules a look at the queue for the instant at which a message becomes visible, or soon after."""
        visible_at += -visible_at % self.looks_every_ms
        if (visible_at, is_ordered) not in self._pumps:
            self._pumps.add((visible_at, is_ordered))
            pump = self._pump_ordered if is_ordered else self._pump
            self.scheduler.after(visible_at - self.scheduler.now, lambda: pump(visible_at))

    def _pump(self, at: int) -> None:
        self._pumps.discard((at, False))
        queue = self.stores.queue
        while received := queue.receive(self._at_once()):
            messages = [Message(m.message_id, m.body, m.receive_count) for m in received]
            self._deliverer(messages, queue.delete, partial(_deliver, messages))

    def _pull_at(self, queue: UnrulyQueue, visible_at: int) -> None:
        """Lets a worker receive soon after a ticket becomes visible."""
        after_ms = max(0, visible_at - self.scheduler.now) + self._rng.randrange(1, 200)
        self.scheduler.after(after_ms, partial(self._pull, queue))

    def _pull(self, queue: UnrulyQueue) -> None:
        if self.fleet.slots is not None and (first := self.stores.pool_queues.before(queue)) is not None:
            self._pull(first)
        while (most := self.fleet.room(self._at_once())) > 0 and (received := queue.receive(most)):
            tickets = [(m.body, m.message_id) for m in received if is_ticket(m.body) and not self._loses(queue, m)]
            if tickets:
                self.fleet.take(tickets)

    def _pull_all(self) -> None:
        """Receive for the slot that is free again."""
        for queue in self.stores.pool_queues.all():
            self._pull(queue)

    def _loses(self, queue: UnrulyQueue, ticket: Ticket) -> bool:
        """Whether a worker lets a ticket go without a claim, as one does that pairs it with another's receipt."""
        if not self.adversary.strikes(Fault.TICKET_LOST, self.adversary.profile.queue):
            return False
        queue.delete(ticket.message_id)
        self.stores.lost |= {release.job_id for release in decode_message(carried(ticket.body))}
        return True

    def _at_once(self) -> int:
        """How many messages are handed over at once."""
        return BATCH if self.fills_batches else self._rng.randint(1, BATCH)

    def _pump_ordered(self, at: int) -> None:
        self._pumps.discard((at, True))
        queue = self.stores.ordered_queue
        while received := queue.receive(self._at_once()):
            messages = [
                OrderedMessage(
                    m.message_id, m.body, m.receive_count, receipt=m.receipt, group=m.group, sent_at=m.sent_at
                )
                for m in received
            ]
            self._deliverer(messages, queue.delete, partial(_deliver_ordered, messages))

    def _deliverer(
        self, messages: Sequence[Message], delete: Callable[[str], None], work: Callable[[World, int], DeliverReport]
    ) -> None:
        """Starts a deliverer on a warm machine if one is free.

        A machine that crashed or ran out of time is not used again; one whose invocation raised an error is.
        """
        machine = self._idle.pop() if self._idle else Machine(next(self._environments), self.skew())
        timeout = self.settings.deliverer_timeout_seconds

        def run(actor: Actor) -> object:
            self.end_at_deadline(actor, timeout)
            world = self.world(actor, self.settings, machine.skew_ms, machine)
            return work(world, world.clock.now() + timeout * 1000)

        def on_end(actor: Actor) -> None:
            if not actor.killed:
                self._idle.append(machine)
            if isinstance(actor.result, DeliverReport) and actor.frozen_until is None:
                self._acknowledge(messages, actor.result, delete)

        self.scheduler.spawn("deliverer", run, after=self._rng.randrange(5, 300), on_end=on_end)

    def _acknowledge(self, messages: Sequence[Message], report: DeliverReport, delete: Callable[[str], None]) -> None:
        for message in messages:
            lost = self.stores.queue.may_double and self.adversary.strikes(
                Fault.DELETE_LOST, self.adversary.profile.queue
            )
            if message.message_id not in report.failed_messages and not lost:
                delete(message.message_id)
                self.on_acknowledged(message.body)

    # Operators.

    def deploy(self, settings: Settings) -> None:
        """Deploys new settings with new environments; one old environment of the api lives on."""
        self.adversary.counts[Fault.DEPLOY] += 1
        self.settings = settings
        self.environments[1:] = [ApiEnvironment(settings, self.skew()) for _ in range(2)]

    def expire(self) -> None:
        """DynamoDB's TTL deletes expired rows and records."""
        self.adversary.counts[Fault.TTL] += 1
        self.stores.timeline.expire(self.scheduler.now)
        expire_messages(self.stores, self.settings.queue_retention_seconds * 1000, self.scheduler.now)
        expire_records(self.stores, self.watcher.lives, self.adversary, self.scheduler.now)
