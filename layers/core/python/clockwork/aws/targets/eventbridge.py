"""EventBridge targets: events on a bus, one by one or up to ten in a call.

An attempt succeeds once the bus has taken the event, whether or not a rule matches it.
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

#: The most bytes that the entries of a call may have together, which must be less than 1 MB:
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
    """Delivers to EventBridgeTargets of Clockwork's own region; safe for many threads.

    If the bus does not take an entry, its attempt fails, although the call as a whole succeeds.
    """

    def __init__(self, clients: ServiceClients, clock: Clock) -> None:
        self._clients = clients
        self._clock = clock

    def deliver(self, delivery: Delivery) -> Outcome:
        """Make the attempt; a fault becomes its outcome."""
        return self.deliver_all([delivery])[0]

    def fellows(self, delivery: Delivery) -> Hashable:
        """The key of attempts that may share one call: bus, role and client."""
        target = _target_of(delivery)
        return target.bus_arn, target.role_arn, delivery.occurrence.client_id

    def deliver_all(self, deliveries: Sequence[Delivery]) -> Sequence[Outcome]:
        """Make at most ten attempts that are fellows; each has an outcome of its own."""
        bus_arn = _target_of(deliveries[0]).bus_arn
        put_all = partial(self._put_all, deliveries)
        return attempts(put_all, len(deliveries), _EVENTBRIDGE, bus_arn, self._clock)

    def _put_all(self, deliveries: Sequence[Delivery]) -> Mapping[int, Exception]:
        """Put the events of all deliveries; the faults, by the number of the delivery."""
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
    """Put entries in one call; the faults, by the number of the entry."""
    try:
        answer = client.put_events(Entries=list(entries.values()))
    except ClientError as fault:
        if len(entries) > 1 and fault.response["Error"].get("Code") in _EVENTBRIDGE.permanent:
            # EventBridge refused the call for one of its entries and does not say which. Each is put again alone, so
            # that the others do not fail with it.
            return {n: told for number, entry in entries.items() for n, told in _put(client, {number: entry}).items()}
        return dict.fromkeys(entries, fault)
    except BotoCoreError as fault:
        return dict.fromkeys(entries, fault)
    told = zip(entries, answer["Entries"], strict=True)
    return {n: Refused(one["ErrorCode"], one.get("ErrorMessage", "")) for n, one in told if one.get("ErrorCode")}


def _calls(entries: Sequence[Entry]) -> Iterator[dict[int, Entry]]:
    """The entries by their numbers, in calls of at most LARGEST_CALL bytes; a larger entry goes alone."""
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
    """The bytes of an entry as EventBridge counts them.

    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html
    """
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
