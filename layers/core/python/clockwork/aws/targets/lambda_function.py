"""Lambda targets: one asynchronous invocation for each attempt.

An attempt succeeds once Lambda has queued the event. The function's own result does not count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from clockwork.aws.targets.service_attempts import Faults, Service, ServiceTransport
from clockwork.domain.jobs import LambdaTarget
from clockwork.domain.releases import Delivery
from clockwork.domain.targets.envelopes import envelope_of


class LambdaTransport(ServiceTransport[LambdaTarget]):
    """Delivers to LambdaTargets, one in a call.

    https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
    """

    kind = LambdaTarget
    service = Service(
        name="Lambda",
        client="lambda",
        arn_field="function_arn",
        arn=re.compile(
            r"arn:[a-z-]+:lambda:(?P<region>[a-z0-9-]+):[0-9]{12}:function:[A-Za-z0-9_-]+(?::[A-Za-z0-9$_-]+)?"
        ),
        resource="a function",
        resources="functions",
        action="lambda:InvokeFunction",
        option="targetArns",
        takes="event",
        permanent=frozenset({"InvalidRequestContentException", "RequestTooLargeException"}),
    )

    def send(self, deliveries: Sequence[Delivery], target: LambdaTarget) -> Faults:
        (delivery,) = deliveries
        client = self.client_for(delivery)
        client.invoke(FunctionName=target.function_arn, InvocationType="Event", Payload=envelope_of(delivery))
        return {}
