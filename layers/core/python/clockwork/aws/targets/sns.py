"""SNS targets: one message for each attempt to a topic, standard or FIFO.

An attempt succeeds once the topic has the message.
"""

from __future__ import annotations

import re

from clockwork.aws.targets.messages import attributes_of, body_of, ordering_of
from clockwork.aws.targets.roles import ServiceClients
from clockwork.aws.targets.service_attempts import Service, Undeliverable, attempt, check_region
from clockwork.domain.executions import Outcome
from clockwork.domain.jobs import SnsTarget
from clockwork.domain.releases import Delivery
from clockwork.ports import Clock

_ARN = re.compile(r"arn:[a-z-]+:sns:(?P<region>[a-z0-9-]+):[0-9]{12}:[A-Za-z0-9_-]+(?P<fifo>\.fifo)?")
_SNS = Service(
    name="SNS",
    does="publish messages",
    takes="message",
    permanent=frozenset({"InvalidParameter", "InvalidParameterValue", "ParameterValueInvalid", "ValidationException"}),
)


class SnsTransport:
    """Delivers to SnsTargets of Clockwork's own region; safe for many threads.

    https://docs.aws.amazon.com/sns/latest/api/API_Publish.html
    """

    def __init__(self, clients: ServiceClients, clock: Clock) -> None:
        self._clients = clients
        self._clock = clock

    def deliver(self, delivery: Delivery) -> Outcome:
        """Make the attempt; a fault becomes its outcome."""
        target = delivery.occurrence.target
        if not isinstance(target, SnsTarget):
            raise TypeError(f"not an SNS target: {type(target).__name__}")
        return attempt(lambda: self._publish(delivery, target), _SNS, target.topic_arn, self._clock)

    def _publish(self, delivery: Delivery, target: SnsTarget) -> None:
        match = _ARN.fullmatch(target.topic_arn)
        if match is None:
            raise Undeliverable(f"{target.topic_arn} is not the ARN of a topic")
        message = {"Message": body_of(delivery, "SNS"), "MessageAttributes": attributes_of(delivery)}
        client = self._clients.client("sns", target.role_arn, delivery.occurrence.client_id)
        check_region(target.topic_arn, match["region"], client, "topics")
        ordering = ordering_of(target.message_group_id, delivery) if match["fifo"] else {}
        client.publish(TopicArn=target.topic_arn, **message, **ordering)
