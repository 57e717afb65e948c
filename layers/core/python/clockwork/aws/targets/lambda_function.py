"""Lambda targets: one asynchronous invocation for each attempt.

An attempt succeeds once Lambda has queued the event, whatever the function makes of it.
"""

from __future__ import annotations

import re

from clockwork.aws.targets.roles import ServiceClients
from clockwork.aws.targets.service_attempts import Service, Undeliverable, attempt, check_region
from clockwork.domain.executions import Outcome
from clockwork.domain.jobs import LambdaTarget
from clockwork.domain.releases import Delivery
from clockwork.domain.targets.envelopes import envelope_of
from clockwork.ports import Clock

_ARN = re.compile(r"arn:[a-z-]+:lambda:(?P<region>[a-z0-9-]+):[0-9]{12}:function:[A-Za-z0-9_-]+(?::[A-Za-z0-9$_-]+)?")
_LAMBDA = Service(
    name="Lambda",
    does="invoke it",
    takes="event",
    permanent=frozenset({"InvalidRequestContentException", "RequestTooLargeException"}),
)


class LambdaTransport:
    """Delivers to LambdaTargets of Clockwork's own region; safe for many threads.

    https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
    """

    def __init__(self, clients: ServiceClients, clock: Clock) -> None:
        self._clients = clients
        self._clock = clock

    def deliver(self, delivery: Delivery) -> Outcome:
        """Make the attempt; a fault becomes its outcome."""
        target = delivery.occurrence.target
        if not isinstance(target, LambdaTarget):
            raise TypeError(f"not a Lambda target: {type(target).__name__}")
        return attempt(lambda: self._invoke(delivery, target), _LAMBDA, target.function_arn, self._clock)

    def _invoke(self, delivery: Delivery, target: LambdaTarget) -> None:
        match = _ARN.fullmatch(target.function_arn)
        if match is None:
            raise Undeliverable(f"{target.function_arn} is not the ARN of a function")
        client = self._clients.client("lambda", target.role_arn, delivery.occurrence.client_id)
        check_region(target.function_arn, match["region"], client, "functions")
        client.invoke(FunctionName=target.function_arn, InvocationType="Event", Payload=envelope_of(delivery))
