"""Targets with moods: the seed decides whether they accept, refuse, reject, hang, answer late or recover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clockwork.domain.executions import Outcome, State
from clockwork.domain.releases import Delivery
from clockwork.ports import Clock
from clockwork.targets.http import HttpTarget
from tests.simulation.faults import Adversary, Fault
from tests.simulation.gate import Gate
from tests.simulation.machines import Machines
from tests.simulation.receivers import FAULTLESS, SOON, Manner, Receivers
from tests.simulation.scheduler import Actor, Killed, Scheduler
from tests.simulation.stores import POISON
from tests.simulation.watcher import NOTHING_FREE, Watcher

#: The host of a target that is down for everybody, until it recovers.
DOWN_HOST = "https://down.example.com/"
#: The host of a target that never accepts anything.
REJECTING_HOST = "https://rejecting.example.com/"
#: A payload that its target refuses at the first attempt.
FAILS_ONCE = b"fails once"
#: A payload that its target refuses at the first call, and takes at the next one, if that is the same attempt as well.
HEALS = b"heals"
#: A payload at whose first attempt the deliverer's machine stands still, for so long (ms) that its claim has ended and
#: its message is in other hands when it goes on.
STANDS_STILL = b"stands still"
STANDS_STILL_MS = 31_500
#: A payload whose target answers after so long (ms).
TAKES_LONG = b"takes long"
TAKES_LONG_MS = 9_000
MOODS = (
    Fault.TARGET_REFUSES,
    Fault.TARGET_REJECTS,
    Fault.TARGET_HANGS,
    Fault.TARGET_ANSWERS_LATE,
    Fault.TARGET_ASKS_PATIENCE,
)


@dataclass(frozen=True)
class Answer:
    """A target's answer to an attempt: whether it accepts, and the outcome after `after_ms`."""

    accepts: bool
    after_ms: int
    state: State
    status_code: int | None = None
    permanent: bool = False
    retry_after_seconds: float | None = None


def answer_of(adversary: Adversary, delivery: Delivery) -> Answer:
    """Draws a target's answer."""
    rng, target = adversary.rng, delivery.occurrence.target
    url = target.url if isinstance(target, HttpTarget) else ""
    if url == REJECTING_HOST:
        return Answer(False, rng.randrange(1, 50), State.FAILED, 400, permanent=True)
    if delivery.occurrence.payload.body.startswith(FAILS_ONCE) and delivery.attempt == 1:
        return Answer(False, 50, State.FAILED, 500)
    if delivery.occurrence.payload.body.startswith(TAKES_LONG):
        return Answer(True, TAKES_LONG_MS, State.SUCCEEDED, 200)
    mood = rng.choice(MOODS)
    rate = 0.9 if url == DOWN_HOST and adversary.profile.targets else adversary.profile.targets
    if not adversary.strikes(mood, rate):
        return Answer(True, rng.randrange(1, 300), State.SUCCEEDED, 200)
    return {
        Fault.TARGET_REFUSES: Answer(False, rng.randrange(1, 3_000), State.FAILED, 503),
        Fault.TARGET_REJECTS: Answer(False, rng.randrange(1, 300), State.FAILED, 410, permanent=True),
        Fault.TARGET_HANGS: Answer(False, 10**9, State.TIMED_OUT),
        Fault.TARGET_ANSWERS_LATE: Answer(True, 10**9, State.TIMED_OUT),
        Fault.TARGET_ASKS_PATIENCE: Answer(
            False, rng.randrange(1, 300), State.FAILED, 429, retry_after_seconds=rng.choice((1.5, 30.0, 1_000.0))
        ),
    }[mood]


#: An attempt under way: when it ends (ms), and its outcome.
UnderWay = tuple[int, Outcome]


