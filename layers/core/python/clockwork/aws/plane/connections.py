"""Connections to one endpoint, kept alive between calls.

How connections fail. The endpoint cannot be reached, or its certificate is not trusted. The endpoint closes an idle
connection, also while the environment is frozen. The endpoint closes a connection in the middle of an answer, or its
answer is missing, slow, endless or too long. Every such connection is closed and never used again.
"""

from __future__ import annotations

import io
import socket
import ssl
import weakref
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from threading import Lock
from typing import Any

import msgspec

from clockwork.aws.kept_reader import KeptReader
from clockwork.aws.plane import faults
from clockwork.aws.plane.endpoints import Endpoint

#: The most bytes of an answer. DynamoDB answers with up to 16 MB of items, which base64 makes longer by a third.
MOST_BYTES = 32 * 1024 * 1024
#: The time for the rest of an answer whose beginning came in time. The time counts from the first read of this answer,
#: since the answer of another call may have used the time before.
REST_SECONDS = 1.0
_PAST = float("-inf")


class Answer(msgspec.Struct, frozen=True):
    """An answer as it came. The names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class _Incoming(io.RawIOBase):
    """The bytes that arrive on a socket until an instant. After the instant, only bytes that have arrived already."""

    def __init__(self, sock: socket.socket, elapsed: Callable[[], float]) -> None:
        self._sock, self._elapsed = sock, elapsed
        self.until = _PAST

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(max(0.0, self.until - self._elapsed()))
        try:
            return self._sock.recv_into(buffer)
        except (BlockingIOError, ssl.SSLWantReadError):
            raise TimeoutError("timed out") from None


class Connection:
    """One connection, on which one call at a time is made. `send` and `receive` raise exceptions of botocore."""

    def __init__(self, sock: socket.socket, url: str, elapsed: Callable[[], float]) -> None:
        self._sock, self._url, self._elapsed = sock, url, elapsed
        self._incoming = _Incoming(sock, elapsed)
        self._reader = KeptReader(self._incoming, 16_384)
        self.reusable = False

    def is_fresh(self) -> bool:
        """Whether nothing came on the idle connection: neither its end nor bytes that nobody asked for."""
        self._incoming.until = _PAST
        try:
            self._reader.peek(1)
        except TimeoutError:
            return True
        except OSError:
            pass
        return False

    def send(self, request: bytes, seconds: float) -> None:
        """Send a request whose answer `receive` has to have read within so many seconds from now."""
        self.reusable = False
        self._incoming.until = self._elapsed() + seconds
        try:
            self._sock.settimeout(seconds)
            self._sock.sendall(request)
        except BrokenPipeError:
            pass  # it may have answered before it closed
        except OSError as error:
            raise faults.unanswered(self._url, error) from error

    def receive(self) -> Answer:
        """Read the answer, whole."""
        try:
            self._reader.peek(1)
            self._incoming.until = max(self._incoming.until, self._elapsed() + REST_SECONDS)
            response = HTTPResponse(self._reader, method="POST")  # type: ignore[arg-type]
            response.begin()
            body = self._body(response)
        except (OSError, HTTPException) as error:
            raise faults.unanswered(self._url, error) from error
        self.reusable = not response.will_close
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status, headers, body)

    def close(self) -> None:
        """Close the connection, even if a request has no answer yet."""
        self._sock.close()

    def _body(self, response: HTTPResponse) -> bytes:
        if response.length is not None and response.length <= MOST_BYTES:
            return response.read()
        body = b"" if response.length else response.read(MOST_BYTES + 1)
        if response.length or len(body) > MOST_BYTES:
            raise HTTPException(f"an answer of more than {MOST_BYTES} bytes")
        return body


class Connections:
    """The idle connections to one endpoint; safe for many threads. Nobody has to close them."""

    def __init__(
        self, endpoint: Endpoint, trust: Callable[[], ssl.SSLContext], connect_seconds: float, most_idle: int
    ) -> None:
        self._endpoint, self._trust = endpoint, trust
        self._connect_seconds, self._most_idle = connect_seconds, most_idle
        self._context: ssl.SSLContext | None = None
        self._idle: list[Connection] = []
        self._lock = Lock()
        weakref.finalize(self, _close, self._idle)

    def take(self, elapsed: Callable[[], float], unreached: Exception | None = None) -> Connection:
        """An idle connection that still stands, or a new one. Raises exceptions of botocore.

        `unreached`: why no new one can be had at this moment, which is raised then.
        """
        while True:
            with self._lock:
                idle = self._idle.pop() if self._idle else None
            if idle is None and unreached is not None:
                raise unreached
            if idle is None:
                return Connection(self._connect(), self._endpoint.url, elapsed)
            if idle.is_fresh():
                return idle
            idle.close()

    def give(self, connection: Connection) -> None:
        """Keep a connection for another call, or close it."""
        with self._lock:
            if connection.reusable and len(self._idle) < self._most_idle:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close all idle connections."""
        with self._lock:
            _close(self._idle)

    def _connect(self) -> socket.socket:
        address = self._endpoint.host, self._endpoint.port
        try:
            sock = socket.create_connection(address, self._connect_seconds)
        except OSError as error:
            raise faults.unreached(self._endpoint.url, error) from error
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if not self._endpoint.secure:
            return sock
        try:
            return self._tls().wrap_socket(sock, server_hostname=self._endpoint.host)
        except OSError as error:
            sock.close()
            raise faults.unanswered(self._endpoint.url, error) from error

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = self._trust()
        return self._context


def _close(connections: list[Connection]) -> None:
    while connections:
        connections.pop().close()
