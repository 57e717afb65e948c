"""A webhook receiver as a customer would run one: it verifies signatures and, where asked to, fails at first."""

from __future__ import annotations

import base64
import hashlib
import hmac
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from local.demo.arrivals import Arrival, Arrivals
from local.demo.plan import FAILURES, Channel

STEADY_PATH = "/hook"
FLAKY_PATH = "/flaky"
#: Standard Webhooks asks receivers to refuse what is older, or newer, than a few minutes.
TOLERANCE_SECONDS = 300


def fault_of(headers: Mapping[str, str], body: bytes, key: bytes, now: float) -> str | None:
    """Why a request is no genuine Standard Webhook of `key` at `now` (epoch seconds); None if it is one.

    https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
    """
    webhook_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(now - int(timestamp)) > TOLERANCE_SECONDS:
        return "its timestamp is missing or too far from now"
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    given = headers.get("webhook-signature", "").split()
    if not any(hmac.compare_digest(expected.encode(), one.encode()) for one in given):
        return "its signature is missing or wrong"
    return None


def status_for(path: str, fault: str | None, earlier: int) -> int:
    """The answer to a delivery that had `earlier` attempts before: 401 to what is not genuine, 503 to fail, or 200."""
    if fault is not None:
        return 401
    return 503 if path == FLAKY_PATH and earlier < FAILURES else 200


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100

    def __init__(self, key: bytes, arrivals: Arrivals) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.key = key
        self.arrivals = arrivals

    def handle_error(self, request: object, client_address: object) -> None:
        """A deliverer that hangs up is nothing to report here: its attempt shows in the executions."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Take the time first, then judge and answer."""
        at = time.time()
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        execution_id = self.headers.get("webhook-id", "")
        fault = fault_of(dict(self.headers), body, self.server.key, at)
        status = status_for(self.path, fault, len(self.server.arrivals.of(execution_id)))
        arrival = Arrival(execution_id, int(at * 1000), Channel.WEBHOOK, status == 200, fault or "")
        self.server.arrivals.add(arrival)
        self.send_response_only(status)
        self.send_header("content-length", "0")
        self.end_headers()


@contextmanager
def receiver(key: bytes, arrivals: Arrivals) -> Iterator[int]:
    """A receiver on a free port of 127.0.0.1, which is yielded; `key` is the secret that deliveries are signed with."""
    with _Server(key, arrivals) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
