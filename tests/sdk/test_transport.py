"""Connections are kept for as many calls as a worker makes at once: a new one costs a handshake and a line in a log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Barrier, Thread

import pytest

from clockwork_client.transport import Request, Urllib3
from tests.sdk.fleet import PATIENCE

#: The fetches and the outcomes of a worker, its heartbeats, and the checkpoints of its handlers.
AT_ONCE = 40


class Server(ThreadingHTTPServer):
    """Answers when as many calls as may come at once are there. Counts connections."""

    request_queue_size = AT_ONCE
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.together = Barrier(AT_ONCE)
        self.connections = 0

    def process_request(self, request: object, client_address: object) -> None:
        """Count one more."""
        self.connections += 1
        super().process_request(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.together.wait(PATIENCE)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing: what is tested are the lines of the client."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join(PATIENCE)


def test_calls_at_once_keep_their_connections(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    url = f"http://127.0.0.1:{server.server_port}"
    transport = Urllib3(url)
    with caplog.at_level(logging.WARNING), ThreadPoolExecutor(AT_ONCE) as threads:
        for _ in range(3):
            requests = [Request("GET", f"{url}/", {}, None, PATIENCE)] * AT_ONCE
            assert {answer.status for answer in threads.map(transport, requests)} == {200}
    transport.close()
    assert server.connections == AT_ONCE
    assert not caplog.records
