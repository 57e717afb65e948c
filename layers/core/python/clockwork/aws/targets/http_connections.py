"""HTTP connections to webhook receivers: to a checked address, kept alive, and bounded in time and in bytes.

The socket enforces the bounds, since no receiver can get past it. Every receive and send gets the time that is left of
the whole attempt: a receiver that sends a byte now and then gains no time, and no other thread has to watch.
"""

from __future__ import annotations

import math
import select
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from http.client import HTTPConnection
from typing import Any, cast

from clockwork.aws.trust import trusting_the_system
from clockwork.domain.targets.urls import Endpoint

#: An idle connection is used again only within this time, since its server may be about to close it. Of the widespread
#: servers Node.js closes first, after 5 s: https://nodejs.org/api/http.html#serverkeepalivetimeout
IDLE_SECONDS = 4.0
#: The most idle connections that are kept in all; the one unused for longest is closed first.
MOST_IDLE = 64


class AnswerTooLong(OSError):
    """The receiver sent more bytes than the transport reads."""


class Bounds:
    """The bounds of both socket classes: an end in time, and the bytes that may still be received.

    After `ends` (by time.monotonic()) a receive or a send raises TimeoutError. Once `allowance` bytes have been
    received, a receive raises AnswerTooLong.
    """

    ends = math.inf
    allowance = 0

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        self._limit_time()
        wanted = min(nbytes or len(buffer), self.allowance)
        if wanted <= 0:
            raise AnswerTooLong
        received: int = super().recv_into(buffer, wanted, flags)  # type: ignore[misc]  # of the socket it is mixed into
        self.allowance -= received
        return received

    def send(self, content: Any, flags: int = 0) -> int:
        self._limit_time()
        sent: int = super().send(content, flags)  # type: ignore[misc]
        return sent

    def sendall(self, content: Any, flags: int = 0) -> None:
        self._limit_time()
        super().sendall(content, flags)  # type: ignore[misc]

    def _limit_time(self) -> None:
        self.settimeout(seconds_left(self.ends))  # type: ignore[attr-defined]


class _PlainSocket(Bounds, socket.socket):
    pass


class _TlsSocket(Bounds, ssl.SSLSocket):
    pass


class Connection(HTTPConnection):
    """A connection without TLS, made to `host`, an IP address, within `timeout` seconds."""

    def connect(self) -> None:
        self.sock = _dial(self)

    @property
    def is_connected(self) -> bool:
        """Whether it is idle and nothing came on it, neither bytes nor its end."""
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        return not poll.poll(0)


class _Tls(Connection):
    """A connection with TLS, made as others are; the rest of the timeout after connecting bounds the handshake."""

    def __init__(self, address: str, port: int, timeout: float, name: str, context: ssl.SSLContext) -> None:
        super().__init__(address, port, timeout=timeout)
        self._name, self._context = name, context

    def connect(self) -> None:
        dialled = _dial(self)
        try:
            self.sock = self._context.wrap_socket(dialled, server_hostname=self._name)
        except BaseException:
            dialled.close()
            raise


_Key = tuple[str, str, int, str]


class Connections:
    """The connections of a transport, the idle ones by (scheme, host, port, address).

    The host is part of this key, so a connection made for one name is never used for another.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._lock = threading.Lock()
        self._idle: list[tuple[_Key, float, Connection]] = []  # in the order in which they were given back

    def take(self, endpoint: Endpoint, addresses: Sequence[str], ends: float, allowance: int) -> Connection:
        """A connection to one of the addresses, an idle one if there is one; bounded by `ends` and `allowance`.

        Addresses that do not answer share the time that is left. Raises the OSError of the last address tried; after a
        fault of TLS no further address is tried.
        """
        connection = self._reuse({_key(endpoint, address) for address in addresses})
        connection = connection or self._connect(endpoint, addresses, ends)
        bounds = bounds_of(connection)
        bounds.ends, bounds.allowance = ends, allowance
        return connection

    def give_back(self, endpoint: Endpoint, connection: Connection) -> None:
        """Keep a connection whose answer was read to its end for the next delivery to the same host and address."""
        if connection.sock is None:  # the receiver asked to close it
            return
        with self._lock:
            self._idle.append((_key(endpoint, connection.host), time.monotonic(), connection))
            surplus = self._idle[:-MOST_IDLE]
            del self._idle[:-MOST_IDLE]
        for _, _, unused in surplus:
            unused.close()

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, _, connection in idle:
            connection.close()

    def _reuse(self, keys: set[_Key]) -> Connection | None:
        while (found := self._pop(keys)) is not None:
            idle_since, connection = found
            if time.monotonic() - idle_since < IDLE_SECONDS and connection.is_connected:
                return connection
            connection.close()
        return None

    def _pop(self, keys: set[_Key]) -> tuple[float, Connection] | None:
        with self._lock:
            for index in reversed(range(len(self._idle))):
                if self._idle[index][0] in keys:
                    _, idle_since, connection = self._idle.pop(index)
                    return idle_since, connection
        return None

    def _connect(self, endpoint: Endpoint, addresses: Sequence[str], ends: float) -> Connection:
        failure: OSError = OSError("no address")
        for index, address in enumerate(addresses):
            connection = self._make(endpoint, address, seconds_left(ends) / (len(addresses) - index))
            try:
                connection.connect()
                return connection
            except ssl.SSLError:
                connection.close()
                raise
            except OSError as error:
                connection.close()
                failure = error
        raise failure

    def _make(self, endpoint: Endpoint, address: str, timeout_seconds: float) -> Connection:
        if endpoint.scheme == "http":
            return Connection(address, endpoint.port, timeout=timeout_seconds)
        return _Tls(address, endpoint.port, timeout_seconds, endpoint.host, self._context())

    def _context(self) -> ssl.SSLContext:
        """The TLS context, made when it is first needed.

        Reading a trust store takes as much CPU as an eighth of a cold start.
        """
        with self._lock:
            self._tls = self._tls or trusting_the_system()
            self._tls.sslsocket_class = _TlsSocket
            return self._tls


def bounds_of(connection: Connection) -> Bounds:
    """The bounds of an open connection, whose socket is of one of the two classes above."""
    return cast(Bounds, connection.sock)


def seconds_left(ends: float) -> float:
    """The seconds left until `ends` (by time.monotonic()); raises TimeoutError if none are left."""
    left = ends - time.monotonic()
    if left <= 0:
        raise TimeoutError("the time is up")
    return left if left < threading.TIMEOUT_MAX else threading.TIMEOUT_MAX


def _dial(connection: Connection) -> socket.socket:
    ends = time.monotonic() + float(connection.timeout)  # type: ignore[arg-type]  # always given as a number
    sock = _PlainSocket(socket.AF_INET6 if ":" in connection.host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(connection.timeout)
        sock.connect((connection.host, connection.port))
        sock.settimeout(seconds_left(ends))
    except BaseException:
        sock.close()
        raise
    return sock


def _key(endpoint: Endpoint, address: str) -> _Key:
    return (endpoint.scheme, endpoint.host, endpoint.port, address)
