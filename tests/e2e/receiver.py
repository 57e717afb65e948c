"""A webhook receiver on 127.0.0.1, with one hook per test."""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.e2e.waiting import PATIENCE_SECONDS


@dataclass(frozen=True)
class Arrival:
    """One request as it came in. `at` is epoch ms."""

    at: int
    method: str
    headers: Mapping[str, str]
    body: bytes


class Hook:
    """A URL of the receiver. Its first `failures` requests per execution are answered 503, the others 200.

    Each answer takes `seconds`; `most_at_once` is how many requests have been under way together.
    """

    def __init__(self, url: str, changed: threading.Condition, failures: int, seconds: float) -> None:
        self.url = url
        self.failures = failures
        self.seconds = seconds
        self.most_at_once = 0
        self._under_way = 0
        self._changed = changed
        self._arrivals: list[Arrival] = []
        self._by_execution: dict[str, int] = defaultdict(int)

    @property
    def arrivals(self) -> list[Arrival]:
        """All requests so far, in the order in which they came."""
        with self._changed:
            return list(self._arrivals)

    def await_arrivals(self, count: int, seconds: float = PATIENCE_SECONDS) -> list[Arrival]:
        """The arrivals, once there are at least `count`. Fails the test if they do not come."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self._arrivals) >= count, seconds)
            assert came, f"{len(self._arrivals)} of {count} requests came within {seconds} s"
            return list(self._arrivals)

    def take(self, arrival: Arrival) -> int:
        """Note a request; the status of its answer."""
        with self._changed:
            self._arrivals.append(arrival)
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
            execution_id = arrival.headers["webhook-id"]
            self._by_execution[execution_id] += 1
            self._changed.notify_all()
            return 503 if self._by_execution[execution_id] <= self.failures else 200

    def end(self) -> None:
        """Note that a request is about to be answered."""
        with self._changed:
            self._under_way -= 1


class Receiver(ThreadingHTTPServer):
    """The server. `place` is its host and port."""

    daemon_threads = True
    request_queue_size = 100

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.place = f"127.0.0.1:{self.server_address[1]}"
        self.hooks: dict[str, Hook] = {}
        self._numbers = itertools.count(1)

    def hook(self, failures: int = 0, seconds: float = 0) -> Hook:
        """A URL that nothing else uses."""
        path = f"/hook-{next(self._numbers)}"
        self.hooks[path] = Hook(f"http://{self.place}{path}", threading.Condition(), failures, seconds)
        return self.hooks[path]


class _Handler(BaseHTTPRequestHandler):
    server: Receiver
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        at = time.time_ns() // 1_000_000
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        hook = self.server.hooks[self.path]
        status = hook.take(Arrival(at, self.command, headers, body))
        time.sleep(hook.seconds)
        hook.end()
        answer = b"not now" if status == 503 else b""
        self.send_response_only(status)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


def is_signed(arrival: Arrival, secret: str) -> bool:
    """As a receiver of Standard Webhooks checks it."""
    signed = f"{arrival.headers['webhook-id']}.{arrival.headers['webhook-timestamp']}.".encode() + arrival.body
    digest = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}" in arrival.headers["webhook-signature"].split()


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A running receiver."""
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
