"""A stub of AWS in a process of its own: it answers each call at once with canned bytes, so the caller's CPU counts.

It speaks just enough HTTP/1.1 for botocore: requests with a Content-Length on connections that are kept alive. The
answer depends on the operation (`X-Amz-Target: DynamoDB_20120810.Query`) and the table alone, or without that header on
the method and path (`POST /v1/jobs`). A call for which there is no answer gets a 400.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any

_HEADERS = (
    "HTTP/1.1 {status}\r\nServer: Server\r\nDate: Sat, 21 Nov 2026 00:00:00 GMT\r\n"
    "Content-Type: application/x-amz-json-1.0\r\nContent-Length: {length}\r\nConnection: keep-alive\r\n"
    "x-amzn-RequestId: 8SUC3PQP1QEBGS8GV8UT5S7IA7VV4KQNSO5AEMVJF66Q9ASUAAJG\r\nx-amz-crc32: {crc}\r\n\r\n"
)
_TABLE = re.compile(rb'"TableName": ?"(\w+)"')
_UNKNOWN = {"__type": "UnknownOperationException", "message": "the stub has no answer to this operation"}


@contextmanager
def stub(answers: Mapping[str, Any]) -> Iterator[str]:
    """The endpoint of a running stub; `answers` are JSON by operation and perhaps table: {"GetItem shards": {...}}."""
    with subprocess.Popen(
        [sys.executable, "-m", "bench.stubbed.stub"],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(answers) + "\n")
            process.stdin.flush()
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.stdin.close()


class _Server(ThreadingTCPServer):
    """Answers every request with bytes that were made beforehand."""

    daemon_threads = True

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = {name: _response("200 OK", answer) for name, answer in answers.items()}
        self.unknown = _response("400 Bad Request", _UNKNOWN)
        super().__init__(("127.0.0.1", 0), _Connection)


class _Connection(StreamRequestHandler):
    """Answers one connection, request after request."""

    server: _Server
    disable_nagle_algorithm = True

    def handle(self) -> None:
        while first := self.rfile.readline():
            headers = dict(self._headers())
            table = _TABLE.search(self.rfile.read(int(headers["content-length"])))
            asked = headers.get("x-amz-target")
            operation = asked.rpartition(".")[2] if asked else first.decode().rpartition(" ")[0]
            wanted = f"{operation} {table[1].decode()}" if table else operation
            answers = self.server.answers
            self.wfile.write(answers.get(wanted) or answers.get(operation) or self.server.unknown)

    def _headers(self) -> Iterator[tuple[str, str]]:
        while line := self.rfile.readline().decode().strip():
            name, _, value = line.partition(":")
            yield name.lower(), value.strip()


def _response(status: str, answer: Any) -> bytes:
    body = json.dumps(answer, separators=(",", ":")).encode()
    return _HEADERS.format(status=status, length=len(body), crc=zlib.crc32(body)).encode() + body


def main() -> None:
    """Serve the answers in the first line of standard input, on the port printed, until standard input is closed."""
    server = _Server(json.loads(sys.stdin.readline()))
    Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
