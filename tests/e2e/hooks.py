"""The webhook receiver of these tests, with one hook per test."""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import threading
import time
from collections import defaultdict

from local.receiver import Answer, Post, Receiver
from tests.e2e.waiting import PATIENCE_SECONDS


class Hook:
    """A URL of the receiver. It answers 503 to the first `failures` requests of each execution, and 200 to all others.

    Each answer takes `seconds`; `most_at_once` is the greatest number of requests that were under way together.
    """

    def __init__(self, url: str, failures: int, seconds: float) -> None:
        self.url = url
        self.failures = failures
        self.seconds = seconds
        self.most_at_once = 0
        self._under_way = 0
        self._changed = threading.Condition()
        self._arrivals: list[Post] = []
        self._by_execution: dict[str, int] = defaultdict(int)

    @property
    def arrivals(self) -> list[Post]:
        """All requests so far, in the order in which they came."""
        with self._changed:
            return list(self._arrivals)

    def await_arrivals(self, count: int, seconds: float = PATIENCE_SECONDS) -> list[Post]:
        """Waits for at least `count` requests and returns all so far. Fails the test if they do not come."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self._arrivals) >= count, seconds)
            assert came, f"{len(self._arrivals)} of {count} requests came within {seconds} s"
            return list(self._arrivals)

    def answer(self, post: Post) -> Answer:
        """Records a request, and answers 503 or 200."""
        with self._changed:
            self._arrivals.append(post)
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
            execution_id = post.headers["webhook-id"]
            self._by_execution[execution_id] += 1
            self._changed.notify_all()
            fails = self._by_execution[execution_id] <= self.failures
        time.sleep(self.seconds)
        with self._changed:
            self._under_way -= 1
        return Answer(503, b"not now") if fails else Answer(200)


class Hooks(Receiver):
    """The HTTP server of all hooks."""

    def __init__(self) -> None:
        super().__init__()
        self._hooks: dict[str, Hook] = {}
        self._numbers = itertools.count(1)

    def hook(self, failures: int = 0, seconds: float = 0) -> Hook:
        """A hook with a URL of its own."""
        path = f"/hook-{next(self._numbers)}"
        self._hooks[path] = Hook(f"http://{self.place}{path}", failures, seconds)
        return self._hooks[path]

    def answer(self, post: Post) -> Answer:
        """Answers as the hook with the request's path."""
        return self._hooks[post.path].answer(post)


def is_signed(arrival: Post, secret: str) -> bool:
    """Checks the signature as a receiver of Standard Webhooks does."""
    signed = f"{arrival.headers['webhook-id']}.{arrival.headers['webhook-timestamp']}.".encode() + arrival.body
    digest = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}" in arrival.headers["webhook-signature"].split()
