"""The program of the target: an HTTP server that writes down each attempt before it answers.

    python tests/chaos/receiver.py PORT FILE

It prints its port, takes orders on standard input (`status 500`, `hold 0.5`: what it answers, after how many seconds)
and ends with it. `/ok` is answered as ordered, `/flaky` 503 at the first attempt, `/hopeless` 500 at every one.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Server(ThreadingHTTPServer):
    """`status` and `hold_seconds` are as last ordered."""

    daemon_threads = True
    request_queue_size = 500

    def __init__(self, port: int, file: Path) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.status = 200
        self.hold_seconds = 0.0
        # One write per line, and none is buffered: what was written outlives this process, however it ends.
        self._descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(self, arrival: dict[str, str | int]) -> None:
        """Keep one attempt."""
        os.write(self._descriptor, json.dumps(arrival).encode() + b"\n")

    def obey(self, order: str) -> None:
        """Take one order. Raises ValueError if it is none."""
        word, value = order.split()
        if word == "status":
            self.status = int(value)
        elif word == "hold":
            self.hold_seconds = float(value)
        else:
            raise ValueError(f"no order: {order}")

    def handle_error(self, request: object, client_address: object) -> None:
        """Who hangs up, as a deliverer that is killed does, is nothing to report: its attempt was written down."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Take the time first."""
        at = time.time_ns() // 1_000_000
        self.rfile.read(int(self.headers.get("content-length", 0)))
        attempt = int(self.headers["clockwork-attempt"])
        status = {"/flaky": 503 if attempt == 1 else self.server.status, "/hopeless": 500}
        answer = status.get(self.path, self.server.status)
        facts = {"jobId": self.headers["clockwork-job-id"], "dueAt": self.headers["clockwork-due-at"]}
        self.server.note({**facts, "attempt": attempt, "at": at, "status": answer})
        time.sleep(self.server.hold_seconds)
        self.send_response_only(answer)
        self.send_header("content-length", "0")
        self.end_headers()


def main() -> None:
    """Serve until standard input ends."""
    with Server(int(sys.argv[1]), Path(sys.argv[2])) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        print(server.server_address[1], flush=True)
        for order in sys.stdin:
            server.obey(order)


if __name__ == "__main__":
    main()
