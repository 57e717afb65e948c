"""State machines: they run on after their deliverer's answer, and tell their end by events, or whoever asks.

An execution ends well, badly, at once or never. Its event comes once, twice, late or never. It is asked in vain, and
stopped late. AWS's part is played here; whether Clockwork goes by it is judged here, too.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass

from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.lifecycle.awaiting import GIVE_UP_MS, is_asked
from clockwork.domain.policies import Completion
from clockwork.domain.releases import Delivery
from clockwork.flows.deliver.items import DeliverReport
from clockwork.flows.ends.events import take_ends
from clockwork.flows.world import World
from clockwork.targets.message import Errand
from clockwork.targets.step_functions import StepFunctionsTarget
from tests.simulation.faults import Adversary, Fault
from tests.simulation.scheduler import Actor, Scheduler
from tests.simulation.watcher import Watcher

MACHINE = StepFunctionsTarget("arn:aws:states:us-east-1:123456789012:stateMachine:jobs")
#: How long the executions of jobs may run (s): some longer than a queue's longest delay.
ENDS = (Completion("end", timeout_seconds=40), Completion("end", timeout_seconds=1_000))
#: The beginning of a payload whose execution never ends by itself.
ENDLESS = b"endless"
#: The beginning of a payload whose first execution fails.
BREAKS = b"breaks"
#: An event comes so late (ms) at the most, and is read again so long after a reader that failed.
LATEST_EVENT_MS, AGAIN_MS = 400_000, 30_000
#: Runs `work(world, deadline_at)` as an invocation of the deliverer.
Invoke = Callable[[str, Callable[[World, int], object], Callable[[Actor], None]], object]


@dataclass
class Begun:
    """An execution of a state machine, by its ARN, and the attempts that were waiting for it."""

    arn: str
    attempts: list[Delivery]
    state: State = State.RUNNING


class Machines:
    """All executions of state machines of a run. `invoke` starts a reader of events."""

    def __init__(self, scheduler: Scheduler, adversary: Adversary, watcher: Watcher, invoke: Invoke) -> None:
        self._scheduler = scheduler
        self._adversary = adversary
        self._watcher = watcher
        self._invoke = invoke
        self._begun: dict[str, Begun] = {}
        watcher.has_ended = self._has_ended

    def begin(self, delivery: Delivery) -> None:
        """Begins the execution of an attempt, unless there is one of its name."""
        arn = _arn(delivery)
        if (known := self._begun.get(arn)) is not None:
            # The attempt goes on with what an earlier one began that had no answer.
            known.attempts.append(delivery)
            if known.state is State.SUCCEEDED:
                self._watcher.succeeded(delivery)
            return
        self._check_alone(delivery)
        begun = self._begun[arn] = Begun(arn, [delivery])
        self._watcher.accepted(delivery)
        rng, payload = random.Random(arn), delivery.occurrence.payload.body
        breaks = payload.startswith(BREAKS) and delivery.begun == 0
        goes_wrong = self._adversary.profile.targets > 0 and self._adversary.is_active
        if payload.startswith(ENDLESS) or (goes_wrong and rng.random() < 0.1):
            self._adversary.counts[Fault.NEVER_ENDS] += 1
            return
        fails = breaks or (goes_wrong and rng.random() < 0.2)
        # Many end before the deliverer has its answer.
        after_ms = rng.choice((rng.randrange(1, 300), rng.randrange(300, 50_000)))
        self._scheduler.after(after_ms, lambda: self._end(begun, State.FAILED if fails else State.SUCCEEDED))

    def do(self, delivery: Delivery, errand: Errand, now: int) -> Outcome:
        """The word of the service; it may give none, and stop what it is to stop later, or not at all."""
        begun = self._begun.get(_arn(delivery))
        if self._adversary.strikes(Fault.SERVICE_SILENT, self._adversary.profile.targets):
            return Outcome(State.TIMED_OUT, now, now + 3_000, error="no answer in time")
        if begun is None:
            return Outcome(State.WORKER_LOST, now, now, error="it does not exist", told=True)
        if errand is Errand.STOP and begun.state is State.RUNNING:
            late = self._adversary.strikes(Fault.STOPPED_LATE, self._adversary.profile.targets)
            self._scheduler.after(20_000 if late else 100, lambda: self._end(begun, State.CANCELLED))
        state = State.FAILED if begun.state is State.CANCELLED else begun.state
        answer = b"7" if state is State.SUCCEEDED else None
        error = "ABORTED" if begun.state is State.CANCELLED else None
        return Outcome(state, now, now, error=error, answer=answer, told=True)

    def _end(self, begun: Begun, state: State) -> None:
        if begun.state is not State.RUNNING:
            return
        begun.state = state
        if state is State.SUCCEEDED:
            for delivery in begun.attempts:
                self._watcher.succeeded(delivery)
        rate = self._adversary.profile.targets
        if self._adversary.strikes(Fault.EVENT_LOST, rate * 2):
            return
        for _ in range(1 + self._adversary.strikes(Fault.EVENT_TWICE, rate)):
            is_late = self._adversary.strikes(Fault.EVENT_LATE, rate)
            after_ms = self._adversary.rng.randrange(1, LATEST_EVENT_MS if is_late else 2_000)
            self._scheduler.after(after_ms, lambda: self._tell(_event(begun)))

    def _tell(self, event: str) -> None:
        def work(world: World, _: int) -> DeliverReport:
            return take_ends(world, [("event", event)])

        def on_end(actor: Actor) -> None:
            if not isinstance(actor.result, DeliverReport) or actor.result.failed_messages:
                self._scheduler.after(AGAIN_MS, lambda: self._tell(event))

        self._invoke("deliverer of ends", work, on_end)

    def _check_alone(self, delivery: Delivery) -> None:
        """Requires that no earlier execution of the same job runs, unless its service was silent for too long."""
        earlier = [one for one in self._begun.values() if one.attempts[0].execution_id == delivery.execution_id]
        running = [one for one in earlier if one.state is State.RUNNING]
        record = self._watcher.executions.find(delivery.job_id, delivery.execution_id)
        given_up = sum("did not say" in (one.error or "") for one in (record.attempts if record else ()))
        told = f"{len(running)} executions run beside another one"
        self._watcher.require(len(running) <= given_up, "E1", told, delivery.job_id)

    def _has_ended(self, running: Execution) -> bool:
        """Whether that has ended which the attempt of a record began, or its service was given up."""
        occurrence = running.kept.occurrence
        if not is_asked(running) or occurrence is None or running.awaited is None:
            return False
        named = [one for arn, one in self._begun.items() if _names(occurrence.target, arn, running)]
        is_over = [one for one in named if one.state is not State.RUNNING]
        since = min(running.cancel_noted_at or running.awaited.deadline_at, running.awaited.deadline_at)
        return bool(is_over) or not named or self._scheduler.now >= since + GIVE_UP_MS - 2 * 1_500


def _names(target: object, arn: str, running: Execution) -> bool:
    return isinstance(target, StepFunctionsTarget) and target.began(arn, running.execution_id, running.budget.begun)


def _arn(delivery: Delivery) -> str:
    target = delivery.occurrence.target
    assert isinstance(target, StepFunctionsTarget), "nothing else tells its end here"
    name = target.entry(delivery.message)["name"]
    return f"{target.state_machine_arn.replace(':stateMachine:', ':execution:')}:{name}"


def _event(begun: Begun) -> str:
    """The event of an end. That of a large input has none, which is told apart by the name's last letter."""
    given = json.dumps(begun.attempts[0].message.facts)
    status = {State.SUCCEEDED: "SUCCEEDED", State.FAILED: "FAILED"}.get(begun.state, "ABORTED")
    detail = {"executionArn": begun.arn, "status": status, "input": None if begun.arn[-1] in "aeiou" else given}
    detail |= {"output": "7"} if status == "SUCCEEDED" else {"error": "Broke", "cause": "as it was told"}
    return json.dumps(
        {"source": "aws.states", "detail-type": "Step Functions Execution Status Change", "detail": detail}
    )
