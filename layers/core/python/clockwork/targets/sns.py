"""SNS targets: a message to a topic, standard or FIFO. An attempt succeeds once the topic has the message.

https://docs.aws.amazon.com/sns/latest/api/API_Publish.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from clockwork.targets.message import Message
from clockwork.targets.service import Entry, NoEnvelope, RoleArn, Service, Taken
from clockwork.targets.text import MessageGroup, TextTarget

SNS = Service(
    name="SNS",
    client="sns",
    arn_field="topic_arn",
    resource=r"[A-Za-z0-9_-]+(\.fifo)?",
    a_thing="a topic",
    things="topics",
    action="sns:Publish",
    permanent=frozenset({"InvalidParameter", "InvalidParameterValue", "ParameterValueInvalid", "ValidationException"}),
    uses_keys=True,
)


class SnsTarget(TextTarget, frozen=True, tag="sns"):
    """An SNS topic that the client's allowedTargetArns list."""

    topic_arn: Annotated[str, SNS.asked(max_length=400)]
    message_group_id: MessageGroup = None
    role_arn: RoleArn = None
    envelope: NoEnvelope = None

    shown_as: ClassVar[str] = "An SNS topic."
    service: ClassVar[Service] = SNS

    def entry(self, message: Message) -> Entry:
        """The parameters of Publish."""
        return {"TopicArn": self.topic_arn, "Message": self.text_of(message), **self.around(message)}

    def send(self, client: Any, entries: Sequence[Entry]) -> Taken:
        """Publish one message."""
        client.publish(**entries[0])
        return {0: None}
