"""State machines and tasks: they run on after their deliverer's answer, and tell their end by events, or whoever asks.

A state machine takes a name once. A cluster takes a client token once, also if it had no room, and forgets a task an
hour after it has stopped. An execution ends well, badly, at once or never. Its event comes once, twice, late or never.
It is asked in vain, and stopped late. AWS's part is played here; whether Clockwork goes by it is judged here, too.
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
from clockwork.targets.ecs import EcsTarget
from clockwork.targets.message import Errand
from clockwork.targets.service import ServiceTarget
from clockwork.targets.step_functions import StepFunctionsTarget
from tests.simulation.faults import Adversary, Fault
from tests.simulation.scheduler import Actor, Scheduler
from tests.simulation.watcher import Watcher

MACHINE = StepFunctionsTarget("arn:aws:states:us-east-1:123456789012:stateMachine:jobs")
TASK = EcsTarget(
    "arn:aws:ecs:us-east-1:123456789012:task-definition/jobs", "arn:aws:ecs:us-east-1:123456789012:cluster/jobs", "app"
)
#: The targets that tell their ends, and their ARNs.
TELL_ENDS: tuple[StepFunctionsTarget | EcsTarget, ...] = MACHINE, TASK
ARNS = (MACHINE.state_machine_arn, TASK.task_definition_arn, TASK.cluster_arn)
#: A cluster forgets a task so long (ms) after it has stopped.
FORGOTTEN_MS = 3_600_000
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
    """An execution of a state machine, by its ARN, or a task, and the attempts that were waiting for it."""

    name: str
    attempts: list[Delivery]
    state: State = State.RUNNING
    ended_at: int = 0


class Machines:
    """All executions of state machines of a run. `invoke` starts a reader of events."""

    def __init__(self, scheduler: Scheduler, adversary: Adversary, watcher: Watcher, invoke: Invoke) -> None:
        self._scheduler = scheduler
        self._adversary = adversary
        self._watcher = watcher
        self._invoke = invoke
        #: By the ARN of an execution, or the client token of a task.
        self._begun: dict[str, Begun] = {}
        self._refused: set[str] = set()
        watcher.has_ended = self._has_ended
        watcher.has_succeeded = self._has_succeeded
        watcher.begins_nothing = self._begins_nothing

    def begin(self, delivery: Delivery) -> None:
        """Begins the execution of an attempt, unless there is one of its name, or of one of its tokens."""
        keys, name = _keys(delivery), _name(delivery)
        if (known := next((self._begun[key] for key in keys if key in self._begun), None)) is not None:
            # The attempt goes on with what an earlier one began that had no answer.
            known.attempts.append(delivery)
            if known.state is State.SUCCEEDED:
                self._watcher.succeeded(delivery)
            return
        self._check_alone(delivery)
        fresh = [key for key in keys if key not in self._refused]
        self._watcher.require(bool(fresh), "L1", "each token of an attempt has been refused for good", delivery.job_id)
        begun = self._begun[fresh[0]] = Begun(name, [delivery])
        self._watcher.accepted(delivery)
        rng, payload = random.Random(name), delivery.occurrence.payload.body
        breaks = payload.startswith(BREAKS) and delivery.begun == 0
        goes_wrong = self._adversary.profile.targets > 0 and self._adversary.is_active
        if payload.startswith(ENDLESS) or (goes_wrong and rng.random() < 0.1):
            self._adversary.counts[Fault.NEVER_ENDS] += 1
            return
        fails = breaks or (goes_wrong and rng.random() < 0.2)
        # Many end before the deliverer has its answer.
        after_ms = rng.choice((rng.randrange(1, 300), rng.randrange(300, 50_000)))
        self._scheduler.after(after_ms, lambda: self._end(begun, State.FAILED if fails else State.SUCCEEDED))

    def _begins_nothing(self, delivery: Delivery) -> bool:
        """Whether an attempt goes on with what an earlier one began."""
        return delivery.ends_there and any(key in self._begun for key in _keys(delivery))

    def refuse(self, delivery: Delivery) -> None:
        """Has no room for the task of an attempt: its last token was new, and is used up."""
        self._refused.update(key for key in _keys(delivery)[-1:] if isinstance(delivery.occurrence.target, EcsTarget))

    def do(self, delivery: Delivery, errand: Errand, now: int) -> Outcome:
        """The word of the service; it may give none, and stop what it is to stop later, or not at all."""
        known = [one for one in self._begun.values() if one.name == _name(delivery) and not self._is_forgotten(one)]
        begun = min(known, key=lambda one: one.state is not State.RUNNING, default=None)
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
        begun.state, begun.ended_at = state, self._scheduler.now
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

    def _is_forgotten(self, begun: Begun) -> bool:
        is_task = isinstance(begun.attempts[0].occurrence.target, EcsTarget)
        return is_task and begun.ended_at > 0 and self._scheduler.now > begun.ended_at + FORGOTTEN_MS

    def _check_alone(self, delivery: Delivery) -> None:
        """Requires that no earlier execution of the same job runs, unless its service was silent for too long."""
        earlier = [one for one in self._begun.values() if one.attempts[0].execution_id == delivery.execution_id]
        running = [one for one in earlier if one.state is State.RUNNING]
        record = self._watcher.executions.find(delivery.job_id, delivery.execution_id)
        given_up = sum("did not say" in (one.error or "") for one in (record.attempts if record else ()))
        told = f"{len(running)} executions run beside another one"
        self._watcher.require(len(running) <= given_up, "E1", told, delivery.job_id)

    def _named(self, running: Execution) -> list[Begun]:
        """The executions that have the name of the attempt of a record."""
        occurrence = running.kept.occurrence
        if occurrence is None:
            return []
        return [one for one in self._begun.values() if _names(occurrence.target, one.name, running)]

    def _has_succeeded(self, running: Execution) -> bool:
        """Whether that has succeeded whose name the attempt of a record has. An earlier attempt may have begun it."""
        return any(one.state is State.SUCCEEDED for one in self._named(running))

    def _has_ended(self, running: Execution) -> bool:
        """Whether that has ended which the attempt of a record began, or its service was given up."""
        occurrence = running.kept.occurrence
        if not is_asked(running) or occurrence is None or running.awaited is None:
            return False
        named = self._named(running)
        is_over = [one for one in named if one.state is not State.RUNNING]
        since = min(running.cancel_noted_at or running.awaited.deadline_at, running.awaited.deadline_at)
        return bool(is_over) or not named or self._scheduler.now >= since + GIVE_UP_MS - 2 * 1_500


def _names(target: object, name: str, running: Execution) -> bool:
    return isinstance(target, ServiceTarget) and target.began(name, running.execution_id, running.budget.begun)


def _target(delivery: Delivery) -> StepFunctionsTarget | EcsTarget:
    target = delivery.occurrence.target
    assert isinstance(target, StepFunctionsTarget | EcsTarget), "nothing else tells its end here"
    return target


def _keys(delivery: Delivery) -> list[str]:
    """The keys under which the service knows what an attempt begins."""
    return list(_target(delivery).entry(delivery.message).get("tokens", [_name(delivery)]))


def _name(delivery: Delivery) -> str:
    target = _target(delivery)
    entry = target.entry(delivery.message)
    if isinstance(target, EcsTarget):
        return f"{target.cluster_arn} {target.task_definition_arn} {entry['startedBy']}"
    return f"{target.state_machine_arn.replace(':stateMachine:', ':execution:')}:{entry['name']}"


def _event(begun: Begun) -> str:
    """The event of an end. That of a large input has none, which is told apart by the name's last letter."""
    first = begun.attempts[0]
    target, is_short = _target(first), begun.name[-1] not in "aeiou"
    if isinstance(target, EcsTarget):
        return _event_of_task(begun, target, target.entry(first.message)["overrides"] if is_short else {})
    given = json.dumps(first.message.facts)
    status = {State.SUCCEEDED: "SUCCEEDED", State.FAILED: "FAILED"}.get(begun.state, "ABORTED")
    detail = {"executionArn": begun.name, "status": status, "input": given if is_short else None}
    detail |= {"output": "7"} if status == "SUCCEEDED" else {"error": "Broke", "cause": "as it was told"}
    return json.dumps(
        {"source": "aws.states", "detail-type": "Step Functions Execution Status Change", "detail": detail}
    )


def _event_of_task(begun: Begun, target: EcsTarget, overrides: dict[str, object]) -> str:
    detail = {
        "taskArn": "arn:aws:ecs:us-east-1:123456789012:task/jobs/1",
        "clusterArn": target.cluster_arn,
        "taskDefinitionArn": f"{target.task_definition_arn}:7",
        "startedBy": begun.name.rpartition(" ")[2],
        "overrides": overrides,
        "lastStatus": "STOPPED",
        "stopCode": "UserInitiated" if begun.state is State.CANCELLED else "EssentialContainerExited",
        "containers": [{"name": target.container, "exitCode": int(begun.state is State.FAILED)}],
    }
    return json.dumps({"source": "aws.ecs", "detail-type": "ECS Task State Change", "detail": detail})
