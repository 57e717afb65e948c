"""The dead-letter queues of the release queues, on SQS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from clockwork.aws.errors import ask, told
from clockwork.aws.session import Aws
from clockwork.domain.errors import Unavailable
from clockwork.ports import DeadLetter

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

#: The most messages that SQS hands out in one call:
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html
AT_ONCE = 10
_HELD: Literal["ApproximateNumberOfMessages"] = "ApproximateNumberOfMessages"


class AwsDeadLetters:
    """`ports.DeadLetters` over several queues. A receipt begins with the index of its queue.

    `beside`: the URLs of dead-letter queues whose messages are only counted.
    """

    def __init__(self, aws: Aws, queue_urls: Sequence[str], *, beside: Sequence[str] = ()) -> None:
        self._urls = queue_urls
        self._beside = beside
        self._sqs: SQSClient = aws.client_later("sqs")

    def receive(self) -> Sequence[DeadLetter]:
        """Raises Unavailable for a queue that cannot be read only once the others have no letters to be had now."""
        letters: list[DeadLetter] = []
        fault: Unavailable | None = None
        for index, url in enumerate(self._urls):
            try:
                answer = ask(self._sqs.receive_message, QueueUrl=url, MaxNumberOfMessages=AT_ONCE)
            except Unavailable as error:
                fault = error
                continue
            letters += [
                DeadLetter(f"{index} {one['ReceiptHandle']}", one["Body"]) for one in answer.get("Messages", ())
            ]
        if fault is not None and not letters:
            raise fault
        return letters

    def delete(self, receipt: str) -> None:
        index, _, handle = receipt.partition(" ")
        ask(self._sqs.delete_message, QueueUrl=self._urls[int(index)], ReceiptHandle=handle)

    def beside(self) -> int:
        return sum(map(self._held_by, self._beside))

    def _held_by(self, url: str) -> int:
        answer = ask(self._sqs.get_queue_attributes, QueueUrl=url, AttributeNames=[_HELD])
        return int(told(told(answer, "Attributes"), _HELD))
