"""The queues of pools on SQS: two standard queues for each priority of each pool."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import msgspec

from clockwork.aws.errors import ask, told
from clockwork.aws.queues.sender import MESSAGES_PER_BATCH, Message, Sender
from clockwork.aws.repeats import batches
from clockwork.aws.session import Aws
from clockwork.domain.errors import Unavailable
from clockwork.domain.pools.pool import Tickets
from clockwork.ports import PoolMessage, Refused

#: The URL of each pool's queues, by the name of the queue.
Urls = Mapping[str, Mapping[str, str]]


_COUNTS = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed"]


class AwsPoolQueues:
    """`ports.PoolQueues` on standard queues with fair groups, one for each client."""

    def __init__(self, aws: Aws, urls: Urls, *, elapsed_seconds: Callable[[], float] = time.monotonic) -> None:
        self._aws = aws
        self._urls = urls
        self._elapsed_seconds = elapsed_seconds
        self._senders: dict[str, Sender] = {}

    def send(self, messages: Sequence[PoolMessage], now: int) -> Sequence[Refused]:
        refused: list[Refused] = []
        by_queue: dict[str, list[int]] = {}
        for index, message in enumerate(messages):
            url = self._url(message.pool, message.queue)
            if url is None:
                reason = f"the deployment has no queue of pool {message.pool} called {message.queue}"
                refused.append(Refused(index, True, reason))
            else:
                by_queue.setdefault(url, []).append(index)
        for url, indexes in by_queue.items():
            sent = [messages[index] for index in indexes]
            posted = [Message(number, (number,), m.run_at, m.body, m.client_id) for number, m in enumerate(sent)]
            answers = self._sender(url).post(posted, now)
            refused += [msgspec.structs.replace(one, index=indexes[one.index]) for one in answers]
        return sorted(refused, key=lambda one: one.index)

    def delete(self, pool: str, queue: str, receipts: Sequence[str]) -> None:
        """Delete messages, as many in a call as SQS takes. It takes a receipt handle again that it has taken before."""
        url, sqs = self._url(pool, queue), self._aws.plane("sqs")
        if url is None:
            raise Unavailable(f"the deployment has no queue of pool {pool} called {queue}")
        for batch in batches(receipts, MESSAGES_PER_BATCH):
            entries = [{"Id": str(index), "ReceiptHandle": receipt} for index, receipt in enumerate(batch)]
            ask(sqs.call, "DeleteMessageBatch", QueueUrl=url, Entries=entries)

    def hold(self, pool: str, queue: str, receipts: Sequence[str], seconds: int) -> Sequence[bool | None]:
        """Hide messages, as many in a call as SQS takes. It blames the sender for a receipt that holds no message."""
        url, sqs = self._url(pool, queue), self._aws.plane("sqs")
        held: list[bool | None] = [True] * len(receipts)
        if url is None:
            raise Unavailable(f"the deployment has no queue of pool {pool} called {queue}")
        for batch in batches(range(len(receipts)), MESSAGES_PER_BATCH):
            entries = [
                {"Id": str(place), "ReceiptHandle": receipts[place], "VisibilityTimeout": seconds} for place in batch
            ]
            answer = ask(sqs.call, "ChangeMessageVisibilityBatch", QueueUrl=url, Entries=entries)
            for failed in answer.get("Failed", []):
                held[int(told(failed, "Id"))] = False if told(failed, "SenderFault") else None
        return held

    def waiting(self, pool: str) -> Mapping[str, Tickets]:
        """By SQS's own counts, which become consistent within a minute."""
        sqs, found = self._aws.plane("sqs"), {}
        for queue, url in self._urls.get(pool, cast("Mapping[str, str]", {})).items():
            answer = ask(sqs.call, "GetQueueAttributes", QueueUrl=url, AttributeNames=_COUNTS)
            found[queue] = Tickets(*(int(told(told(answer, "Attributes"), count)) for count in _COUNTS))
        return found

    def _url(self, pool: str, queue: str) -> str | None:
        return self._urls.get(pool, cast("Mapping[str, str]", {})).get(queue)

    def _sender(self, url: str) -> Sender:
        if url not in self._senders:
            self._senders[url] = Sender(self._aws, url, elapsed_seconds=self._elapsed_seconds)
        return self._senders[url]
