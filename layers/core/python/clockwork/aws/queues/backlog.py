"""The backlog of the release queues: how many messages wait in them, by SQS's own count."""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.aws.errors import ask, told
from clockwork.aws.session import Aws

_COUNTS = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]


class AwsBacklog:
    """`ports.Backlog` over standard queues.

    SQS's counts are approximate, and become consistent within a minute
    (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueAttributes.html).
    """

    def __init__(self, aws: Aws, queue_urls: Sequence[str]) -> None:
        self._sqs = aws.plane("sqs")
        self._urls = queue_urls

    def waiting(self) -> int:
        return max(self._waiting_in(url) for url in self._urls)

    def _waiting_in(self, url: str) -> int:
        answer = ask(self._sqs.call, "GetQueueAttributes", QueueUrl=url, AttributeNames=_COUNTS)
        return sum(int(told(told(answer, "Attributes"), count)) for count in _COUNTS)
