"""The ordered release queue on SQS FIFO: the occurrences of one ordering key are one message group."""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.aws.errors import ask
from clockwork.aws.queues.release_queue import AwsReleaseQueue
from clockwork.aws.queues.sender import MESSAGES_PER_BATCH, Message
from clockwork.aws.repeats import batches
from clockwork.aws.session import Aws
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.messages.turns import send_in_turns
from clockwork.domain.ordering import dedup_of, group_of
from clockwork.domain.releases import Release
from clockwork.domain.storage.codec import encode_message
from clockwork.ports import Refused


class AwsOrderedQueue(AwsReleaseQueue):
    """`ports.ReleaseQueue` for ordered occurrences, on a FIFO queue of high throughput.

    A FIFO queue cannot delay a single message. An entry of a batch may fail and the next one succeed, so a call never
    holds two messages of one group
    (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html).
    """

    def send(self, releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
        send = super().send
        return send_in_turns(releases, lambda turn: send(turn, now, aligned))

    def message(self, number: int, indexes: tuple[int, ...], run_at: int, carried: Sequence[Release]) -> Message:  # noqa: ARG002 - no delays here
        """The message that carries this release: one alone, since it has an ordering key."""
        group, deduplication = group_of(carried[0].occurrence), dedup_of(carried[0])
        return Message(number, indexes, None, encode_message(carried), group, deduplication)


class AwsVisibility:
    """`ports.Visibility` on SQS: a receipt is a receipt handle."""

    def __init__(self, aws: Aws, queue_url: str) -> None:
        self._url = queue_url
        self._sqs = aws.plane("sqs")

    def hide(self, receipts: Sequence[str], seconds: int) -> None:
        """Hide messages, as many in a call as SQS takes.

        SQS may refuse to hide a message, for example if it came back meanwhile. Such a message is handed out again
        after the queue's own visibility timeout.
        """
        for batch in batches(receipts, MESSAGES_PER_BATCH):
            entries = [
                {"Id": str(index), "ReceiptHandle": receipt, "VisibilityTimeout": seconds}
                for index, receipt in enumerate(batch)
            ]
            ask(self._sqs.call, "ChangeMessageVisibilityBatch", QueueUrl=self._url, Entries=entries)
