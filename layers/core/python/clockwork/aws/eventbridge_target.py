"""EventBridge targets: one event on a bus. Success is that the bus has it, not that a rule matches it."""

from __future__ import annotations

import re

from clockwork.aws.roles import ServiceClients
from clockwork.aws.service_attempts import Refused, Service, Undeliverable, attempt, check_region
from clockwork.domain.envelopes import envelope_of
from clockwork.domain.executions import Outcome
from clockwork.domain.jobs import EventBridgeTarget
from clockwork.domain.releases import Delivery
from clockwork.ports import Clock

_ARN = re.compile(r"arn:[a-z-]+:events:(?P<region>[a-z0-9-]+):[0-9]{12}:event-bus/[A-Za-z0-9._/-]+")
_EVENTBRIDGE = Service(
    name="EventBridge",
    does="put events",
    takes="event",
    permanent=frozenset({"InvalidArgument", "MalformedDetail", "ValidationException", "ValidationError"}),
)


class EventBridgeTransport:
    """Delivers to EventBridgeTargets: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html

    An entry that the bus did not take is a failure, although the call as a whole succeeds. For many threads.
    """

    def __init__(self, clients: ServiceClients, clock: Clock) -> None:
        self._clients = clients
        self._clock = clock

    def deliver(self, delivery: Delivery) -> Outcome:
        """Make the attempt. Faults are outcomes."""
        target = delivery.occurrence.target
        if not isinstance(target, EventBridgeTarget):
            raise TypeError(f"not an EventBridge target: {type(target).__name__}")
        return attempt(lambda: self._put(delivery, target), _EVENTBRIDGE, target.bus_arn, self._clock)

    def _put(self, delivery: Delivery, target: EventBridgeTarget) -> None:
        match = _ARN.fullmatch(target.bus_arn)
        if match is None:
            raise Undeliverable(f"{target.bus_arn} is not the ARN of an event bus")
        client = self._clients.client("events", target.role_arn, delivery.occurrence.client_id)
        check_region(target.bus_arn, match["region"], client, "event buses")
        event = {
            "EventBusName": target.bus_arn,
            "Source": target.source,
            "DetailType": target.detail_type,
            "Detail": envelope_of(delivery).decode(),
        }
        answer = client.put_events(Entries=[event])
        if answer["FailedEntryCount"]:
            entry = answer["Entries"][0]
            raise Refused(entry.get("ErrorCode", ""), entry.get("ErrorMessage", ""))