class MoodyTargets:
    """`ports.Targets` of one deliverer. An attempt that has begun reaches the target even if the deliverer dies.

    `under_way` belongs to the environment, as the threads of the real adapter do: an invocation that ended with an
    error leaves its attempts there.
    """

    def __init__(
        self,
        actor: Actor,
        clock: Clock,
        gate: Gate,
        scheduler: Scheduler,
        adversary: Adversary,
        watcher: Watcher,
        under_way: dict[int, UnderWay],
        receivers: Receivers,
        machines: Machines,
    ) -> None:
        self._receivers = receivers
        self._machines = machines
        self._actor = actor
        self._clock = clock
        self._gate = gate
        self._scheduler = scheduler
        self._adversary = adversary
        self._watcher = watcher
        self._under_way = under_way

    def forget(self) -> None:
        self._under_way.clear()

    def _heals(self, delivery: Delivery) -> bool:
        """Whether the target refuses the call under way, which is the first one, and then no other."""
        if not delivery.occurrence.payload.body.startswith(HEALS):
            return False
        return delivery.attempt == 1 and self._watcher.attempts[delivery.execution_id, 1] == 1

    def begin(self, slot: int, delivery: Delivery) -> None:
        self._gate.attempt("targets.begin", lambda: self._begin(slot, delivery), delivery)

    def collect(self) -> Sequence[tuple[int, Outcome]]:
        if not self._under_way:
            return ()
        first = min(end_at for end_at, _ in self._under_way.values())
        while self._clock.now() < first:
            self._actor.pause(first - self._clock.now())
        return self._gate.attempt("targets.collect", self._collect)

    def _collect(self) -> Sequence[tuple[int, Outcome]]:
        now = self._clock.now()
        ended = [slot for slot, (end_at, _) in self._under_way.items() if end_at <= now]
        return [(slot, self._under_way.pop(slot)[1]) for slot in ended]

    def _begin(self, slot: int, delivery: Delivery) -> None:
        now = self._clock.now()
        if (too_late := delivery.too_late(now)) is not None:
            self._under_way[slot] = now, too_late
            return
        if delivery.errand is not None:
            outcome = self._machines.do(delivery, delivery.errand, now)
            self._under_way[slot] = max(outcome.ended_at, now + self._adversary.rng.randrange(1, 300)), outcome
            return
        if self._adversary.strikes(Fault.NEVER_BEGUN, self._adversary.profile.targets / 5):
            self._under_way[slot] = now, Outcome(State.PENDING, now, now, error=NOTHING_FREE)
            return
        self._watcher.started(self._actor, delivery, now)
        if delivery.occurrence.payload.body.startswith(POISON):
            self._adversary.counts[Fault.POISON] += 1
            raise Killed
        answer = Answer(False, 50, State.FAILED, 500) if self._heals(delivery) else answer_of(self._adversary, delivery)
        patience = (
            delivery.occurrence.target.timeout_seconds if isinstance(delivery.occurrence.target, HttpTarget) else 5
        )
        end_at = max(now, min(now + answer.after_ms, now + int(patience * 1000), delivery.deadline_at))
        if delivery.occurrence.payload.body.startswith(STANDS_STILL) and delivery.attempt == 1:
            end_at = now + STANDS_STILL_MS
        self._watcher.under_way(self._actor, delivery, end_at - now)
        self._arrive(delivery, answer, end_at - now)
        error = None if answer.state is State.SUCCEEDED else f"{answer.state} with {answer.status_code}"
        self._under_way[slot] = (
            end_at,
            Outcome(
                answer.state,
                now,
                end_at,
                answer.permanent,
                answer.status_code,
                error,
                None if error is None else "an excerpt",
                answer.retry_after_seconds,
            ),
        )

    def _arrive(self, delivery: Delivery, answer: Answer, lasts_ms: int) -> None:
        """Lets the target do what it does with an attempt, whatever its answer says."""
        if delivery.ends_there:
            if answer.accepts:
                self._machines.begin(delivery)
            elif answer.state is State.FAILED:
                self._machines.refuse(delivery)
            return
        if delivery.token is not None:
            # It may set to work although its answer says something else.
            if answer.accepts or answer.state is State.TIMED_OUT:
                goes_wrong = self._adversary.profile.targets
                manners = (tuple(Manner) if goes_wrong else FAULTLESS) if self._adversary.is_active else SOON
                self._receivers.take(delivery, manners)
            return
        if answer.state is State.SUCCEEDED:
            self._watcher.succeeded(delivery)
        if answer.accepts:
            arrival = self._adversary.rng.randrange(0, max(1, lasts_ms))
            self._scheduler.after(arrival, lambda: self._watcher.accepted(delivery))
