"""SQS targets: messages to a queue, standard or FIFO, one by one or up to ten in a call."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from clockwork.aws.targets.messages import attributes_of, body_of, ordering_of
from clockwork.aws.targets.roles import ServiceClients
from clockwork.aws.targets.service_attempts import (
    NoRole,
    Refused,
    Service,
    Undeliverable,
    attempt,
    attempts,
    check_region,
)
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
    """Delivers to SqsTargets of Clockwork's own region; safe for many threads.

    The configuration of the AWS client limits how long a call takes.
    """

    def __init__(self, clients: ServiceClients, clock: Clock) -> None:
        self._clients = clients
        self._clock = clock

    def deliver(self, delivery: Delivery) -> Outcome:
        """Make the attempt; a fault becomes its outcome."""
        target = delivery.occurrence.target
        if not isinstance(target, SqsTarget):
            raise TypeError(f"not an SQS target: {type(target).__name__}")
        return attempt(lambda: self._send(delivery, target), _SQS, target.queue_arn, self._clock)

    def fellows(self, delivery: Delivery) -> Hashable:
        """The key of attempts that may share one call: queue, role and client."""
        target = delivery.occurrence.target
        return (target, delivery.occurrence.client_id) if isinstance(target, SqsTarget) else delivery.execution_id

    def deliver_all(self, deliveries: Sequence[Delivery]) -> Sequence[Outcome]:
        """Make at most ten attempts that are fellows in one call; each has an outcome of its own."""
        target = deliveries[0].occurrence.target
        if len(deliveries) == 1 or not isinstance(target, SqsTarget):
            return [self.deliver(delivery) for delivery in deliveries]
        send_all = partial(self._send_all, deliveries, target)
        return attempts(send_all, len(deliveries), _SQS, target.queue_arn, self._clock)

    def _send(self, delivery: Delivery, target: SqsTarget) -> None:
        message = _message(delivery, target)
        client = self._clients.client("sqs", target.role_arn, delivery.occurrence.client_id)
        client.send_message(QueueUrl=url_of(target.queue_arn, client), **message)

    def _send_all(self, deliveries: Sequence[Delivery], target: SqsTarget) -> dict[int, Exception]:
        """Send the messages of all deliveries in one call; the faults, by the number of the delivery."""
        faults: dict[int, Exception] = {}
        entries = []
        for number, delivery in enumerate(deliveries):
            try:
                entries.append({"Id": str(number), **_message(delivery, target)})
            except Undeliverable as fault:
                faults[number] = fault
        try:
            client = self._clients.client("sqs", target.role_arn, deliveries[0].occurrence.client_id)
            url = url_of(target.queue_arn, client)
            answer = client.send_message_batch(QueueUrl=url, Entries=entries) if entries else {}
        except (Undeliverable, NoRole, ClientError, BotoCoreError) as fault:
            return dict.fromkeys(range(len(deliveries)), fault) | faults
        for failed in answer.get("Failed", ()):
            faults[int(failed["Id"])] = Refused(failed["Code"], failed.get("Message", ""))
        return faults


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
    match = _ARN.fullmatch(arn)
    if match is None:
        raise Undeliverable(f"{arn} is not the ARN of a queue")
    check_region(arn, match["region"], client, "queues")
    return f"{client.meta.endpoint_url.rstrip('/')}/{match['account']}/{match['name']}"
