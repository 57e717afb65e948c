"""Answers on the wire of the lean plane: what it reads itself is what `http.client` would have read."""

from __future__ import annotations

import io
import random
import socket
import time
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPException, HTTPResponse
from typing import Any, NamedTuple

import pytest
from botocore.exceptions import ConnectionClosedError

from clockwork.aws.kept_reader import KeptReader
from clockwork.aws.plane import late
from clockwork.aws.plane.wire import connections, odd, plain
from clockwork.aws.plane.wire.connections import Connection
from clockwork.aws.plane.wire.plain import Answer, head_of
from tests.contract.plane.answers_at_random import answer_at_random
from tests.contract.plane.hostile import Request, answer, raw, serving, written
from tests.contract.plane.planes import LEAN, PATIENT, connected, outcome, told

ANSWERS = 10_000
#: A read too many would wait for so long.
SECONDS = 20.0
PIECES = (16_384, 16_384, 16_384, 3_000, 50)
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"


class Few(socket.socket):
    """A socket whose reads bring a few bytes at a time."""

    most = 16_384

    def recv(self, size: int, flags: int = 0) -> bytes:
        return super().recv(min(size, self.most), flags)


class _Sent(io.RawIOBase):
    """The bytes that were sent. `is_over`: a reader asked for more than there were."""

    def __init__(self, sent: bytes) -> None:
        self._bytes = io.BytesIO(sent)
        self.is_over = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        read = self._bytes.readinto(buffer)
        self.is_over |= read == 0
        return read


class Read(NamedTuple):
    """An answer, and whether its connection can be used again. None: it was refused."""

    answer: Answer | None
    is_reusable: bool


def by_http_client(sent: bytes) -> tuple[Read, bool]:
    """The answer as `http.client` reads it, and whether it asked for more than was sent."""
    incoming = _Sent(sent)
    reader = KeptReader(incoming)
    response = HTTPResponse(reader, method="POST")  # type: ignore[arg-type]
    try:
        response.begin()
        body = response.read()
    except (OSError, HTTPException, ValueError, OverflowError, MemoryError):
        return Read(None, False), True
    headers = {name.lower(): value for name, value in response.headers.items()}
    answer, was_over = Answer(response.status, headers, body), incoming.is_over
    return Read(answer, not response.will_close and not reader.read()), was_over


def by_the_plane(sent: bytes, most: int, *, closes: bool) -> Read:
    """The same by a connection of the plane, which gets so many bytes at a time."""
    ours, theirs = socket.socketpair()
    with theirs, Few(fileno=ours.detach()) as sock:
        sock.most = most
        theirs.sendall(sent)
        if closes:
            theirs.shutdown(socket.SHUT_WR)
        connection = Connection(sock, "http://x", time.monotonic)
        connection.send(b"", SECONDS)
        try:
            read = connection.receive()
        except ConnectionClosedError:
            return Read(None, False)
        return Read(read, connection.reusable and connection.probe())


@pytest.mark.nightly
def test_ten_thousand_answers_are_read_as_http_client_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, seen = random.Random(38), Counter[str]()

    def read_odd(*given: Any) -> tuple[Answer, bool]:
        seen["odd"] += 1
        return odd.read_odd(*given)

    monkeypatch.setattr(late, "read_odd", read_odd)
    for _ in range(ANSWERS):
        sent = answer_at_random(rng)
        expected, closes = by_http_client(sent)
        found = by_the_plane(sent, rng.choice(PIECES), closes=closes)
        # A connection that is closed is never used again, whatever its last answer says.
        assert found == (expected._replace(is_reusable=False) if closes else expected), sent
        seen["refused" if found.answer is None else "reusable" if found.is_reusable else "last"] += 1
    assert all(seen[kind] > ANSWERS / 10 for kind in ("refused", "reusable", "last", "odd")), seen
    assert ANSWERS - seen["odd"] > ANSWERS / 10, seen


