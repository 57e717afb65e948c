"""Step Functions targets: an execution of a state machine for each execution of a job.

An attempt succeeds once the state machine's execution has begun, or, with the completion `end`, once that has. The name
of that execution derives from ours, so a repeat of an attempt starts no second one: a STANDARD state machine takes a
name once in 90 days. With the completion `end` the name has a number behind each one that has ended. An EXPRESS state
machine takes a name again, starts at least once, and tells no end.
https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from clockwork.domain.ids import derive
from clockwork.targets.message import Message, Told, cut, kept_result
from clockwork.targets.service import EndEvents, Entry, Envelope, RoleArn, Service, ServiceTarget, Taken, Undeliverable

STEP_FUNCTIONS = Service(
    name="Step Functions",
    client="stepfunctions",
    other_name="states",
    arn_field="state_machine_arn",
    resource="stateMachine:[A-Za-z0-9_-]+(:[A-Za-z0-9_-]+)?",
    a_thing="a state machine",
    things="state machines",
    action="states:StartExecution",
    permanent=frozenset({"InvalidExecutionInput", "InvalidName", "ValidationException"}),
    takes="input",
    of_ends={
        "{arn}": ("states:DescribeStateMachine",),
        "{head}:execution:{name}:clockwork-*": ("states:DescribeExecution", "states:StopExecution"),
    },
)
#: The beginning of the name of every execution that Clockwork starts.
NAMES = "clockwork-"
#: In bytes: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
LARGEST_INPUT = 256 * 1024
_FAILED = ("FAILED", "TIMED_OUT", "ABORTED")


class StepFunctionsTarget(ServiceTarget, frozen=True, tag="stepFunctions"):
    """A Step Functions state machine that the client's allowedTargetArns list, or a version or an alias of it."""

    state_machine_arn: Annotated[str, STEP_FUNCTIONS.asked(max_length=300)]
    role_arn: RoleArn = None
    envelope: Envelope = None

    shown_as: ClassVar[str] = "A Step Functions state machine."
    service: ClassVar[Service] = STEP_FUNCTIONS
    tells_end: ClassVar[bool] = True
    end_events: ClassVar[EndEvents | None] = EndEvents(
        "aws.states",
        "Step Functions Execution Status Change",
        "stateMachineArn",
        "stateMachine:",
        {"status": ["SUCCEEDED", *_FAILED], "name": [{"prefix": NAMES}]},
    )

    def entry(self, message: Message) -> Entry:
        """The parameters of StartExecution. Raises Undeliverable for an input that is too large, as a node's may be."""
        # A receiver that reports has the token of its attempt in its input: each attempt begins one of its own.
        number = message.begun if message.token is None else message.attempt - 1
        name = _name_of(message.execution_id, number)
        given = self.body_of(message)
        if len(given) > LARGEST_INPUT:
            raise Undeliverable(f"the input has {len(given):,} bytes, Step Functions takes {LARGEST_INPUT:,}")
        return {"stateMachineArn": self.state_machine_arn, "name": name, "input": given.decode()}

    def send(self, client: Any, entries: Sequence[Entry]) -> Taken:
        """Start one execution. If an earlier attempt has started it, the service has taken it."""
        try:
            client.start_execution(**entries[0])
        except client.exceptions.ExecutionAlreadyExists:
            return {0: None}
        return {0: None}

    def check_end(self, client: Any) -> None:
        """Refuse an EXPRESS state machine, whose executions DescribeExecution and events do not know."""
        if client.describe_state_machine(stateMachineArn=self.state_machine_arn).get("type") == "EXPRESS":
            fix = "leave out the completion, or make the state machine anew as STANDARD"
            raise Undeliverable(f"{self.arn} is EXPRESS, and AWS does not say when its executions end: {fix}")

    def began(self, name: str, execution_id: str, begun: int) -> bool:
        """Whether it is the ARN of the execution with the derived name."""
        return name == self._execution_arn(execution_id, begun)

    def ask(self, client: Any, message: Message) -> Told:
        """Describe the execution."""
        arn = self._execution_arn(message.execution_id, message.begun)
        try:
            return _told(client.describe_execution(executionArn=arn))
        except client.exceptions.ExecutionDoesNotExist:
            return Told(arn, "unknown", error=f"{arn} does not exist")

    def stop(self, client: Any, message: Message) -> None:
        """Stop the execution. Step Functions takes that of one that has ended, and changes nothing."""
        arn = self._execution_arn(message.execution_id, message.begun)
        why = "its job was cancelled, or its timeoutSeconds are over"
        client.stop_execution(executionArn=arn, error="Clockwork.Stopped", cause=why)

    @classmethod
    def told_by(cls, detail: Mapping[str, Any]) -> Told | None:
        """The word of an Execution Status Change. An event of a large input does not have it, and names nothing.

        https://docs.aws.amazon.com/step-functions/latest/dg/eventbridge-integration.html
        """
        given = detail.get("input")
        facts = json.loads(given) if isinstance(given, str) else None
        execution_id = facts.get("executionId") if isinstance(facts, dict) else None
        return _told(detail, execution_id) if isinstance(execution_id, str) else None

    def _execution_arn(self, execution_id: str, begun: int) -> str:
        """The ARN of the execution, which names neither version nor alias.

        https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsstepfunctions.html
        """
        parts = self.state_machine_arn.split(":")
        return ":".join([*parts[:5], "execution", parts[6], _name_of(execution_id, begun)])


def _name_of(execution_id: str, begun: int) -> str:
    name = f"{NAMES}{derive('state-machine', execution_id)}"
    return f"{name}-{begun}" if begun else name


def _told(said: Mapping[str, Any], execution_id: str = "") -> Told:
    """The word of an answer of DescribeExecution, or of an event's detail, which have the same fields."""
    arn, status = str(said["executionArn"]), said["status"]
    if status == "SUCCEEDED":
        result, why_not = kept_result(said.get("output"))
        return Told(arn, "succeeded", result, why_not, execution_id)
    if status not in _FAILED:
        return Told(arn, "running", execution_id=execution_id)
    words = ": ".join(filter(None, (f"{arn} {status}", said.get("error"), said.get("cause"))))
    return Told(arn, "failed", None, cut(words), execution_id)
