"""A server on loopback that answers each request as a script says, in any way that a network can."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Self

#: Does something with a connection whose request was read.
Act = Callable[[socket.socket], None]


def answer(status: int, body: object = None, **headers: str) -> Act:
    """A whole answer, as JSON unless the body is bytes."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    whole = "\r\n".join([*lines, "", ""]).encode() + content
    return lambda connection: connection.sendall(whole)


def reset(connection: socket.socket) -> None:
    """The connection is reset before an answer."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def cut(connection: socket.socket) -> None:
    """The answer ends in its middle."""
    connection.sendall(b'HTTP/1.1 201 X\r\ncontent-length: 100\r\n\r\n{"jobId": "')
    connection.close()


def garbage(connection: socket.socket) -> None:
    """The answer is no HTTP."""
    connection.sendall(b"\x00\xff\x13 220 smtp ready\r\n\r\n")
    connection.close()


def silent(connection: socket.socket) -> None:
    """Nothing comes, for longer than the tests' timeouts."""
    time.sleep(3)


def trickle(connection: socket.socket) -> None:
    """A byte of the body every 50 ms: no single wait is long, all together are."""
    connection.sendall(b"HTTP/1.1 201 X\r\ncontent-length: 1000\r\n\r\n")
    with suppress(OSError):
        for _ in range(100):
            connection.sendall(b" ")
            time.sleep(0.05)


class Hostile:
    """Serves while it is entered. The last act of the script goes on for ever. `requests` are what came, as text."""

    def __init__(self, *script: Act) -> None:
        self.requests: list[str] = []
        self._script: Sequence[Act] = script
        self._lock = threading.Lock()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    def keys(self) -> list[str]:
        """The Idempotency-Key of each request."""
        return [line.split(": ")[1] for one in self.requests for line in one.splitlines() if _names_key(line)]

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while (request := _read(connection)) is not None:
                with self._lock:
                    act = self._script[min(len(self.requests), len(self._script) - 1)]
                    self.requests.append(request)
                act(connection)


def _names_key(line: str) -> bool:
    return line.lower().startswith("idempotency-key: ")


def _read(connection: socket.socket) -> str | None:
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = connection.recv(65536)
        if not chunk:
            return None
        data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [int(line.split(b":")[1]) for line in head.splitlines() if line.lower().startswith(b"content-length:")]
    while len(body) < sum(lengths):
        body += connection.recv(65536)
    return (head + b"\r\n\r\n" + body).decode()
