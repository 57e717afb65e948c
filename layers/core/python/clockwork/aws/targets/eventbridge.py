"""EventBridge targets: events on a bus, one by one or up to ten in a call.

Success is that the bus has the event, not that a rule matches it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from clockwork.aws.targets.roles import ServiceClients
from clockwork.aws.targets.service_attempts import NoRole, Refused, Service, Undeliverable, attempts, check_region
from clockwork.domain.executions import Outcome
from clockwork.domain.jobs import EventBridgeTarget
from clockwork.domain.releases import Delivery
from clockwork.domain.targets.envelopes import envelope_of
from clockwork.ports import Clock

#: Of the entries of a call (bytes); all must be less than 1 MB:
#: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
LARGEST_CALL = 999_999
_ARN = re.compile(r"arn:[a-z-]+:events:(?P<region>[a-z0-9-]+):[0-9]{12}:event-bus/[A-Za-z0-9._/-]+")
_EVENTBRIDGE = Service(
    name="EventBridge",
    does="put events",
    takes="event",
    permanent=frozenset({"InvalidArgument", "MalformedDetail", "ValidationException", "ValidationError"}),
)

Entry = dict[str, str]


class EventBridgeTransport:
    """Delivers to EventBridgeTargets of Clockwork's own region.

    An entry that the bus did not take is a failure, although the call as a whole succeeds. For many threads.
    """

    def __init__(self, clients: ServiceClients, clock: Clock) -> None:
        self._clients = clients
        self._clock = clock

    def deliver(self, delivery: Delivery) -> Outcome:
        """Make the attempt. Faults are outcomes."""
        return self.deliver_all([delivery])[0]

    def fellows(self, delivery: Delivery) -> Hashable:
        """What attempts have in common that may go in one call: bus, role and client."""
        target = _target_of(delivery)
        return target.bus_arn, target.role_arn, delivery.occurrence.client_id

    def deliver_all(self, deliveries: Sequence[Delivery]) -> Sequence[Outcome]:
        """Make attempts that are fellows, at most ten. Each has an outcome of its own."""
        bus_arn = _target_of(deliveries[0]).bus_arn
        put_all = partial(self._put_all, deliveries)
        return attempts(put_all, len(deliveries), _EVENTBRIDGE, bus_arn, self._clock)

    def _put_all(self, deliveries: Sequence[Delivery]) -> Mapping[int, Exception]:
        """What went wrong, by the number of the delivery."""
        try:
            client = self._client_for(deliveries[0])
        except (Undeliverable, NoRole, ClientError, BotoCoreError) as fault:
            return dict.fromkeys(range(len(deliveries)), fault)
        faults: dict[int, Exception] = {}
        for entries in _calls([_entry(delivery) for delivery in deliveries]):
            faults |= _put(client, entries)
        return faults

    def _client_for(self, delivery: Delivery) -> Any:
        target = _target_of(delivery)
        match = _ARN.fullmatch(target.bus_arn)
        if match is None:
            raise Undeliverable(f"{target.bus_arn} is not the ARN of an event bus")
        client = self._clients.client("events", target.role_arn, delivery.occurrence.client_id)
        check_region(target.bus_arn, match["region"], client, "event buses")
        return client


def _put(client: Any, entries: Mapping[int, Entry]) -> dict[int, Exception]:
    """Make one call; what went wrong, by the number of the entry."""
    try:
        answer = client.put_events(Entries=list(entries.values()))
    except ClientError as fault:
        if len(entries) > 1 and fault.response["Error"].get("Code") in _EVENTBRIDGE.permanent:
            # The call was refused for what one of them holds, and does not say which: the others must not end with it.
            return {n: told for number, entry in entries.items() for n, told in _put(client, {number: entry}).items()}
        return dict.fromkeys(entries, fault)
    except BotoCoreError as fault:
        return dict.fromkeys(entries, fault)
    told = zip(entries, answer["Entries"], strict=True)
    return {n: Refused(one["ErrorCode"], one.get("ErrorMessage", "")) for n, one in told if one.get("ErrorCode")}


def _calls(entries: Sequence[Entry]) -> Iterator[dict[int, Entry]]:
    """The entries by their numbers, in calls that are not too large."""
    call: dict[int, Entry] = {}
    left = LARGEST_CALL
    for number, entry in enumerate(entries):
        size = _size_of(entry)
        if call and size > left:
            yield call
            call, left = {}, LARGEST_CALL
        call[number] = entry
        left -= size
    yield call


def _size_of(entry: Entry) -> int:
    """https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html"""
    return sum(len(entry[name].encode()) for name in ("Source", "DetailType", "Detail"))


def _entry(delivery: Delivery) -> Entry:
    target = _target_of(delivery)
    return {
        "EventBusName": target.bus_arn,
        "Source": target.source,
        "DetailType": target.detail_type,
        "Detail": envelope_of(delivery).decode(),
    }


def _target_of(delivery: Delivery) -> EventBridgeTarget:
    target = delivery.occurrence.target
    if not isinstance(target, EventBridgeTarget):
        raise TypeError(f"not an EventBridge target: {type(target).__name__}")
    return target
