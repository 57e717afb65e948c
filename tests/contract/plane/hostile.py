"""A service that does as it is told: answers, halves of answers, silence, and connections that end."""

from __future__ import annotations

import json
import socket
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from threading import Event, Lock, Thread
from typing import Any

REQUEST_ID = "8SUC3PQP1QEBGS8GV8UT5S7IA7VV4KQNSO5AEMVJF66Q9ASUAAJG"


@dataclass(frozen=True)
class Request:
    """A request as it came, and the number of its connection."""

    connection: int
    headers: dict[str, str]
    body: bytes

    @property
    def operation(self) -> str:
        """The operation that was asked for."""
        return self.headers["x-amz-target"].rpartition(".")[2]


#: Meets one request. Its result is sent, perhaps piece by piece; None closes the connection.
Behaviour = Callable[[Request], bytes | Iterator[bytes] | None]


class Closing(bytes):
    """Bytes after which the connection is closed."""


class Reset(bytes):
    """Bytes after which the connection is reset."""


@dataclass
class Service:
    """The first behaviour meets the first request, and so on; all later requests are answered with `rest`."""

    behaviours: list[Behaviour]
    rest: Behaviour
    requests: list[Request] = field(default_factory=list)
    #: Set to end the wait of every behaviour that waits.
    over: Event = field(default_factory=Event)
    url: str = ""
    connections: int = 0
    #: How often the service closed an idle connection.
    idle_closed: Event = field(default_factory=Event)
    _lock: Lock = field(default_factory=Lock)

    def meet(self, request: Request) -> bytes | Iterator[bytes] | None:
        """The answer to a request, by the behaviour whose turn it is."""
        with self._lock:
            self.requests.append(request)
            behaviour = self.behaviours.pop(0) if self.behaviours else self.rest
        return behaviour(request)


@contextmanager
def serving(*behaviours: Behaviour, rest: Behaviour | None = None, wrap: Any = None) -> Iterator[Service]:
    """A service on 127.0.0.1. `wrap` makes a TLS socket of an accepted one."""
    service = Service(list(behaviours), rest or answer(200, {}))
    listening = socket.create_server(("127.0.0.1", 0))
    service.url = f"{'https' if wrap else 'http'}://127.0.0.1:{listening.getsockname()[1]}"
    taken: list[socket.socket] = []

    def take() -> None:
        while True:
            try:
                connection, _ = listening.accept()
                taken.append(connection)
                service.connections += 1
                Thread(target=_serve, args=(service, connection, service.connections, wrap), daemon=True).start()
            except OSError:
                return

    Thread(target=take, daemon=True).start()
    try:
        yield service
    finally:
        service.over.set()
        listening.close()
        for connection in taken:
            connection.close()


def _serve(service: Service, connection: socket.socket, number: int, wrap: Any) -> None:
    try:
        connection = wrap(connection) if wrap else connection
        reader = connection.makefile("rb")
        while reader.readline():
            headers = {}
            while line := reader.readline().decode().strip():
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            sent = service.meet(Request(number, headers, reader.read(int(headers["content-length"]))))
            for piece in [sent] if isinstance(sent, bytes) else sent or ():
                connection.sendall(piece)
            if isinstance(sent, Reset):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if sent is None or isinstance(sent, Closing | Reset):
                break
        reader.close()
        connection.close()
        service.idle_closed.set()
    except OSError:
        return


def answer(status: int, body: Any, *, crc: int | None = None, **headers: str) -> Behaviour:
    """Answers with this status and body: JSON of a value, or bytes as they are. `crc`: another sum than the right one.

    In names of headers `_` stands for `-`.
    """
    return lambda _: written(status, body, crc=crc, **headers)


def written(status: int, body: Any, *, crc: int | None = None, **headers: str) -> bytes:
    """An answer as it goes over the wire."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = {
        "Date": formatdate(usegmt=True),
        "x-amzn-RequestId": REQUEST_ID,
        "Content-Type": "application/x-amz-json-1.0",
        "Content-Length": str(len(content)),
        "x-amz-crc32": str(zlib.crc32(content) if crc is None else crc),
    }
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
    return f"HTTP/1.1 {status} Whatever\r\n{head}\r\n".encode() + content


def refusal(code: str, message: str = "no", *, status: int = 400, **members: Any) -> Behaviour:
    """Refuses as DynamoDB does."""
    return answer(status, {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message, **members})


def closes(_: Request) -> None:
    """Closes the connection instead of answering."""


def resets(_: Request) -> bytes:
    """Resets the connection instead of answering."""
    return Reset()


def half(whole: Behaviour, part: float = 0.5) -> Behaviour:
    """Sends a part of an answer, then closes the connection."""

    def cut(request: Request) -> bytes:
        sent = bytes(whole(request) or b"")  # type: ignore[arg-type]
        return Closing(sent[: int(len(sent) * part)])

    return cut


def then_closes(whole: Behaviour) -> Behaviour:
    """Answers, and closes the connection, of which the answer says nothing."""
    return lambda request: Closing(whole(request) or b"")  # type: ignore[arg-type]


def raw(sent: bytes, *more: bytes) -> Behaviour:
    """Sends these bytes, then closes the connection."""
    return lambda _: Closing(sent + b"".join(more))


def chunked(body: Any, *, last: bool = True) -> Behaviour:
    """Answers in two chunks, perhaps without the last, empty one."""
    content = json.dumps(body).encode()
    parts: Sequence[bytes] = [content[:3], content[3:], *([b""] if last else [])]
    sent = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return lambda _: head + sent if last else Closing(head + sent)
