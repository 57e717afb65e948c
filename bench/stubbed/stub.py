"""A stub of AWS in a process of its own: it answers each call at once with canned bytes, so the caller's CPU counts.

It speaks just enough HTTP/1.1 for botocore: requests with a Content-Length on connections that are kept alive. The
answer depends on the operation (`X-Amz-Target: DynamoDB_20120810.Query`) and the table alone, or without that header on
the method and path (`POST /v1/jobs`). A batch of messages is taken, each by its own id, and a read from the timeline
finds the item that was put last. A call for which there is no answer gets a 400.
"""

from __future__ import annotations

import json
import re
import ssl
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from bench.stubbed.receiver import certify

_HEADERS = (
    "HTTP/1.1 {status}\r\nServer: Server\r\nDate: Sat, 21 Nov 2026 00:00:00 GMT\r\n"
    "Content-Type: application/x-amz-json-1.0\r\nContent-Length: {length}\r\nConnection: keep-alive\r\n"
    "x-amzn-RequestId: 8SUC3PQP1QEBGS8GV8UT5S7IA7VV4KQNSO5AEMVJF66Q9ASUAAJG\r\nx-amz-crc32: {crc}\r\n\r\n"
)
_TABLE = re.compile(rb'"TableName": ?"(\w+)"')
_MESSAGE = re.compile(rb'"Id": ?"(\d+)"')
_PUT = re.compile(rb'"Item": ?(\{.*?\}\})')
_UNKNOWN = {"__type": "UnknownOperationException", "message": "the stub has no answer to this operation"}


@contextmanager
def tls_stub(answers: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The endpoint of a stub over TLS, and the path of the bundle that trusts it."""
    with TemporaryDirectory() as folder:
        pair, bundle = Path(folder) / "pair.pem", Path(folder) / "bundle.pem"
        bundle.write_text(certify(pair), encoding="utf-8")
        with stub(answers, pair) as endpoint_url:
            yield endpoint_url, str(bundle)


@contextmanager
def stub(answers: Mapping[str, Any], pair: Path | None = None) -> Iterator[str]:
    """The endpoint of a running stub; `answers` are JSON by operation and perhaps table: {"GetItem shards": {...}}.

    `pair`: the file of a certificate with its key, for TLS.
    """
    with subprocess.Popen(
        [sys.executable, "-m", "bench.stubbed.stub", *([str(pair)] if pair else [])],
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
            yield f"{'https' if pair else 'http'}://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.stdin.close()


class _Server(ThreadingTCPServer):
    """Answers every request with bytes that were made beforehand."""

    daemon_threads = True

    def __init__(self, answers: Mapping[str, Any], pair: str | None) -> None:
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if pair else None
        if self._tls:
            self._tls.load_cert_chain(str(pair))
        #: The item that was put last, as JSON.
        self.item = b""
        self.answers = {name: _response("200 OK", answer) for name, answer in answers.items()}
        self.unknown = _response("400 Bad Request", _UNKNOWN)
        super().__init__(("127.0.0.1", 0), _Connection)

    def finish_request(self, request: Any, client_address: Any) -> None:
        secured = self._tls.wrap_socket(request, server_side=True) if self._tls else request
        super().finish_request(secured, client_address)


class _Connection(StreamRequestHandler):
    """Answers one connection, request after request."""

    server: _Server
    disable_nagle_algorithm = True

    def handle(self) -> None:
        while first := self.rfile.readline():
            headers = dict(self._headers())
            body = self.rfile.read(int(headers["content-length"]))
            table = _TABLE.search(body)
            asked = headers.get("x-amz-target")
            operation = asked.rpartition(".")[2] if asked else first.decode().rpartition(" ")[0]
            wanted = f"{operation} {table[1].decode()}" if table else operation
            self.wfile.write(self._answer(operation, wanted, body))

    def _answer(self, operation: str, wanted: str, body: bytes) -> bytes:
        if operation == "SendMessageBatch":
            return _response("200 OK", {"Successful": [_sent(one.decode()) for one in _MESSAGE.findall(body)]})
        if wanted == "PutItem timeline" and (put := _PUT.search(body)):
            self.server.item = put[1]
        if wanted == "GetItem timeline":
            return _response("200 OK", {"Item": json.loads(self.server.item)})
        return self.server.answers.get(wanted) or self.server.answers.get(operation) or self.server.unknown

    def _headers(self) -> Iterator[tuple[str, str]]:
        while line := self.rfile.readline().decode().strip():
            name, _, value = line.partition(":")
            yield name.lower(), value.strip()


def _response(status: str, answer: Any) -> bytes:
    body = json.dumps(answer, separators=(",", ":")).encode()
    return _HEADERS.format(status=status, length=len(body), crc=zlib.crc32(body)).encode() + body


def _sent(message_id: str) -> dict[str, str]:
    """The entry of a message that was taken."""
    return {
        "Id": message_id,
        "MessageId": f"d3f1c9a0-5b7e-4c1d-9e2f-0a1b2c{message_id:0>6}",
        "MD5OfMessageBody": f"{message_id:0>32}",
    }


def main() -> None:
    """Serve the answers in the first line of standard input, on the port printed, until standard input is closed.

    An argument is the file of a certificate with its key, for TLS.
    """
    server = _Server(json.loads(sys.stdin.readline()), sys.argv[1] if len(sys.argv) > 1 else None)
    Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
