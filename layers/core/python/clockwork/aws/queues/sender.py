"""Sending of many messages to one queue of SQS: in batches, several at once, again and again for a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clockwork.aws.errors import answer_of, is_of_entry, not_taken
from clockwork.aws.plane.plane import Outcome
from clockwork.aws.repeats import batches_within
from clockwork.aws.session import Aws
from clockwork.domain.errors import Unavailable
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.releases import delay_seconds
from clockwork.ports import Refused

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import SendMessageBatchRequestEntryTypeDef

#: The most messages of one call, and their bytes in all:
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
MESSAGES_PER_BATCH = 10
LARGEST_BATCH = 1_048_576
SEND_ROUNDS = 4
#: The attribute with the delay of a message (s), and its most bytes. A long message without room for the attribute has
#: none.
DELAY = "delay"
DELAY_BYTES = 16
MOST_WITH_DELAY = LARGEST_BATCH // 2


class Message(msgspec.Struct, frozen=True, gc=False):
    """One message of a queue.

    `indexes` are the places of its contents among all releases to send. `run_at`: the instant (ms) until which it is
    delayed; None in a queue that cannot delay one message. `group` and `deduplication` are SQS's ids.
    """

    number: int
    indexes: tuple[int, ...]
    run_at: int | None
    body: str
    group: str | None = None
    deduplication: str | None = None


class Sender:
    """Sends messages to one queue.

    `late_tolerance_ms`: a message may come so late that it is not held for nearly a second.
    """

    def __init__(
        self,
        aws: Aws,
        queue_url: str,
        *,
        late_tolerance_ms: int = 0,
        elapsed_seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = queue_url
        self._late_tolerance_ms = late_tolerance_ms
        self._elapsed_seconds = elapsed_seconds
        self._sqs = aws.plane("sqs", attempts=1)  # `_send_all` repeats, and nothing else
        self._backoff = aws.backoff

    def post(self, messages: Sequence[Message], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
        """Send the messages, each delayed by its rest at `now` (ms). Returns the refused ones, by index.

        `aligned`: delays count from its instant, and delays of repeats from the clock. They end its margin earlier.
        """
        refused = [one for message in messages if len(message.body) > LARGEST_BATCH for one in _too_large(message)]
        sendable = [message for message in messages if len(message.body) <= LARGEST_BATCH]
        started_at = now - self._elapsed_ms()
        refused += self._send_all(started_at, _batches(sendable), aligned)
        return sorted(refused, key=lambda report: report.index)

    def _send_all(self, started_at: int, waiting: list[list[Message]], aligned: Aligned | None) -> list[Refused]:
        """Send batches until SQS has taken each message, for at most SEND_ROUNDS rounds; the releases that it refused.

        A repeat may send a message twice, which is allowed: the queue delivers at least once anyway.
        `started_at` plus the elapsed time is now (ms).
        """
        refused: list[Refused] = []
        reasons: dict[int, str] = {}
        for number in self._backoff.rounds(SEND_ROUNDS):
            requests = (self._request(batch, self._counted_from(started_at, number, aligned)) for batch in waiting)
            outcomes = self._sqs.call_all("SendMessageBatch", requests)
            left = []
            for batch, outcome in zip(waiting, outcomes, strict=True):
                failed = _failed(batch, outcome)
                for message in batch if failed else ():
                    if is_of_entry(failed.get(message.number, {})):
                        refused += _refused(message, True, _reason(failed.pop(message.number)))
                if failed:
                    left.append([message for message in batch if message.number in failed])
                    reasons |= {number: _reason(entry) for number, entry in failed.items()}
            waiting = left
            if not waiting:
                break
        return refused + [
            one for batch in waiting for message in batch for one in _refused(message, False, reasons[message.number])
        ]

    def _counted_from(self, started_at: int, number: int, aligned: Aligned | None) -> int:
        """The instant (ms) from which the delays of a request of this round count."""
        now = started_at + self._elapsed_ms()
        if aligned is None:
            return now - self._late_tolerance_ms
        return aligned.counted_from(aligned.at if number == 0 else now)

    def _request(self, batch: Sequence[Message], now: int) -> dict[str, Any]:
        return {"QueueUrl": self._url, "Entries": [self._entry(message, now) for message in batch]}

    @staticmethod
    def _entry(message: Message, now: int) -> SendMessageBatchRequestEntryTypeDef:
        entry: SendMessageBatchRequestEntryTypeDef = {"Id": str(message.number), "MessageBody": message.body}
        if message.run_at is not None:
            delay = entry["DelaySeconds"] = delay_seconds(message.run_at, now)
            if delay and len(message.body) <= MOST_WITH_DELAY:
                entry["MessageAttributes"] = {DELAY: {"DataType": "Number", "StringValue": str(delay)}}
        if message.group is not None:
            entry["MessageGroupId"] = message.group
        if message.deduplication is not None:
            entry["MessageDeduplicationId"] = message.deduplication
        return entry

    def _elapsed_ms(self) -> int:
        return int(self._elapsed_seconds() * 1000)


def _batches(messages: Sequence[Message]) -> list[list[Message]]:
    return batches_within(messages, MESSAGES_PER_BATCH, LARGEST_BATCH, _size)


def _size(message: Message) -> int:
    return len(message.body) + (DELAY_BYTES if len(message.body) <= MOST_WITH_DELAY else 0)


def _failed(batch: Sequence[Message], outcome: Outcome) -> dict[int, Mapping[str, Any]]:
    """SQS's reasons for the messages that it did not take, by number of the message.

    All messages if it gave no answer.
    """
    try:
        failed = not_taken(answer_of(outcome), (str(message.number) for message in batch))
    except Unavailable as error:
        return {message.number: {"Fault": str(error)} for message in batch}
    return {int(number): entry for number, entry in failed.items()}


def _refused(message: Message, permanent: bool, reason: str) -> list[Refused]:
    return [Refused(index, permanent, reason) for index in message.indexes]


def _too_large(message: Message) -> list[Refused]:
    return _refused(message, True, f"{len(message.body)} bytes are more than SQS takes ({LARGEST_BATCH})")


def _reason(entry: Mapping[str, Any]) -> str:
    if "Fault" in entry:
        return str(entry["Fault"])
    return f"{entry.get('Code')}: {entry.get('Message', 'no message')}"
