"""Sockets that bound an attempt in time and in bytes, since no receiver can get past its socket.

Every receive and send gets the rest of the whole attempt's time. A receiver that sends a byte now and then gains no
time, and no other thread has to watch.
"""

from __future__ import annotations

import math
import socket
import ssl
import threading
import time
from typing import Any


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

    def recv_what_came(self, buffer: Any) -> int:
        """Receive the bytes that have arrived already. Raises BlockingIOError or SSLWantReadError if there are none."""
        self.settimeout(0)  # type: ignore[attr-defined]
        received: int = super().recv_into(buffer)  # type: ignore[misc]
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


class PlainSocket(Bounds, socket.socket):
    """A bounded socket without TLS."""


class TlsSocket(Bounds, ssl.SSLSocket):
    """A bounded socket with TLS."""


def dial(address: str, port: int, seconds: float) -> PlainSocket:
    """A connected socket. The rest of the seconds bounds the next steps, such as a handshake. Raises OSError."""
    ends = time.monotonic() + seconds
    sock = PlainSocket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(seconds)
        sock.connect((address, port))
        sock.settimeout(seconds_left(ends))
    except BaseException:
        sock.close()
        raise
    return sock


def seconds_left(ends: float) -> float:
    """The seconds left until `ends` (by time.monotonic()); raises TimeoutError if none are left."""
    left = ends - time.monotonic()
    if left <= 0:
        raise TimeoutError("the time is up")
    return left if left < threading.TIMEOUT_MAX else threading.TIMEOUT_MAX
