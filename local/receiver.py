"""An HTTP server on 127.0.0.1 that notes the time of each POST first. Subclasses give the answers.

class Accepting(Receiver):
    def answer(self, post: Post) -> Answer:
        return Answer(200)

with Accepting() as running:
    deliver_to(f"http://{running.place}/any")
"""

from __future__ import annotations

import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Post:
    """One request as it came in. `at` is epoch ms; the names of `headers` are in lower case."""

    at: float
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """The answer to the sender."""

    status: int
    body: bytes = b""


class Receiver(ABC, ThreadingHTTPServer):
    """Listens on a free port unless one is given, and serves in threads of this process while it is entered."""

    daemon_threads = True
    request_queue_size = 500

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)

    @abstractmethod
    def answer(self, post: Post) -> Answer:
        """The answer to the sender. Called in the thread of the connection, so it may be slow."""

    @property
    def port(self) -> int:
        """Where it listens on 127.0.0.1."""
        return int(self.server_address[1])

    @property
    def place(self) -> str:
        """Its host and port, as they stand in a URL."""
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A sender that hangs up, as one that is killed does, is nothing to report. Anything else is printed."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: Receiver
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Take the time first."""
        at = time.time_ns() / 1_000_000
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.answer(Post(at, self.path, headers, body))
        self.send_response_only(answer.status)
        self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)
