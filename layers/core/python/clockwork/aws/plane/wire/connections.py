"""Connections to one endpoint, kept alive between calls.

How connections fail. The endpoint cannot be reached, or its certificate is not trusted. The endpoint closes an idle
connection, also while the environment is frozen. The endpoint closes a connection in the middle of an answer, or its
answer is missing, slow, endless or too long. Every such connection is closed and never used again.
"""

from __future__ import annotations

import select
import socket
import ssl
import weakref
from collections.abc import Callable
from threading import Lock

from clockwork.aws.plane import late
from clockwork.aws.plane.endpoints import Endpoint
from clockwork.aws.plane.wire import faults
from clockwork.aws.plane.wire.plain import Answer, Head, head_of

#: The most bytes of an answer. DynamoDB answers with up to 16 MB of items, which base64 makes longer by a third.
MOST_BYTES = 32 * 1024 * 1024
#: The time for the rest of an answer whose beginning came in time. The time counts from the first read of this answer,
#: since the answer of another call may have used the time before.
REST_SECONDS = 1.0
#: The most bytes of one read: as many as a record of TLS has (RFC 8446, 5.1).
_READ_BYTES = 16_384
_PAST = float("-inf")


class Connection:
    """One connection, on which one call at a time is made. `send` and `receive` raise exceptions of botocore."""

    def __init__(self, sock: socket.socket, url: str, elapsed: Callable[[], float]) -> None:
        self._sock, self._url, self._elapsed = sock, url, elapsed
        self._until = _PAST
        self._incoming = select.poll()
        self._incoming.register(sock, select.POLLIN)
        #: The bytes that TLS has decrypted already, which the system no longer tells of.
        self._pending = sock.pending if isinstance(sock, ssl.SSLSocket) else int
        self.reusable = False

    def probe(self) -> bool:
        """Read what came on the idle connection; True if nothing did: neither its end nor bytes that nobody asked for.

        Records of TLS that carry no bytes of an answer do no harm, such as new session tickets.
        """
        if not self._incoming.poll(0) and not self._pending():
            return True
        self._until = _PAST
        try:
            self._read(1)
        except TimeoutError:
            return True
        except OSError:
            pass
        return False

    def send(self, request: bytes, seconds: float) -> None:
        """Send a request whose answer `receive` has to have read within so many seconds from now."""
        self.reusable = False
        self._until = self._elapsed() + seconds
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
            received = self._read(_READ_BYTES)
            self._until = max(self._until, self._elapsed() + REST_SECONDS)
            head = head_of(received)
            if head is None or head.length > MOST_BYTES:
                answer, self.reusable = late.read_odd(received, self._read, MOST_BYTES)
                return answer
            return Answer(head.status, head.headers, self._body(head, received))
        except OSError as error:
            raise faults.unanswered(self._url, error) from error

    def close(self) -> None:
        """Close the connection, even if a request has no answer yet."""
        self._sock.close()

    def _body(self, head: Head, received: bytes) -> bytes:
        """The body behind a plain head. A connection that brought bytes beyond it is not used again."""
        parts = [received[head.begins :]]
        left = head.length - len(parts[0])
        while left > 0:
            if not (part := self._read(_READ_BYTES)):
                raise ConnectionError(f"the answer breaks off {left} bytes before its end")
            parts.append(part)
            left -= len(part)
        self.reusable = left == 0 and not head.closes
        return b"".join(parts)[: head.length]

    def _read(self, most: int) -> bytes:
        """The next bytes, after the time only those that have arrived already; none if the connection has ended."""
        self._sock.settimeout(max(0.0, self._until - self._elapsed()))
        try:
            return self._sock.recv(most)
        except (BlockingIOError, ssl.SSLWantReadError):
            raise TimeoutError("timed out") from None


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
            if idle.probe():
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
