"""The contract of `ports.ReleaseQueue` and `ports.Visibility` for ordered releases, on FIFO queues."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
import pytest

from clockwork.aws.queues.ordered_queue import AwsOrderedQueue, AwsVisibility
from clockwork.domain.ordering import group_of
from clockwork.domain.releases import Release
from clockwork.domain.storage.codec import decode_message
from clockwork.memory.ordered_queue import MemoryOrderedQueue
from clockwork.ports import Refused, ReleaseQueue, Visibility
from tests.contract.examples import DUE, release
from tests.contract.worlds import AwsWorld, MemoryWorld, World

NOW = DUE
VISIBILITY_SECONDS = 30
FIFO = {
    "FifoQueue": "true",
    "VisibilityTimeout": str(VISIBILITY_SECONDS),
    "DeduplicationScope": "messageGroup",
    "FifoThroughputLimit": "perMessageGroupId",
}
#: (payload, receipt, group)
Received = tuple[bytes, str, str]


class Queue(Protocol):
    """An ordered queue, with the calls by which an event source receives and deletes messages."""

    @property
    def releases(self) -> ReleaseQueue: ...

    @property
    def visibility(self) -> Visibility: ...

    def receive(self, within_seconds: float = 0) -> Sequence[Received]: ...

    def delete(self, receipt: str) -> None: ...


class MemoryQueue:
    def __init__(self, world: MemoryWorld) -> None:
        self._clock = world.clock
        self.releases = self.visibility = self._queue = MemoryOrderedQueue(world.clock, VISIBILITY_SECONDS * 1000)

    def receive(self, within_seconds: float = 0) -> Sequence[Received]:
        received = self._queue.receive(10)
        visible_at = self._queue.next_visible_at()
        if not received and visible_at is not None and visible_at <= self._clock.at + within_seconds * 1000:
            self._clock.at = visible_at
            received = self._queue.receive(10)
        return [(payload_of(m.body), m.receipt, m.group) for m in received]

    def delete(self, receipt: str) -> None:
        self._queue.delete(receipt.partition(" ")[0])


class AwsQueue:
    def __init__(self, world: AwsWorld) -> None:
        self.sqs: Any = world.aws.client("sqs")
        self.url = self.sqs.create_queue(QueueName=f"ordered-{uuid.uuid4().hex}.fifo", Attributes=FIFO)["QueueUrl"]
        self.releases = AwsOrderedQueue(world.aws, self.url)
        self.visibility = AwsVisibility(world.aws, self.url)

    def receive(self, within_seconds: float = 0) -> Sequence[Received]:
        until = time.monotonic() + within_seconds
        while True:
            answer = self.sqs.receive_message(
                QueueUrl=self.url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["MessageGroupId"]
            )
            messages = answer.get("Messages", [])
            if messages or time.monotonic() > until:
                return [
                    (payload_of(m["Body"]), m["ReceiptHandle"], m["Attributes"]["MessageGroupId"]) for m in messages
                ]

    def delete(self, receipt: str) -> None:
        self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=receipt)


@pytest.fixture
def queue(world: World) -> Queue:
    return MemoryQueue(world) if isinstance(world, MemoryWorld) else AwsQueue(world)  # type: ignore[arg-type]


def payload_of(body: str) -> bytes:
    (carried,) = decode_message(body)
    return carried.occurrence.payload.body


def ordered(payload: bytes, key: str = "order-17", **changes: Any) -> Release:
    """A release of an ordered job; each payload makes a job of its own."""
    plain = release(NOW, payload)
    occurrence = msgspec.structs.replace(plain.occurrence, ordering_key=key)
    job_id = f"a{uuid.uuid5(uuid.NAMESPACE_OID, payload.decode()).hex}"
    return msgspec.structs.replace(plain.of_its(job_id=job_id), occurrence=occurrence, **changes)


def names(received: Sequence[Received]) -> list[bytes]:
    return [payload for payload, _, _ in received]


def test_what_has_one_key_is_handed_out_in_the_order_of_its_sends(queue: Queue) -> None:
    payloads = [b"%d" % n for n in range(25)]
    assert list(queue.releases.send([ordered(payload) for payload in payloads], NOW)) == []
    got: list[bytes] = []
    while received := queue.receive():
        got += names(received)
        for _, receipt, _ in received:
            queue.delete(receipt)
    assert got == payloads


def test_a_message_says_of_which_key_it_is(queue: Queue) -> None:
    sent = [ordered(b"1"), ordered(b"2", "order-18")]
    queue.releases.send(sent, NOW)
    assert {group for _, _, group in queue.receive()} == {group_of(one.occurrence) for one in sent}


def test_of_a_key_of_which_something_is_in_hand_nothing_is_handed_out(queue: Queue) -> None:
    queue.releases.send([ordered(b"1")], NOW)
    (head,) = queue.receive()
    queue.releases.send([ordered(b"2"), ordered(b"other", "order-18")], NOW)
    assert names(queue.receive()) == [b"other"]
    queue.delete(head[1])
    assert names(queue.receive()) == [b"2"]


def test_a_head_and_its_followers_that_are_hidden_come_back_together_and_in_order(queue: Queue) -> None:
    queue.releases.send([ordered(b"%d" % n) for n in range(3)], NOW)
    receipts = [receipt for _, receipt, _ in queue.receive()]
    queue.visibility.hide(receipts, 1)
    queue.releases.send([ordered(b"3")], NOW)
    assert queue.receive() == []
    assert names(queue.receive(within_seconds=5)) == [b"0", b"1", b"2", b"3"]


def test_what_is_hidden_for_no_time_comes_back_at_once(queue: Queue) -> None:
    queue.releases.send([ordered(b"0"), ordered(b"1")], NOW)
    queue.visibility.hide([receipt for _, receipt, _ in queue.receive()], 0)
    assert names(queue.receive()) == [b"0", b"1"]


def test_what_is_sent_twice_is_taken_once_though_it_was_deleted_meanwhile(queue: Queue) -> None:
    queue.releases.send([ordered(b"1")], NOW)
    ((_, receipt, _),) = queue.receive()
    queue.delete(receipt)
    assert list(queue.releases.send([ordered(b"1")], NOW)) == []
    assert queue.receive() == []


@pytest.mark.parametrize("again", [{"attempt": 2}, {"sweeps": 1}])
def test_what_is_sent_again_on_purpose_is_taken(queue: Queue, again: dict[str, Any]) -> None:
    queue.releases.send([ordered(b"1")], NOW)
    ((_, receipt, _),) = queue.receive()
    queue.delete(receipt)
    queue.releases.send([ordered(b"1", **again)], NOW)
    assert names(queue.receive()) == [b"1"]


def test_what_no_message_can_hold_is_refused_for_good_and_does_not_stop_its_key(queue: Queue) -> None:
    sent = [ordered(b"1"), ordered(b"x" * 1_048_576), ordered(b"3")]
    (refused,) = queue.releases.send(sent, NOW)
    assert (refused.index, refused.permanent) == (1, True)
    assert names(queue.receive()) == [b"1", b"3"]


def test_a_call_never_holds_two_of_a_key_and_nothing_goes_behind_what_was_not_taken(aws_world: AwsWorld) -> None:
    queue = AwsQueue(aws_world)
    calls: list[list[str]] = []
    client = aws_world.aws.client("sqs", attempts=1)

    def note(params: dict[str, Any], **_: Any) -> None:
        calls.append([entry["MessageGroupId"] for entry in params["Entries"]])

    client.meta.events.register("before-parameter-build.sqs.SendMessageBatch", note)

    def refuse(parsed: dict[str, Any], **_: Any) -> None:
        for entry in [one for one in parsed.get("Successful", []) if len(calls) > 1]:
            parsed["Successful"].remove(entry)
            failed = {"Id": entry["Id"], "SenderFault": False, "Code": "InternalError", "Message": "again"}
            parsed.setdefault("Failed", []).append(failed)

    client.meta.events.register("after-call.sqs.SendMessageBatch", refuse)
    sent = [ordered(b"%d" % n, f"key-{n % 2}") for n in range(8)]
    refused = queue.releases.send(sent, NOW)
    assert all(len(set(groups)) == len(groups) for groups in calls)
    # SQS took the first release of each key, failed the second, and the later ones were not tried.
    assert [one.index for one in refused] == [2, 3, 4, 5, 6, 7]
    assert not any(one.permanent for one in refused)
    assert [one.reason for one in refused if one.index > 3] == ["an earlier one of its ordering key was not taken"] * 4


def test_a_stale_receipt_changes_nothing() -> None:
    world = MemoryWorld()
    queue = MemoryOrderedQueue(world.clock, 1_000)
    assert list(queue.send([ordered(b"1")], NOW)) == list[Refused]()
    (first,) = queue.receive()
    receipt = first.receipt
    world.clock.advance(1_000)
    queue.receive()
    queue.hide([receipt], 3_600)
    world.clock.advance(1_000)
    assert len(queue.receive()) == 1
