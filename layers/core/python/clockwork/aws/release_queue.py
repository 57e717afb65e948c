"""The release queue on SQS."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from clockwork.aws.errors import ask
from clockwork.aws.session import Aws
from clockwork.domain.codec import encode_release
from clockwork.domain.errors import Unavailable
from clockwork.domain.releases import Release, delay_seconds
from clockwork.ports import Refused

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient
    from mypy_boto3_sqs.type_defs import SendMessageBatchRequestEntryTypeDef

#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
MESSAGES_PER_BATCH = 10
LARGEST_BATCH = 1_048_576
SEND_ROUNDS = 4


@dataclass(frozen=True)
class _Message:
    index: int
    release: Release
    body: str


class AwsReleaseQueue:
    """`ports.ReleaseQueue` on a standard queue.

    `fair`: a message's group is its client, and SQS keeps one client from starving the others, for 0.10 USD per million
    requests (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html).
    """

    def __init__(
        self,
        aws: Aws,
        queue_url: str,
        *,
        fair: bool = False,
        elapsed_seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fair = fair
        self._url = queue_url
        self._elapsed_seconds = elapsed_seconds
        self._sqs: SQSClient = aws.client("sqs", attempts=1)  # the rounds below are the only repeats
        self._parallel = aws.parallel
        self._backoff = aws.backoff

    def send(self, releases: Sequence[Release], now: int) -> Sequence[Refused]:
        messages = [_Message(index, release, encode_release(release)) for index, release in enumerate(releases)]
        refused = [_too_large(message) for message in messages if len(message.body) > LARGEST_BATCH]
        batches = _batches([message for message in messages if len(message.body) <= LARGEST_BATCH])
        started_at = now - self._elapsed_ms()
        for reports in self._parallel.map(partial(self._send_batch, started_at), batches):
            refused += reports
        return sorted(refused, key=lambda report: report.index)

    def _send_batch(self, started_at: int, batch: Sequence[_Message]) -> list[Refused]:
        """Sent again until taken: the queue is at-least-once anyway. `started_at` + elapsed time is now."""
        refused: list[Refused] = []
        waiting, reason = list(batch), ""
        for _ in self._backoff.rounds(SEND_ROUNDS):
            try:
                failed = self._send_once(waiting, started_at + self._elapsed_ms())
            except Unavailable as error:
                reason = str(error)
                continue
            refused += [Refused(index, True, _reason(entry)) for index, entry in failed.items() if entry["SenderFault"]]
            again = {index: _reason(entry) for index, entry in failed.items() if not entry["SenderFault"]}
            waiting = [message for message in waiting if message.index in again]
            if not waiting:
                return refused
            reason = again[waiting[0].index]
        return refused + [Refused(message.index, False, reason) for message in waiting]

    def _send_once(self, messages: Sequence[_Message], now: int) -> dict[int, Any]:
        """The entries that were not taken, by index."""
        answer = ask(
            self._sqs.send_message_batch,
            QueueUrl=self._url,
            Entries=[self._entry(message, now) for message in messages],
        )
        return {int(entry["Id"]): entry for entry in answer.get("Failed", ())}

    def _entry(self, message: _Message, now: int) -> SendMessageBatchRequestEntryTypeDef:
        entry: SendMessageBatchRequestEntryTypeDef = {
            "Id": str(message.index),
            "MessageBody": message.body,
            "DelaySeconds": delay_seconds(message.release.run_at, now),
        }
        if self._fair:
            entry["MessageGroupId"] = message.release.occurrence.client_id
        return entry

    def _elapsed_ms(self) -> int:
        return int(self._elapsed_seconds() * 1000)


def _batches(messages: Sequence[_Message]) -> list[list[_Message]]:
    """In order, by count and by bytes."""
    batches: list[list[_Message]] = []
    room = 0
    for message in messages:
        if not batches or len(batches[-1]) == MESSAGES_PER_BATCH or len(message.body) > room:
            batches.append([])
            room = LARGEST_BATCH
        batches[-1].append(message)
        room -= len(message.body)
    return batches


def _too_large(message: _Message) -> Refused:
    return Refused(message.index, True, f"{len(message.body)} bytes are more than SQS takes ({LARGEST_BATCH})")


def _reason(entry: Any) -> str:
    return f"{entry.get('Code')}: {entry.get('Message', 'no message')}"
