"""SQS targets: messages to a queue, standard or FIFO, one by one or up to ten in a call."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any

from clockwork.aws.errors import not_taken
from clockwork.aws.targets.messages import attributes_of, body_of, ordering_of
from clockwork.aws.targets.service_attempts import (
    Faults,
    Refused,
    Service,
    ServiceTransport,
    Undeliverable,
    check_region,
    expected,
)
from clockwork.domain.jobs import SqsTarget
from clockwork.domain.releases import Delivery

_SQS = Service(
    name="SQS",
    client="sqs",
    arn_field="queue_arn",
    arn=re.compile(
        r"arn:[a-z-]+:sqs:(?P<region>[a-z0-9-]+):(?P<account>[0-9]{12}):(?P<name>[A-Za-z0-9_-]+(?:\.fifo)?)"
    ),
    resource="a queue",
    resources="queues",
    action="sqs:SendMessage",
    option="targetQueueArns",
    takes="message",
    permanent=frozenset({"InvalidMessageContents", "InvalidParameterValue", "InvalidAttributeValue"}),
)


class SqsTransport(ServiceTransport[SqsTarget]):
    """Delivers to SqsTargets, up to ten in a call."""

    kind = SqsTarget
    service = _SQS

    def fellows(self, delivery: Delivery) -> Hashable:
        """The key of attempts that may share one call: queue, role and client."""
        return self.target_of(delivery), delivery.occurrence.client_id

    def send(self, deliveries: Sequence[Delivery], target: SqsTarget) -> Faults:
        if len(deliveries) > 1:
            return self._send_batch(deliveries, target)
        message = _message(deliveries[0], target)
        client, url = self._queue_of(deliveries[0], target)
        client.send_message(QueueUrl=url, **message)
        return {}

    def _send_batch(self, deliveries: Sequence[Delivery], target: SqsTarget) -> Faults:
        faults: dict[int, Exception] = {}
        entries = []
        for number, delivery in enumerate(deliveries):
            try:
                entries.append({"Id": str(number), **_message(delivery, target)})
            except Undeliverable as fault:
                faults[number] = fault
        try:
            client, url = self._queue_of(deliveries[0], target)
            answer = client.send_message_batch(QueueUrl=url, Entries=entries) if entries else {}
        except expected() as fault:
            return dict.fromkeys(range(len(deliveries)), fault) | faults
        for id_, failed in not_taken(answer, (entry["Id"] for entry in entries)).items():
            faults[int(id_)] = Refused(failed["Code"], failed.get("Message", ""))
        return faults

    def _queue_of(self, delivery: Delivery, target: SqsTarget) -> tuple[Any, str]:
        """A client for the target's queue and the queue's URL."""
        client = self.client_in_time(delivery, target.role_arn)
        return client, url_of(target.queue_arn, client)


def _message(delivery: Delivery, target: SqsTarget) -> dict[str, Any]:
    message: dict[str, Any] = {
        "MessageBody": body_of(delivery, "SQS"),
        "MessageAttributes": attributes_of(delivery),
    }
    if target.queue_arn.endswith(".fifo"):
        message |= ordering_of(target.message_group_id, delivery)
    return message


def url_of(arn: str, client: Any) -> str:
    """The URL of a queue; raises Undeliverable if `arn` is not a queue's, or is of another region.

    A queue's URL is its endpoint, account and name, in every partition of AWS and on an emulator.
    """
    match = _SQS.arn.fullmatch(arn)
    if match is None:
        raise Undeliverable(f"{arn} is not the ARN of a queue")
    check_region(arn, match["region"], client, "queues")
    return f"{client.meta.endpoint_url.rstrip('/')}/{match['account']}/{match['name']}"
