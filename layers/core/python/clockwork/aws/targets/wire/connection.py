"""One connection: a request is written in one piece, and its answer is read, nothing beyond it.

Faults of a receiver: it closes while the connection is idle, or once it has the request. Its answer is missing,
doubled, broken off, endless, or earlier than the request. Bytes beyond the answer to one request are never taken for
the answer to the next: such a connection is not used again.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import ssl
from http.client import HTTPResponse
from typing import Any

import msgspec

from clockwork.aws.kept_reader import KeptReader
from clockwork.aws.targets.wire.sockets import PlainSocket, TlsSocket


class Request(msgspec.Struct, frozen=True):
    """A request as it is sent. Its headers name the host."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def to_bytes(self) -> bytes:
        """The bytes of the request. Raises ValueError for a header that would be more than one line.

        A create refuses such headers, and this is the last place where it would show that one came another way.
        """
        lines = [f"{name}: {value}\r\n" for name, value in self.headers.items()]
        first = f"{self.method} {self.path} HTTP/1.1\r\n"
        head = f"{first}{''.join(lines)}accept-encoding: identity\r\ncontent-length: {len(self.body)}\r\n\r\n"
        ends = len(lines) + 4
        if head.count("\r") != ends or head.count("\n") != ends or "\x00" in head:
            raise ValueError("a header of the request is no line")
        return head.encode("latin-1") + self.body


class _Incoming(io.RawIOBase):
    """The bytes that arrive on a socket, within its bounds.

    While `waits` is off, only bytes that have arrived already.
    """

    def __init__(self, sock: PlainSocket | TlsSocket) -> None:
        self._sock = sock
        self.waits = True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._sock.recv_into(buffer) if self.waits else self._sock.recv_what_came(buffer)


class HeadCutShort(http.client.HTTPException):
    """The connection was closed within the head of an answer, which may have said anything."""


class _AnswerReader(KeptReader):
    """A reader that tells a head which was read to its end from one that was cut short: `HTTPResponse` takes both."""

    #: The lines of a head that were read so far; None outside of a head.
    lines: int | None = None

    def readline(self, size: int | None = -1) -> bytes:
        """A line. Raises HeadCutShort where a head ends before its empty line, but not where it does not begin."""
        line = super().readline(size)
        if self.lines is not None:
            # A line that is too long has no end either. `HTTPResponse` refuses that one.
            is_cut = not line.endswith(b"\n") and (size is None or size < 0 or len(line) < size)
            if is_cut and (line or self.lines):
                raise HeadCutShort
            self.lines += 1
        return line


class Connection:
    """An open connection to an address, on which one request at a time is sent."""

    def __init__(self, sock: PlainSocket | TlsSocket, address: str) -> None:
        self.sock, self.address = sock, address
        self._incoming = _Incoming(sock)
        self._reader = _AnswerReader(self._incoming, 8_192)
        #: How many requests were sent on it.
        self.asked = 0
        self._allowance = 0

    def bound(self, ends: float, allowance: int) -> None:
        """Bound all that follows by an end (by time.monotonic()) and so many bytes to receive."""
        self.sock.ends, self.sock.allowance = ends, allowance
        self._allowance = allowance

    @property
    def has_received(self) -> bool:
        """Whether a byte came since it was bounded."""
        return self.sock.allowance < self._allowance

    def ask(self, request: bytes, method: str) -> HTTPResponse:
        """Send a request and read the head of its final answer. Raises OSError or HTTPException.

        Answers 1xx are interim (RFC 9110, 15.2): they are passed over, within the bounds of time and bytes.
        """
        self.asked += 1
        with contextlib.suppress(BrokenPipeError):  # a receiver may answer before it has read the whole body
            self.sock.sendall(request)
        while True:
            response = HTTPResponse(self._reader, method=method)  # type: ignore[arg-type] # it only calls makefile
            self._reader.lines = 0
            try:
                response.begin()
            finally:
                self._reader.lines = None
            if response.status >= 200:
                return response

    def probe(self) -> bool:
        """Peek at what came on it while it was idle; True if nothing did: neither its end nor strange bytes."""
        self._incoming.waits = False
        try:
            self._reader.peek(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False
        finally:
            self._incoming.waits = True
        return False

    def close(self) -> None:
        """Close the connection, even if a request has no answer yet."""
        self.sock.close()
