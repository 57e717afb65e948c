"""Answers whose head is not plain, read by the standard library: in chunks, without a length, after a 100.

They may be damaged or hostile. `http.client` bounds lines and headers, and refuses what it cannot read. A bound on all
bytes is added here, since a chunk may call itself endless. The import takes 15 ms, which a cold start is spared.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from typing import Any

from clockwork.aws.kept_reader import KeptReader
from clockwork.aws.plane.wire.plain import Answer

#: The most bytes of an answer besides its body: its head, and the frames of its chunks.
MOST_BESIDES = 1_048_576


class _Incoming(io.RawIOBase):
    """The bytes that were received already, then those that `receive` brings, up to a bound."""

    def __init__(self, received: bytes, receive: Callable[[int], bytes], most_bytes: int) -> None:
        self._received, self._receive, self._left = received, receive, most_bytes
        self.is_over = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self.is_over:
            return 0
        some = self._received[: len(buffer)] or self._receive(len(buffer))
        self._received = self._received[len(some) :]
        self._left -= len(some)
        if self._left < 0:
            raise ConnectionError("the answer has no end")
        buffer[: len(some)] = some
        return len(some)


def read_odd(received: bytes, receive: Callable[[int], bytes], most_bytes: int) -> tuple[Answer, bool]:
    """An answer, and whether another one may come on its connection. Raises OSError.

    `receive`: the next bytes, at most so many; none after the last. `most_bytes`: of the body.
    """
    incoming = _Incoming(received, receive, most_bytes + MOST_BESIDES)
    reader = KeptReader(incoming, 16_384)
    response = HTTPResponse(reader, method="POST")  # type: ignore[arg-type] # it only calls makefile
    try:
        response.begin()
        body = _body(response, most_bytes)
    except (HTTPException, ValueError, OverflowError) as error:  # the last two: a chunk of less than no bytes
        raise ConnectionError(f"{type(error).__name__}: {error}") from error
    incoming.is_over = True
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status, headers, body), not response.will_close and not reader.peek(1)


def _body(response: HTTPResponse, most_bytes: int) -> bytes:
    # A chunk may call itself larger than memory, also where a 204 has no body.
    is_bounded = not response.chunked and response.length is not None and response.length <= most_bytes
    if is_bounded:
        return response.read()
    body = b"" if response.length else response.read(most_bytes + 1)
    if response.length or len(body) > most_bytes:
        raise HTTPException(f"an answer of more than {most_bytes} bytes")
    return body
