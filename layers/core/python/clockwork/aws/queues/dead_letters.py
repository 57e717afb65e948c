"""The dead-letter queue of a release queue, on SQS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clockwork.aws.errors import ask
from clockwork.aws.session import Aws
from clockwork.ports import DeadLetter

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

#: The most messages that SQS hands out in one call:
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html
AT_ONCE = 10


class AwsDeadLetters:
    """`ports.DeadLetters` on SQS."""

    def __init__(self, aws: Aws, queue_url: str) -> None:
        self._url = queue_url
        self._sqs: SQSClient = aws.client_later("sqs")

    def receive(self) -> Sequence[DeadLetter]:
        answer = ask(self._sqs.receive_message, QueueUrl=self._url, MaxNumberOfMessages=AT_ONCE)
        return [DeadLetter(m["ReceiptHandle"], m["Body"]) for m in answer.get("Messages", [])]

    def delete(self, receipt: str) -> None:
        ask(self._sqs.delete_message, QueueUrl=self._url, ReceiptHandle=receipt)
