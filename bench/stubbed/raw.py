"""The floor of a workload's calls: the same signed bytes over raw sockets, all written and then all read."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from bench.stubbed.bare import Bare, Calls
from bench.stubbed.stub_world import stub_session
from clockwork.aws.repeats import batches
from clockwork.aws.session import THREADS

_END = b"\r\n\r\n"


def requests_of(calls: Calls, endpoint_url: str) -> list[bytes]:
    """The requests of these calls as botocore sends them."""
    made: list[bytes] = []
    session = stub_session()

    def note(**call: Any) -> None:
        made.append(_bytes_of(call["request"]))

    session.register("before-send", note)
    bare = Bare(session, endpoint_url)
    try:
        bare.replay(calls)()
    finally:
        bare.close()
    return made


@contextmanager
def floor(requests: Sequence[bytes], endpoint_url: str) -> Iterator[Callable[[], None]]:
    """A function that sends these requests, as many at once as the adapters, and reads every answer to its end."""
    place = urlsplit(endpoint_url)
    connections = [socket.create_connection((place.hostname, place.port)) for _ in range(THREADS)]
    for connection in connections:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def run() -> None:
        for some in batches(requests, THREADS):
            for connection, request in zip(connections, some, strict=False):
                connection.sendall(request)
            for connection in connections[: len(some)]:
                _read(connection)

    try:
        yield run
    finally:
        for connection in connections:
            connection.close()


def _read(connection: socket.socket) -> None:
    """Read one answer. Raises ValueError unless it is a success."""
    answer = connection.recv(65_536)
    while _END not in answer:
        answer += _more(connection)
    head, _, body = answer.partition(_END)
    if not head.startswith(b"HTTP/1.1 200 "):
        raise ValueError(f"the stub answers {head[:80]!r}")
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r")[0])
    left = length - len(body)
    while left > 0:
        left -= len(_more(connection))


def _more(connection: socket.socket) -> bytes:
    if not (some := connection.recv(65_536)):
        raise ValueError("the stub has closed the connection")
    return some


def _bytes_of(request: Any) -> bytes:
    """A prepared request of botocore as it goes over the wire."""
    place = urlsplit(request.url)
    path = (place.path or "/") + (f"?{place.query}" if place.query else "")
    headers = {"Host": place.netloc, **{name: _text(value) for name, value in request.headers.items()}}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    body = request.body if isinstance(request.body, bytes) else request.body.encode()
    return f"{request.method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
