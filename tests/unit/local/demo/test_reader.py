"""The demonstration's reader of its SQS queue."""

from typing import Any

from local.demo.arrivals import Arrivals
from local.demo.plan import Channel
from local.demo.reader import read_once


class _Queue:
    """An SQS client that answers one receive, and notes what is deleted."""

    def __init__(self, *messages: dict[str, Any]) -> None:
        self._messages = messages
        self.deleted: list[str] = []

    def receive_message(self, **_: Any) -> dict[str, Any]:
        return {"Messages": list(self._messages)} if self._messages else {}

    def delete_message_batch(self, *, Entries: list[dict[str, str]], **_: Any) -> None:  # noqa: N803 - AWS's name
        self.deleted += [entry["ReceiptHandle"] for entry in Entries]


def _message(handle: str, execution_id: str) -> dict[str, Any]:
    attributes = {"executionId": {"DataType": "String", "StringValue": execution_id}}
    return {"ReceiptHandle": handle, "MessageAttributes": attributes, "Body": "{}"}


def test_every_message_read_counts_as_accepted_and_is_deleted() -> None:
    arrivals, queue = Arrivals(), _Queue(_message("r1", "a1.1.0"), _message("r2", "a2.1.0"), _message("r3", "a2.1.0"))
    read_once(queue, "url", arrivals)
    assert [(one.channel, one.accepted) for one in arrivals.of("a1.1.0")] == [(Channel.QUEUE, True)]
    assert len(arrivals.of("a2.1.0")) == 2, "read twice is a duplicate"
    assert queue.deleted == ["r1", "r2", "r3"]


def test_an_empty_receive_deletes_nothing() -> None:
    queue = _Queue()
    read_once(queue, "url", Arrivals())
    assert queue.deleted == []
