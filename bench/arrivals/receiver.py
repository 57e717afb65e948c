"""The target of every system under measurement: an HTTP server that notes when each job arrives."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver(ThreadingHTTPServer):
    """`arrivals`: by the number at the end of the path, the instants (epoch ms) at which requests came."""

    daemon_threads = True
    request_queue_size = 500

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._arrivals: defaultdict[int, list[float]] = defaultdict(list)
        self._lock = threading.Lock()

    @property
    def port(self) -> int:
        """Where it listens on 127.0.0.1."""
        return int(self.server_address[1])

    def url(self, number: int) -> str:
        """Where job `number` is to be posted."""
        return f"http://127.0.0.1:{self.port}/{number}"

    def note(self, number: int, at: float) -> None:
        """Keep one arrival."""
        with self._lock:
            self._arrivals[number].append(at)

    def arrivals(self) -> Mapping[int, list[float]]:
        """Everything so far."""
        with self._lock:
            return {number: list(instants) for number, instants in self._arrivals.items()}

    def handle_error(self, request: object, client_address: object) -> None:
        """Who hangs up, as a system that is being ended does, is nothing to report."""


class _Handler(BaseHTTPRequestHandler):
    server: Receiver
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Take the time first."""
        at = time.time() * 1000
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.note(int(self.path[1:]), at)
        self.send_response_only(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the standard library
        """Nothing to say."""


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A receiver on a free port, in threads of this process, which should be idle otherwise."""
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
