"""Lambda's SQS event source in virtual time: it hands messages over in the seconds in which their delays would end."""

from __future__ import annotations

import heapq
from typing import Any

from clockwork.aws.session import Aws
from clockwork.domain.storage.codec import decode_message

#: The most messages of one Lambda invocation, and of one receive.
BATCH = 10


class Batch:
    """Messages that are received at once, in the second in which the last of them became visible."""

    def __init__(self, second: int) -> None:
        self.second = second
        self.bodies: list[str] = []


class EventSource:
    """Stands for Lambda's SQS event source. A message becomes visible at the whole second before its run instant.

    Messages of one second come in the order of their run instants, as they were sent: in a random order, the metered
    units would be random, too.
    """

    def __init__(self, aws: Aws, queue_url: str) -> None:
        self._sqs = aws.client("sqs")
        self._url = queue_url
        self._waiting: list[tuple[int, int, str]] = []

    def next_batch(self, until: int | None, most: int = BATCH) -> Batch | None:
        """The next messages, at most `most`; None if there are none.

        With `until` (ms), a batch has messages of one second before `until` only, as in an idle deployment. Without it,
        a batch has the next of them, all received in the second of the last: as in a deployment where many more jobs
        fall into each second.
        """
        self._fetch()
        if not self._waiting or (until is not None and self._waiting[0][0] * 1000 >= until):
            return None
        batch = Batch(self._waiting[0][0])
        while self._waiting and len(batch.bodies) < most:
            if until is not None and self._waiting[0][0] != batch.second:
                break
            batch.second, _, body = heapq.heappop(self._waiting)
            batch.bodies.append(body)
        return batch

    def _fetch(self) -> None:
        """Take over all messages that were sent. `Meter.add_queue_batch` counts the billed calls, not these calls."""
        while messages := self._receive():
            entries = [{"Id": str(n), "ReceiptHandle": one["ReceiptHandle"]} for n, one in enumerate(messages)]
            self._sqs.delete_message_batch(QueueUrl=self._url, Entries=entries)
            for body in (message["Body"] for message in messages):
                visible_at = min(release.run_at for release in decode_message(body))
                heapq.heappush(self._waiting, (visible_at // 1000, visible_at, body))

    def _receive(self) -> list[Any]:
        answer = self._sqs.receive_message(QueueUrl=self._url, MaxNumberOfMessages=BATCH)
        return list(answer.get("Messages", []))
