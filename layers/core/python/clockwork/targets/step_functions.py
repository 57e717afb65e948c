"""Step Functions targets: an execution of a state machine for each execution of a job.

An attempt succeeds once the state machine's execution has begun. Its own end does not count. The name of that execution
derives from ours, so a repeat of an attempt starts no second one: a STANDARD state machine takes a name once in 90
days. An EXPRESS state machine takes it again, and starts at least once.
https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from clockwork.domain.ids import derive
from clockwork.targets.message import Message, envelope_of
from clockwork.targets.service import Entry, RoleArn, Service, ServiceTarget, Told

STEP_FUNCTIONS = Service(
    name="Step Functions",
    client="stepfunctions",
    other_name="states",
    arn_field="state_machine_arn",
    resource="stateMachine:[A-Za-z0-9_-]+(:[A-Za-z0-9_-]+)?",
    a_thing="a state machine",
    things="state machines",
    action="states:StartExecution",
    permanent=frozenset({"InvalidExecutionInput", "InvalidName"}),
    takes="input",
)


class StepFunctionsTarget(ServiceTarget, frozen=True, tag="stepFunctions"):
    """A Step Functions state machine that the client's allowedTargetArns list, or a version or an alias of it."""

    state_machine_arn: Annotated[str, STEP_FUNCTIONS.asked(max_length=300)]
    role_arn: RoleArn = None

    shown_as: ClassVar[str] = "A Step Functions state machine."
    service: ClassVar[Service] = STEP_FUNCTIONS

    def entry(self, message: Message) -> Entry:
        """The parameters of StartExecution."""
        name = f"clockwork-{derive('state-machine', message.execution_id)}"
        return {"stateMachineArn": self.state_machine_arn, "name": name, "input": envelope_of(message).decode()}

    def send(self, client: Any, entries: Sequence[Entry]) -> Told:
        """Start one execution. If an earlier attempt has started it, the service has taken it."""
        try:
            client.start_execution(**entries[0])
        except client.exceptions.ExecutionAlreadyExists:
            return {0: None}
        return {0: None}
