"""Reads the demonstration's SQS queue as a consumer would: by long polls, and it deletes the messages it has read."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local.demo.arrivals import Arrival, Arrivals
from local.demo.plan import Channel

#: Short enough that the end of the demonstration does not wait for it, long enough to be a long poll.
WAIT_SECONDS = 1


@contextmanager
def reader(sqs: Any, queue_url: str, arrivals: Arrivals, say: Callable[[str], None]) -> Iterator[None]:
    """Read the queue in a thread of its own until the end of the block.

    A call that fails is reported by `say` and repeated after a second.
    """
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            try:
                read_once(sqs, queue_url, arrivals)
            except (BotoCoreError, ClientError) as error:
                say(f"The queue's reader: {error}")
                ended.wait(1)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def read_once(sqs: Any, queue_url: str, arrivals: Arrivals) -> None:
    """Make one long poll. A message counts as arrived once it has been received, before it is deleted."""
    answer = sqs.receive_message(
        QueueUrl=queue_url, MaxNumberOfMessages=10, WaitTimeSeconds=WAIT_SECONDS, MessageAttributeNames=["All"]
    )
    at = int(time.time() * 1000)
    messages = answer.get("Messages", [])
    for message in messages:
        execution_id = message.get("MessageAttributes", {}).get("executionId", {}).get("StringValue", "")
        arrivals.add(Arrival(execution_id, at, Channel.QUEUE, accepted=True))
    if messages:
        entries = [{"Id": str(n), "ReceiptHandle": one["ReceiptHandle"]} for n, one in enumerate(messages)]
        sqs.delete_message_batch(QueueUrl=queue_url, Entries=entries)
