"""Lambda targets: one asynchronous invocation for each attempt.

An attempt succeeds once Lambda has queued the event. The function's own result does not count.
https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from clockwork.targets.message import Message
from clockwork.targets.service import Entry, Envelope, RoleArn, Service, ServiceTarget, Taken

LAMBDA = Service(
    name="Lambda",
    client="lambda",
    arn_field="function_arn",
    resource=r"function:[A-Za-z0-9_-]+(:[A-Za-z0-9$_-]+)?",
    a_thing="a function",
    things="functions",
    action="lambda:InvokeFunction",
    permanent=frozenset({"InvalidRequestContentException", "RequestTooLargeException"}),
    takes="event",
)


class LambdaTarget(ServiceTarget, frozen=True, tag="lambda"):
    """A Lambda function that the client's allowedTargetArns list, invoked asynchronously."""

    function_arn: Annotated[str, LAMBDA.asked(max_length=300)]
    role_arn: RoleArn = None
    envelope: Envelope = None

    shown_as: ClassVar[str] = "A Lambda function."
    service: ClassVar[Service] = LAMBDA

    def entry(self, message: Message) -> Entry:
        """The parameters of Invoke."""
        return {"FunctionName": self.function_arn, "InvocationType": "Event", "Payload": self.body_of(message)}

    def send(self, client: Any, entries: Sequence[Entry]) -> Taken:
        """Invoke the function once."""
        client.invoke(**entries[0])
        return {0: None}
