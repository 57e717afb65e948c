"""EventBridge targets: events on a bus, one by one or up to ten in a call.

An attempt succeeds once the bus has taken the event, whether or not a rule matches it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence

from clockwork.aws import botocore_errors
from clockwork.aws.repeats import batches_within
from clockwork.aws.targets.service_attempts import Faults, Refused, Service, ServiceTransport, expected
from clockwork.domain.jobs import EventBridgeTarget
from clockwork.domain.releases import Delivery
from clockwork.domain.targets.envelopes import envelope_of

#: The most bytes that the entries of a call may have together, which must be less than 1 MB:
#: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
LARGEST_CALL = 999_999
_PERMANENT = frozenset({"InvalidArgument", "MalformedDetail", "ValidationException", "ValidationError"})

Entry = dict[str, str]


class EventBridgeTransport(ServiceTransport[EventBridgeTarget]):
    """Delivers to EventBridgeTargets, up to ten in a call.

    If the bus does not take an entry, its attempt fails, although the call as a whole succeeds.
    """

    kind = EventBridgeTarget
    service = Service(
        name="EventBridge",
        client="events",
        arn_field="bus_arn",
        arn=re.compile(r"arn:[a-z-]+:events:(?P<region>[a-z0-9-]+):[0-9]{12}:event-bus/[A-Za-z0-9._/-]+"),
        resource="an event bus",
        resources="event buses",
        action="events:PutEvents",
        option="targetArns",
        takes="event",
        permanent=_PERMANENT,
    )

    def fellows(self, delivery: Delivery) -> Hashable:
        """The key of attempts that may share one call: bus, role and client."""
        target = self.target_of(delivery)
        return target.bus_arn, target.role_arn, delivery.occurrence.client_id

    def send(self, deliveries: Sequence[Delivery], target: EventBridgeTarget) -> Faults:  # noqa: ARG002 - each has its own
        faults: dict[int, Exception] = {}
        entries = [(number, _entry(delivery, self.target_of(delivery))) for number, delivery in enumerate(deliveries)]
        for call in batches_within(entries, len(entries), LARGEST_CALL, lambda numbered: _size_of(numbered[1])):
            faults |= self._put(deliveries[0], dict(call))
        return faults

    def _put(self, first: Delivery, entries: Mapping[int, Entry]) -> dict[int, Exception]:
        """Put entries in one call; the faults, by the number of the entry."""
        try:
            answer = self.client_for(first).put_events(Entries=list(entries.values()))
        except botocore_errors.ClientError as fault:
            if len(entries) > 1 and fault.response["Error"].get("Code") in _PERMANENT:
                # EventBridge refused the call for one of its entries and does not say which. Each is put again alone,
                # so that the others do not fail with it.
                alone = [self._put(first, {number: entry}) for number, entry in entries.items()]
                return {number: told for faults in alone for number, told in faults.items()}
            return dict.fromkeys(entries, fault)
        except expected() as fault:
            return dict.fromkeys(entries, fault)
        told = dict(zip(entries, answer.get("Entries", ()), strict=False))
        silent = Refused("NoAnswer", "it did not say whether it took it")
        faults: dict[int, Exception] = dict.fromkeys(entries.keys() - told.keys(), silent)
        refused = {number: one for number, one in told.items() if one.get("ErrorCode")}
        return faults | {n: Refused(one["ErrorCode"], one.get("ErrorMessage", "")) for n, one in refused.items()}


def _size_of(entry: Entry) -> int:
    """The bytes of an entry as EventBridge counts them.

    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html
    """
    return sum(len(entry[name].encode()) for name in ("Source", "DetailType", "Detail"))


def _entry(delivery: Delivery, target: EventBridgeTarget) -> Entry:
    return {
        "EventBusName": target.bus_arn,
        "Source": target.source,
        "DetailType": target.detail_type,
        "Detail": envelope_of(delivery).decode(),
    }
