"""Probes of SQS itself, by queues that nothing else uses: what the deliverer's design takes for granted."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

#: A hidden head stays hidden for so long.
HIDDEN_SECONDS = 4
#: A machine that stands still for longer has seen nothing: then the probe begins anew, so often.
_TRIES = 3
_FEWEST_LOOKS = 2
#: While one deletes what it has received another waits.
_RECEIVERS = 2
_PATIENCE_SECONDS = 60
_ASKED = {"MaxNumberOfMessages": 10, "WaitTimeSeconds": 1}


@dataclass(frozen=True)
class Hiding:
    """The messages that were received while the head `a1` of one of two message groups was hidden.

    `first_after`: the first message of that group afterwards. `looks`: how many receives ended in that time.
    """

    meanwhile: Sequence[str]
    first_after: str
    looks: int = _FEWEST_LOOKS


def delay_errors(sqs: Any, url: str, rng: random.Random, count: int, longest_seconds: int) -> list[int]:
    """Send messages with delays of 1 s to the longest, at random milliseconds; how late each became visible (ms).

    Both instants are SQS's own: of the send, and of the first receive. Somebody therefore has to be waiting all the
    time, also while others are being sent. A message that does not come within a minute of its time is missing.
    """
    waits_ms: dict[str, int] = {}
    ended = threading.Event()
    with ThreadPoolExecutor(_RECEIVERS) as threads:
        receivers = [threads.submit(_receive_delayed, sqs, url, waits_ms, ended) for _ in range(_RECEIVERS)]
        delays: dict[str, int] = {}
        try:
            for _ in range(count):
                delay = rng.randint(1, longest_seconds)
                sent = sqs.send_message(QueueUrl=url, MessageBody="probe", DelaySeconds=delay)
                delays[sent["MessageId"]] = delay
                time.sleep(rng.random() / 10)
            give_up_at = time.monotonic() + longest_seconds + _PATIENCE_SECONDS
            while len(waits_ms) < count and time.monotonic() < give_up_at:
                time.sleep(0.1)
        finally:
            ended.set()
        for receiver in receivers:
            receiver.result()
    return sorted(waits_ms[name] - delay * 1_000 for name, delay in delays.items() if name in waits_ms)


def _receive_delayed(sqs: Any, url: str, waits_ms: dict[str, int], ended: threading.Event) -> None:
    names = ["SentTimestamp", "ApproximateFirstReceiveTimestamp"]
    while not ended.is_set():
        messages = sqs.receive_message(QueueUrl=url, AttributeNames=names, **_ASKED).get("Messages", [])
        for one in messages:
            sent_at, received_at = (int(one["Attributes"][name]) for name in names)
            waits_ms.setdefault(one["MessageId"], received_at - sent_at)
        if messages:
            entries = [{"Id": str(n), "ReceiptHandle": one["ReceiptHandle"]} for n, one in enumerate(messages)]
            sqs.delete_message_batch(QueueUrl=url, Entries=entries)


def hiding(sqs: Any, url: str) -> Hiding:
    """Hide the head of a message group for some seconds, as the deliverer does with a head that is to be retried."""
    for number in range(_TRIES):
        found = _hide(sqs, url, str(number))
        if found.looks >= _FEWEST_LOOKS:
            break
    return found


def _hide(sqs: Any, url: str, run: str) -> Hiding:
    for body in ("a1", "a2", "b1"):
        group, once = f"{body[0]}-{run}", f"{body}-{run}"
        sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId=group, MessageDeduplicationId=once)
    give_up_at = time.monotonic() + _PATIENCE_SECONDS
    received: dict[str, str] = {}
    while "a1" not in received and time.monotonic() < give_up_at:
        received |= {one["Body"]: one["ReceiptHandle"] for one in _receive(sqs, url)}
    hidden_from = time.monotonic()
    for body, receipt in received.items():
        # What came with the head goes back at once, so that it would be seen meanwhile if it could be.
        seconds = HIDDEN_SECONDS if body == "a1" else 0
        sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=receipt, VisibilityTimeout=seconds)
    meanwhile: list[str] = []
    after: list[str] = []
    looks = 0
    while {"a1", "a2"} - {*meanwhile, *after} and time.monotonic() < give_up_at:
        some = _receive(sqs, url)
        in_time = time.monotonic() < hidden_from + HIDDEN_SECONDS
        looks += in_time
        for one in some:
            (meanwhile if in_time else after).append(one["Body"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
    return Hiding(meanwhile, next((body for body in after if body.startswith("a")), ""), looks)


def _receive(sqs: Any, url: str) -> list[dict[str, Any]]:
    return list(sqs.receive_message(QueueUrl=url, **_ASKED).get("Messages", []))
