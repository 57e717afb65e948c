"""EventBridge targets: events on a bus, one by one or up to ten in a call.

An attempt succeeds once the bus has taken the event, whether or not a rule matches it. If the bus does not take an
entry, its attempt fails, although the call as a whole succeeds. A call must be less than 1 MB:
https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from clockwork.targets.message import Message, Payload
from clockwork.targets.service import Entry, Envelope, Refused, RoleArn, Service, ServiceTarget, Taken, Undeliverable
from clockwork.targets.target import Asked, Earlier

EVENTBRIDGE = Service(
    name="EventBridge",
    client="events",
    arn_field="bus_arn",
    resource="event-bus/[A-Za-z0-9._/-]+",
    a_thing="an event bus",
    things="buses",
    action="events:PutEvents",
    permanent=frozenset({"InvalidArgument", "MalformedDetail", "ValidationException", "ValidationError"}),
    takes="event",
)
_NEEDS_OBJECT = "must be an object, as events have no other detail: put it into one, or leave envelope out"


def _is_object(payload: Payload) -> bool:
    return not payload.is_text and payload.body.startswith(b"{")


def _not_of_aws(source: str, _: Any, __: Earlier) -> str:
    if source.startswith("aws."):
        raise ValueError("must not begin with aws., which is for the events of AWS")
    return source


class EventBridgeTarget(ServiceTarget, frozen=True, tag="eventbridge"):
    """An EventBridge bus that the client's allowedTargetArns list."""

    bus_arn: Annotated[str, EVENTBRIDGE.asked(max_length=1_600)]
    source: Annotated[
        str,
        Asked(
            check=_not_of_aws,
            min_length=1,
            max_length=256,
            pattern=r"^[\x21-\x7e]+\Z",
            description="not beginning with aws.",
        ),
    ]
    detail_type: Annotated[str, Asked(min_length=1, max_length=128, pattern=r"^[\x20-\x7e]+\Z")]
    role_arn: RoleArn = None
    envelope: Envelope = None

    shown_as: ClassVar[str] = "An EventBridge bus."
    service: ClassVar[Service] = EVENTBRIDGE
    most_in_call: ClassVar[int] = 10

    @classmethod
    def fault_of_payload(cls, payload: Payload, asked: Any) -> str | None:
        """Why the payload is no detail, or does not fit into an envelope."""
        if asked.envelope is False and not _is_object(payload):
            return _NEEDS_OBJECT
        return super().fault_of_payload(payload, asked)

    def entry(self, message: Message) -> Entry:
        """An entry of PutEvents. Raises Undeliverable for a payload that cannot be a detail by itself."""
        if self.is_bare and not _is_object(message.payload):
            raise Undeliverable(f"the payload {_NEEDS_OBJECT}")
        return {
            "EventBusName": self.bus_arn,
            "Source": self.source,
            "DetailType": self.detail_type,
            "Detail": self.body_of(message).decode(),
        }

    @classmethod
    def bytes_of(cls, entry: Entry) -> int:
        """The bytes of an entry as EventBridge counts them.

        https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html
        """
        return sum(len(entry[name].encode()) for name in ("Source", "DetailType", "Detail"))

    def send(self, client: Any, entries: Sequence[Entry]) -> Taken:
        """Put the events on the bus."""
        told = client.put_events(Entries=entries).get("Entries", ())
        return {
            number: Refused(one["ErrorCode"], one.get("ErrorMessage", "")) if one.get("ErrorCode") else None
            for number, one in enumerate(told)
        }