@pytest.mark.parametrize(
    "head",
    [
        PLAIN + b"content-length: 3\r\n",
        PLAIN + b"Content-Length: 2\r\n",
        PLAIN + b"Transfer-Encoding: chunked\r\n",
        PLAIN + b"X: a\r\n folded\r\n",
        PLAIN + b"X: a\nY: b\r\n",
        PLAIN + b"X: a\rY: b\r\n",
        PLAIN + b"X : a\r\n",
        PLAIN + b"X: \xe9\r\n",
        PLAIN + b"X: " + b"y" * plain.MOST_BYTES + b"\r\n",
        PLAIN + b"".join(b"X-%d: y\r\n" % n for n in range(plain.MOST_LINES)),
        b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0000000002\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: \xb2\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 100 Continue\r\nContent-Length: 2\r\n",
        b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n",
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n",
    ],
)
def test_a_head_that_can_be_read_in_two_ways_is_not_plain(head: bytes) -> None:
    assert head_of(PLAIN + b"\r\n{}") is not None
    assert head_of(head + b"\r\n{}") is None
    assert head_of((PLAIN + b"\r\n")[:-1]) is None


#: Answers that the plane refuses, each as `http.client` does.
REFUSED = {
    "a header of a megabyte": (PLAIN + b"X: ", b"y" * 1_000_000, b"\r\n\r\n{}"),
    "a hundred thousand headers": (PLAIN, b"X: y\r\n" * 100_000, b"\r\n{}"),
    "an endless 100": (b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000,),
    "a chunk that is no number": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",),
    "a chunk of less than no bytes": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n{}\r\n0\r\n\r\n",),
    "a length that is too large": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}",),
    "a body that is cut off": (PLAIN, b"\r\n{"),
    "a head that is cut off in its status": (b"HTTP/1.",),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_answer_that_cannot_be_read_is_none_and_its_connection_is_left(name: str) -> None:
    with serving(raw(*REFUSED[name]), answer(200, {"Item": {}})) as service, connected(LEAN, service.url) as aws:
        plane = aws.plane("dynamodb", 1, PATIENT)
        assert told(outcome(plane, "GetItem")) == "ConnectionClosedError"
        assert told(outcome(plane, "GetItem")) == {"Item": {}}
        assert [request.connection for request in service.requests] == [1, 2]


@pytest.mark.parametrize("size", [b"-1", b"fffffff"])
def test_chunks_without_end_are_not_kept(size: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_BYTES", 50_000)
    monkeypatch.setattr(odd, "MOST_BESIDES", 50_000)
    sent: list[int] = []

    def endless(_: Request) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + size + b"\r\n"
        while True:
            sent.append(60_000)
            yield b"x" * 60_000

    with serving(endless) as service, connected(LEAN, service.url) as aws:
        assert told(outcome(aws.plane("dynamodb", 1, PATIENT), "GetItem")) == "ConnectionClosedError"


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_without_a_body_has_none_whatever_its_length_says(status: int) -> None:
    """The bytes behind its head are those of no answer: the next call has a connection of its own."""
    sent = b'HTTP/1.1 %d X\r\nContent-Length: 11\r\n\r\n{"Item":{}}' % status
    with serving(lambda _: sent, answer(200, {"Item": {}})) as service, connected(LEAN, service.url) as aws:
        plane = aws.plane("dynamodb", 1, PATIENT)
        assert told(outcome(plane, "GetItem")) != {"Item": {}}
        assert told(outcome(plane, "GetItem")) == {"Item": {}}
        assert [request.connection for request in service.requests] == [1, 2]


def test_an_answer_in_two_pieces_is_read_wherever_it_is_cut() -> None:
    whole = written(200, {"Item": {"id": {"S": "x" * 50}}})
    expected, _ = by_http_client(whole)
    assert expected.is_reusable
    for most in range(1, len(whole)):
        assert by_the_plane(whole, most, closes=False) == expected


def test_the_next_answer_in_the_same_read_ends_the_connection() -> None:
    smuggled = written(200, {"Item": {"id": {"S": "another's"}}})
    with serving(lambda _: written(200, {}) + smuggled, answer(200, {})) as service:
        with connected(LEAN, service.url) as aws:
            plane = aws.plane("dynamodb", 1, PATIENT)
            assert [told(outcome(plane, "GetItem")) for _ in range(2)] == [{}, {}]
        assert [request.connection for request in service.requests] == [1, 2]
