"""SNS targets: one message for each attempt to a topic, standard or FIFO.

An attempt succeeds once the topic has the message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from clockwork.aws.targets.messages import attributes_of, body_of, ordering_of
from clockwork.aws.targets.service_attempts import Faults, Service, ServiceTransport
from clockwork.domain.jobs import SnsTarget
from clockwork.domain.releases import Delivery


class SnsTransport(ServiceTransport[SnsTarget]):
    """Delivers to SnsTargets, one in a call.

    https://docs.aws.amazon.com/sns/latest/api/API_Publish.html
    """

    kind = SnsTarget
    service = Service(
        name="SNS",
        client="sns",
        arn_field="topic_arn",
        arn=re.compile(r"arn:[a-z-]+:sns:(?P<region>[a-z0-9-]+):[0-9]{12}:[A-Za-z0-9_-]+(?:\.fifo)?"),
        resource="a topic",
        resources="topics",
        action="sns:Publish",
        option="targetArns",
        takes="message",
        permanent=frozenset(
            {"InvalidParameter", "InvalidParameterValue", "ParameterValueInvalid", "ValidationException"}
        ),
    )

    def send(self, deliveries: Sequence[Delivery], target: SnsTarget) -> Faults:
        (delivery,) = deliveries
        message = {"Message": body_of(delivery, "SNS"), "MessageAttributes": attributes_of(delivery)}
        is_fifo = target.topic_arn.endswith(".fifo")
        ordering = ordering_of(target.message_group_id, delivery) if is_fifo else {}
        self.client_for(delivery).publish(TopicArn=target.topic_arn, **message, **ordering)
        return {}
