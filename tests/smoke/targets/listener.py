"""Hears what arrives: long polls of the queues that targets are, or that stand behind targets."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from clockwork.domain.instants import from_text
from tests.chaos.promises import Arrival, Key
from tests.smoke.plan import Kind

WAIT_SECONDS = 1


class Heard(NamedTuple):
    """An arrival, and the type of target at which it arrived (`http`, or the text of a Kind)."""

    origin: str
    arrival: Arrival


def heard_in(queue: str, message: Mapping[str, Any]) -> tuple[str, Heard]:
    """The delivery in one message, with an id of its own by which repeats of the service itself are known.

    `queue` is a key of `template.HEARD`. A message of the function says itself when it came; for all others the queue's
    clock does. Raises KeyError or ValueError for a message of nobody.
    """
    at = int(message["Attributes"]["SentTimestamp"])
    attributes = message.get("MessageAttributes", {})
    if "jobId" in attributes:
        facts = {name: one["StringValue"] for name, one in attributes.items()}
        origin = Kind.SNS if queue == "heard" else Kind(queue)
        return message["MessageId"], Heard(origin, _arrival(facts, at))
    body = json.loads(message["Body"])
    if "detail" in body:
        return body["id"], Heard(Kind.EVENTBRIDGE, _arrival(body["detail"], at))
    return message["MessageId"], Heard(body["origin"], _arrival(body, body["at"], body["status"] == 200))


def _arrival(facts: Mapping[str, Any], at: int, accepted: bool = True) -> Arrival:
    return Arrival(Key(facts["jobId"], from_text(facts["dueAt"])), int(facts["attempt"]), int(at), accepted)


class Listener:
    """Reads queues until the end of its block; `strange` are messages that nobody understands."""

    def __init__(self, sqs: Any, urls: Mapping[str, str]) -> None:
        self._sqs = sqs
        self._urls = urls
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._heard: dict[str, Heard] = {}
        self.strange: list[str] = []

    @property
    def heard(self) -> list[Heard]:
        """All arrivals so far."""
        with self._lock:
            return list(self._heard.values())

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Read each queue in a thread of its own for the block. An error of AWS is repeated until it ends."""
        threads = [threading.Thread(target=self._read, args=one, daemon=True) for one in self._urls.items()]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in threads:
                thread.join(WAIT_SECONDS + 5)

    def _read(self, queue: str, url: str) -> None:
        asked: dict[str, Any] = {"MaxNumberOfMessages": 10, "WaitTimeSeconds": WAIT_SECONDS}
        every = {"MessageAttributeNames": ["All"], "AttributeNames": ["SentTimestamp"]}
        while not self._ended.is_set():
            try:
                messages = self._sqs.receive_message(QueueUrl=url, **asked, **every).get("Messages", [])
                for message in messages:
                    self._keep(queue, message)
                if messages:
                    entries = [{"Id": str(n), "ReceiptHandle": one["ReceiptHandle"]} for n, one in enumerate(messages)]
                    self._sqs.delete_message_batch(QueueUrl=url, Entries=entries)
            except (BotoCoreError, ClientError):
                self._ended.wait(WAIT_SECONDS)

    def _keep(self, queue: str, message: Mapping[str, Any]) -> None:
        try:
            name, heard = heard_in(queue, message)
        except (KeyError, ValueError) as error:
            self.strange.append(f"{queue}: {message.get('Body')} ({error!r})")
            return
        with self._lock:
            self._heard[name] = heard
