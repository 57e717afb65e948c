"""The base of queues and topics of AWS: the payload is text, the facts are attributes, and some keep an order."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

import msgspec

from clockwork.domain.ids import derive
from clockwork.targets.message import Message, Payload, stray_of
from clockwork.targets.service import Entry, ServiceTarget, Undeliverable
from clockwork.targets.target import Asked, Earlier

#: The most characters of a message group's id:
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
LONGEST_GROUP_ID = 128


def _of_fifo(group: str, _: Any, earlier: Earlier) -> str:
    """The message group, if its queue or topic is FIFO, or has a fault of its own. Raises ValueError."""
    for name, kind in (("queue_arn", "queues"), ("topic_arn", "topics")):
        if (arn := earlier(name)) is not None and not arn.endswith(".fifo"):
            raise ValueError(f"is for FIFO {kind} alone")
    return group


#: On a FIFO queue or topic: the jobId unless given.
MessageGroup = Annotated[
    str | None, Asked(check=_of_fifo, min_length=1, max_length=LONGEST_GROUP_ID, pattern=r"^[\x21-\x7e]+\Z")
]


class TextTarget(ServiceTarget, frozen=True):
    """A queue or a topic, standard or FIFO, with `message_group_id: MessageGroup = None`."""

    is_enveloped: ClassVar[bool] = False

    @classmethod
    def fault_of_payload(cls, payload: Payload, asked: Any) -> str | None:
        """Why the payload is no text that the service takes."""
        if payload.body == b"" or stray_of(payload.body.decode()) is not None:
            return f"is empty or holds a control character, which {cls.service.name} refuses"
        return super().fault_of_payload(payload, asked)

    @property
    def group(self) -> str | None:
        """The message group that was asked for."""
        group: str | None = getattr(self, "message_group_id", None)
        return group

    def in_order(self, ordering_key: str) -> Self:
        """A FIFO queue or topic gets a message group of the ordering key."""
        if self.group is not None or not self.arn.endswith(".fifo"):
            return self
        # An ordering key may be longer than a message group, and may hold other characters.
        return msgspec.structs.replace(self, message_group_id=derive("group", ordering_key))

    def text_of(self, message: Message) -> str:
        """The payload as text. Raises Undeliverable if the service does not carry it."""
        text = message.payload.body.decode()
        if not text:
            raise Undeliverable(f"the payload is empty, which {self.service.name} does not accept")
        if (stray := stray_of(text)) is not None:
            where = f"U+{ord(stray[0]):04X} at character {stray.start() + 1:,}"
            raise Undeliverable(f"the payload holds {where}, which {self.service.name} does not accept")
        return text

    def around(self, message: Message) -> Entry:
        """The facts as attributes; for a FIFO queue or topic also the message group and the deduplication id.

        The group is the one asked for, or the job's id; an id derived from it stands for one that is too long. All
        attempts have one deduplication id: the service absorbs a repeat within five minutes. Attempts with tokens have
        one each, as the token of an earlier one counts no more.
        """
        kinds = {str: "String", int: "Number"}
        attributes = {
            name: {"DataType": kinds[type(fact)], "StringValue": str(fact)} for name, fact in message.facts.items()
        }
        if not self.arn.endswith(".fifo"):
            return {"MessageAttributes": attributes}
        told = (message.execution_id,) if message.token is None else (message.execution_id, message.attempt)
        group = self.group or message.job_id
        return {
            "MessageAttributes": attributes,
            "MessageGroupId": group if len(group) <= LONGEST_GROUP_ID else derive("message-group", group),
            "MessageDeduplicationId": derive("message", *told),
        }
