"""A runtime API: what Lambda's runtime client asks for events, and tells their outcomes.

https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

from __future__ import annotations

import json
import queue
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """The end of an event, or of the start: `kind` is `response` or `error`, and `body` as the client sent it."""

    kind: str
    body: Any


class RuntimeApi:
    """Serves one environment at `address`, until `close`."""

    def __init__(self, timeout_seconds: int) -> None:
        self.timeout_seconds = timeout_seconds
        self.events: queue.Queue[dict[str, Any]] = queue.Queue()
        self.outcomes: queue.Queue[Outcome] = queue.Queue()
        #: Set while the client waits for an event: Lambda freezes an environment only then.
        self.waits = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()


def _handler_of(api: RuntimeApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            api.waits.set()
            event = api.events.get()
            api.waits.clear()
            self._answer(
                200,
                event,
                {
                    "Lambda-Runtime-Aws-Request-Id": "8476a536-e9f4-11e8-9739-2dfe598c3fcd",
                    "Lambda-Runtime-Deadline-Ms": str(int((time.time() + api.timeout_seconds) * 1_000)),
                    "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:123456789012:function:f:live",
                },
            )

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            api.outcomes.put(Outcome(self.path.rpartition("/")[2], body))
            self._answer(202, {"status": "OK"}, {})

        def _answer(self, status: int, body: Any, headers: dict[str, str]) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            # Without a type the client crashes.
            always = {"Content-Type": "application/json", "Content-Length": str(len(content))}
            for name, value in {**headers, **always}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_said: Any) -> None:
            """Nothing: failures are outcomes."""

    return Handler
