"""The queues from which a worker receives tickets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from clockwork_client.client import Clockwork


class Ticket(NamedTuple):
    """A message of a queue: its body, which only the API can read, and the handle by which it is deleted."""

    body: str
    receipt_handle: str


class Queue(Protocol):
    """One queue. A call may raise any exception of its library: the worker waits a little and goes on."""

    def receive(self, most: int, wait_seconds: int) -> Sequence[Ticket]:
        """Up to so many messages; it waits for so long until there is one."""

    def give_back(self, tickets: Sequence[Ticket]) -> None:
        """Let others receive these at once."""


class SqsQueue:
    """A queue of SQS, asked over botocore."""

    def __init__(self, client: Any, url: str) -> None:
        self._client = client
        self._url = url

    def receive(self, most: int, wait_seconds: int) -> Sequence[Ticket]:
        """As `Queue` says."""
        answer = self._client.receive_message(
            QueueUrl=self._url, MaxNumberOfMessages=most, WaitTimeSeconds=wait_seconds
        )
        return [Ticket(one["Body"], one["ReceiptHandle"]) for one in answer.get("Messages", ())]

    def give_back(self, tickets: Sequence[Ticket]) -> None:
        """As `Queue` says."""
        for ticket in tickets:
            self._client.change_message_visibility(
                QueueUrl=self._url, ReceiptHandle=ticket.receipt_handle, VisibilityTimeout=0
            )


def sqs_queues(cw: Clockwork, urls: Mapping[str, str]) -> dict[str, Queue]:
    """The queues of a pool by priority, with the credentials that sign requests to the API."""
    parts = urlsplit(next(iter(urls.values())))
    client = cw.signer.client_of("sqs", f"{parts.scheme}://{parts.netloc}")
    return {priority: SqsQueue(client, url) for priority, url in urls.items()}
