"""SQS targets: one message to a queue, standard or FIFO."""

from __future__ import annotations

import re
from typing import Any

from clockwork.aws.messages import attributes_of, body_of, ordering_of
from clockwork.aws.roles import ServiceClients
from clockwork.aws.service_attempts import Service, Undeliverable, attempt, check_region
from clockwork.domain.executions import Outcome
from clockwork.domain.jobs import SqsTarget
from clockwork.domain.releases import Delivery
from clockwork.ports import Clock

_ARN = re.compile(r"arn:[a-z-]+:sqs:(?P<region>[a-z0-9-]+):(?P<account>[0-9]{12}):(?P<name>[A-Za-z0-9_-]+(?:\.fifo)?)")
_SQS = Service(
    name="SQS",
    does="send messages",
    takes="message",
    permanent=frozenset({"InvalidMessageContents", "InvalidParameterValue", "InvalidAttributeValue"}),
)


class SqsTransport:
    """Delivers to SqsTargets of Clockwork's own region. For many threads.

    How long a call takes at most is the client's configuration.
    """

    def __init__(self, clients: ServiceClients, clock: Clock) -> None:
        self._clients = clients
        self._clock = clock

    def deliver(self, delivery: Delivery) -> Outcome:
        """Make the attempt. Faults are outcomes."""
        target = delivery.occurrence.target
        if not isinstance(target, SqsTarget):
            raise TypeError(f"not an SQS target: {type(target).__name__}")
        return attempt(lambda: self._send(delivery, target), _SQS, target.queue_arn, self._clock)

    def _send(self, delivery: Delivery, target: SqsTarget) -> None:
        message: dict[str, Any] = {
            "MessageBody": body_of(delivery, "SQS"),
            "MessageAttributes": attributes_of(delivery),
        }
        if target.queue_arn.endswith(".fifo"):
            message |= ordering_of(target.message_group_id, delivery)
        client = self._clients.client("sqs", target.role_arn, delivery.occurrence.client_id)
        client.send_message(QueueUrl=url_of(target.queue_arn, client), **message)


def url_of(arn: str, client: Any) -> str:
    """A queue's URL is its endpoint, account and name, in every partition and on an emulator. Raises Undeliverable."""
    match = _ARN.fullmatch(arn)
    if match is None:
        raise Undeliverable(f"{arn} is not the ARN of a queue")
    check_region(arn, match["region"], client, "queues")
    return f"{client.meta.endpoint_url.rstrip('/')}/{match['account']}/{match['name']}"
