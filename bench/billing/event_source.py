"""Lambda's SQS event source in virtual time: messages in the seconds and batches in which their delays would end."""

from __future__ import annotations

import heapq
from typing import Any

from clockwork.aws.session import Aws
from clockwork.domain.storage.codec import decode_message

#: Of one Lambda invocation and of one receive.
BATCH = 10


class Batch:
    """Messages that are received at once, in the second in which the last became visible."""

    def __init__(self, second: int) -> None:
        self.second = second
        self.bodies: list[str] = []


class EventSource:
    """Stands for Lambda's SQS event source. A message is visible from the whole second before it is to run.

    Those of one second come by their instants, as they were sent: by anything random the units would be, too.
    """

    def __init__(self, aws: Aws, queue_url: str) -> None:
        self._sqs = aws.client("sqs")
        self._url = queue_url
        self._waiting: list[tuple[int, int, str]] = []

    def next_batch(self, until: int | None) -> Batch | None:
        """The next messages, at most ten; None if there are none.

        With `until` (ms) those that are visible at the same time before it, as an idle deployment sees them. Without,
        the next ten, all at the second of the last: as one sees them where many more jobs fall into each second.
        """
        self._fetch()
        if not self._waiting or (until is not None and self._waiting[0][0] * 1000 >= until):
            return None
        batch = Batch(self._waiting[0][0])
        while self._waiting and len(batch.bodies) < BATCH:
            if until is not None and self._waiting[0][0] != batch.second:
                break
            batch.second, _, body = heapq.heappop(self._waiting)
            batch.bodies.append(body)
        return batch

    def _fetch(self) -> None:
        """Take over all that was sent. These calls are not those that are billed: see `Meter.add_queue_batch`."""
        while messages := self._receive():
            entries = [{"Id": str(n), "ReceiptHandle": one["ReceiptHandle"]} for n, one in enumerate(messages)]
            self._sqs.delete_message_batch(QueueUrl=self._url, Entries=entries)
            for body in (message["Body"] for message in messages):
                visible_at = min(release.run_at for release in decode_message(body))
                heapq.heappush(self._waiting, (visible_at // 1000, visible_at, body))

    def _receive(self) -> list[Any]:
        answer = self._sqs.receive_message(QueueUrl=self._url, MaxNumberOfMessages=BATCH)
        return list(answer.get("Messages", []))
