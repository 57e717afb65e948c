"""Release queues, event sources and deliverers: from a message's delay to the start of its delivery."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator

from bench.model.buckets import TokenBucket
from bench.model.world import World
from clockwork.domain.releases import delay_seconds

#: Queues hand messages out in steps of this many ms: shorter than the latencies that follow.
STEP_MS = 10
NEVER = float("inf")
#: Calls of a batch besides those of its jobs, where one server answers all: its receive, its invocation, its delete.
CALLS_OF_BATCH = 3


class Account:
    """The concurrent executions of Lambda in the account, up to the quota."""

    def __init__(self, quota: int) -> None:
        self._quota = quota
        self._busy = 0
        self.most_busy = 0

    def enter(self) -> bool:
        """Take one more; False if all are taken."""
        if self._busy == self._quota:
            return False
        self._busy += 1
        self.most_busy = max(self.most_busy, self._busy)
        return True

    def leave(self) -> None:
        """Give one back."""
        self._busy -= 1


class QueueModel:
    """One release queue with its event source and its deliverer."""

    def __init__(self, world: World, account: Account) -> None:
        self._world = world
        self._account = account
        limits, deployment = world.limits, world.deployment
        self._batch = limits.messages_per_invocation
        self._waiting: defaultdict[int, list[int]] = defaultdict(list)
        self._visible: deque[list[int]] = deque()
        self._next_step_at = NEVER
        self._in_flight = 0
        self._busy = 0
        self._environments = deployment.warm_environments
        self._new_environments = TokenBucket(limits.environments_per_second, limits.environments_burst)
        self._receives = TokenBucket(
            deployment.pollers * limits.poller_receives, max(1, deployment.pollers * limits.poller_receives // 10)
        )
        self._pressed_since = 0.0

    def send(self, run_at: int, count: int, counted_from: int | None = None) -> None:
        """Send so many messages that are to run at an instant. Clockwork's own code chooses the delay.

        `counted_from`: from when it counts; None: from now.
        """
        now, limits, rng = self._world.events.now, self._world.limits, self._world.rng
        if counted_from is None:
            counted_from = int(now) - self._world.settings.late_tolerance_ms
        delay_ms = delay_seconds(run_at, counted_from) * 1000
        sent_at = now + limits.send.draw(rng)
        self._world.tally.sent += count
        if not delay_ms:
            self._put(sent_at, [run_at] * count)
            return
        for error, some in limits.delay_error.draw(rng, count).items():
            self._put(sent_at + max(0.0, delay_ms + error), [run_at] * some)

    def _put(self, visible_at: float, messages: list[int]) -> None:
        step = int(visible_at // STEP_MS) + 1
        self._waiting[step] += messages
        self._plan_step(step * STEP_MS)

    def _plan_step(self, at: float) -> None:
        """Plan a step at `at`, unless an earlier one is planned."""
        if at < self._next_step_at:
            self._next_step_at = at
            self._world.events.at(at, lambda: self._step(at))

    def _step(self, planned_at: float) -> None:
        """Hand out the visible messages, as many as the event source takes."""
        if planned_at != self._next_step_at:
            return  # an earlier step was planned meanwhile, and has planned the steps that follow
        now, self._next_step_at = self._world.events.now, NEVER
        for step in [step for step in self._waiting if step * STEP_MS <= now]:
            self._visible.extend(_dealt(self._waiting.pop(step), self._batch))
        for _ in range(self._grant(len(self._visible), now)):
            self._receive()
        if self._visible:
            self._plan_step((now // STEP_MS + 1) * STEP_MS)
        elif self._waiting:
            self._plan_step(min(self._waiting) * STEP_MS)

    def _grant(self, wanted: int, now: float) -> int:
        """How many of `wanted` batches the event source takes now."""
        limits, pollers = self._world.limits, self._world.deployment.pollers
        in_flight_room = (limits.in_flight - self._in_flight) // self._batch
        if pollers:
            room = min(pollers * limits.poller_batches - self._busy, in_flight_room)
            return self._receives.take(max(0, min(wanted, room)), now)
        # Lambda's own scaling: it grows while messages wait, and starts anew after a silence.
        if self._busy == 0:
            self._pressed_since = now
        room = min(limits.event_source.after((now - self._pressed_since) / 1000) - self._busy, in_flight_room)
        return max(0, min(wanted, room))

    def _receive(self) -> None:
        if not self._visible:
            return  # earlier batches of this step took more than one pile
        messages = self._visible.popleft()
        while self._visible and len(messages) + len(self._visible[0]) <= self._batch:
            messages += self._visible.popleft()
        tally = self._world.tally
        tally.receives += 1
        cold = self._environment()
        if cold is None:
            # A throttled batch comes back when its visibility ends.
            tally.throttled_invocations += 1
            visibility_ms = self._world.settings.visibility_seconds * 1000
            self._put(self._world.events.now + visibility_ms, messages)
            return
        self._in_flight += len(messages)
        tally.invocations += 1
        self._deliver(sorted(messages), cold)

    def _environment(self) -> float | None:
        """Take an environment; the duration of its start (ms, 0 if it is warm), or None if Lambda refuses one."""
        cold = 0.0
        if self._busy >= self._environments:
            if not self._new_environments.take(1, self._world.events.now):
                return None
            self._environments += 1
            cold = self._world.limits.cold_start.draw(self._world.rng)
        if not self._account.enter():
            return None
        self._busy += 1
        return cold

    def _deliver(self, run_at: list[int], cold: float) -> None:
        """Deliver a batch: claim, hold each job until it is due, start it, await all answers, record the outcomes."""
        world, limits, rng, tally = self._world, self._world.limits, self._world.rng, self._world.tally
        cores = limits.cores(world.deployment.deliverer_gb)
        record_ms = len(run_at) * limits.record_ms_per_job / cores
        called = world.events.now + limits.queue_to_lambda.draw(rng)
        if limits.server_ms:
            world.server_free_at = max(called, world.server_free_at) + CALLS_OF_BATCH * limits.server_ms
        ready = began = called + cold
        records = world.deployment.record == "full"
        if records:
            ready = self._recorded(ready, len(run_at), record_ms)
        late, start_ms = [], limits.first_start_ms / cores
        for due_at in run_at:
            if ready < due_at:
                ready, start_ms = float(due_at), limits.first_start_ms / cores
            ready += start_ms
            start_ms = limits.next_start_ms / cores
            late.append(ready - due_at)
        tally.lateness.add_all(late)
        if not cold:
            tally.warm_lateness.add_all(late)
        answered = ready + limits.target.slowest_of(len(run_at), rng)
        tally.delivered += len(run_at)
        tally.first_due_at = min(tally.first_due_at, run_at[0])
        tally.last_delivered_at = max(tally.last_delivered_at, ready)

        def record() -> None:
            ended = self._recorded(answered, len(run_at), record_ms) if records else answered
            tally.deliverer_ms += ended - began + cold
            world.events.at(ended, lambda: self._end(len(run_at)))

        world.events.at(answered, record)

    def _recorded(self, at: float, calls: int, cpu_ms: float) -> float:
        """When so many claims or outcomes, all begun at an instant, are written."""
        world, limits = self._world, self._world.limits
        written = at + limits.write.slowest_of(calls, world.rng) + cpu_ms
        if limits.server_ms:
            world.server_free_at = max(at, world.server_free_at) + calls * limits.server_ms + cpu_ms
        return max(written, world.server_free_at)

    def _end(self, messages: int) -> None:
        self._busy -= 1
        self._account.leave()
        self._in_flight -= messages


def _dealt(messages: list[int], batch: int) -> Iterator[list[int]]:
    """Batches of at most so many messages that became visible together, dealt out like cards.

    A standard queue mixes messages that were sent together.
    """
    piles = -(-len(messages) // batch)
    return (messages[pile::piles] for pile in range(piles))
