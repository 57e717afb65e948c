"""SQS targets: messages to a queue, standard or FIFO, one by one or up to ten in a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from clockwork.targets.message import Message
from clockwork.targets.service import Entry, NoEnvelope, Refused, RoleArn, Service, Taken
from clockwork.targets.target import Asked
from clockwork.targets.text import MessageGroup, TextTarget

SQS = Service(
    name="SQS",
    client="sqs",
    arn_field="queue_arn",
    resource=r"[A-Za-z0-9_-]+(\.fifo)?",
    a_thing="a queue",
    things="queues",
    action="sqs:SendMessage",
    permanent=frozenset({"InvalidMessageContents", "InvalidParameterValue", "InvalidAttributeValue"}),
    option="targetQueueArns",
    listed="allowed_queue_arns",
    uses_keys=True,
)


class SqsTarget(TextTarget, frozen=True, tag="sqs"):
    """An SQS queue that the client's allowedQueueArns list."""

    queue_arn: Annotated[str, Asked(listed=SQS.listed)]
    message_group_id: MessageGroup = None
    role_arn: RoleArn = None
    envelope: NoEnvelope = None

    shown_as: ClassVar[str] = "An SQS queue."
    service: ClassVar[Service] = SQS
    most_in_call: ClassVar[int] = 10
    largest: ClassVar[int | None] = None

    def entry(self, message: Message) -> Entry:
        """The parameters of SendMessage, but for the queue."""
        return {"MessageBody": self.text_of(message), **self.around(message)}

    def send(self, client: Any, entries: Sequence[Entry]) -> Taken:
        """Send the messages to the queue."""
        url = url_of(self.queue_arn, client)
        if len(entries) == 1:
            client.send_message(QueueUrl=url, **entries[0])
            return {0: None}
        numbered = [{"Id": str(number), **entry} for number, entry in enumerate(entries)]
        answer = client.send_message_batch(QueueUrl=url, Entries=numbered)
        told: dict[int, Refused | None] = {
            int(one["Id"]): Refused(one["Code"], one.get("Message", "")) for one in answer.get("Failed", ())
        }
        return told | dict.fromkeys((int(one["Id"]) for one in answer.get("Successful", ())), None)


def url_of(arn: str, client: Any) -> str:
    """The URL of a queue. Raises Undeliverable if `arn` is not a queue's, or is of another region.

    A queue's URL is its endpoint, account and name, in every partition of AWS and on an emulator.
    """
    SQS.check(arn, client)
    account, name = arn.split(":")[4:]
    return f"{client.meta.endpoint_url.rstrip('/')}/{account}/{name}"
