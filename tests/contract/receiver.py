"""A webhook receiver on 127.0.0.1 that treats connections as a test's script says; a clock, and deliveries for it."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from types import TracebackType

import msgspec

from clockwork.domain.jobs import Occurrence
from clockwork.domain.releases import Delivery
from clockwork.targets.message import Payload
from clockwork.targets.registry import Target

#: The treatment of a connection: called once per connection with its socket, which is closed afterwards.
Script = Callable[["Exchange"], object]


class WallClock:
    """The clock of this machine."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def hold_until(self, at: int) -> None:
        time.sleep(max(0, at - self.now()) / 1000)


class Request(msgspec.Struct, frozen=True):
    """A request as it was on the wire."""

    line: str
    headers: dict[str, str]
    body: bytes


class Exchange:
    """One connection, seen from the receiver."""

    def __init__(self, receiver: Receiver, sock: socket.socket) -> None:
        self._receiver = receiver
        self.closing = receiver.closing
        self.sock = sock
        self.file = sock.makefile("rb")

    def read_request(self) -> Request | None:
        """The next request; None once the sender has closed."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.file.readline()
            if not line:
                return None
            head += line
        first, *lines = head.decode("ascii").strip().split("\r\n")
        headers = dict(line.lower().split(": ", 1)[:1] + line.split(": ", 1)[1:] for line in lines)
        request = Request(first, headers, self.file.read(int(headers.get("content-length", "0"))))
        self._receiver.requests.append(request)
        return request

    def send(self, content: bytes) -> None:
        self.sock.sendall(content)

    def drip(self, content: bytes) -> None:
        """Send one byte every 20 ms until the sender hangs up or the receiver is closed."""
        for value in content:
            if self.closing.wait(0.02):
                return
            self.send(bytes((value,)))

    def stall(self) -> None:
        """Send nothing until the sender hangs up."""
        while self.sock.recv(4096):
            pass


class Receiver:
    """Listens inside its `with` block. It counts connections and keeps requests."""

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        self._script = script
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._open: set[socket.socket] = set()
        self.port: int = self._listener.getsockname()[1]
        self.requests: list[Request] = []
        self.connections = 0
        self.closing = threading.Event()

    def __enter__(self) -> Receiver:
        self._start(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.closing.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join(5)
        self._listener.close()
        for sock in list(self._open):
            with contextlib.suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
        self.wait_for_hang_up()

    def wait_for_hang_up(self) -> None:
        """Wait until every connection so far has been closed by its script."""
        for thread in self._threads[1:]:
            thread.join(5)

    def _accept(self) -> None:
        while not self.closing.is_set():
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._start(partial(self._serve, sock))

    def _serve(self, sock: socket.socket) -> None:
        with sock, contextlib.suppress(OSError):
            if self._tls is None:
                self._play(sock)
            else:
                with self._tls.wrap_socket(sock, server_side=True) as wrapped:
                    self._play(wrapped)

    def _play(self, sock: socket.socket) -> None:
        self._open.add(sock)
        exchange = Exchange(self, sock)
        with exchange.file:
            self._script(exchange)
        self._open.discard(sock)

    def _start(self, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run, daemon=True)
        self._threads.append(thread)
        thread.start()


def answering(*answers: bytes) -> Script:
    """A well-behaved receiver: per connection it gives each answer once, then repeats the last until hang-up."""

    def script(exchange: Exchange) -> None:
        remaining: Iterator[bytes] = iter(answers)
        answer = answers[0]
        while exchange.read_request() is not None:
            answer = next(remaining, answer)
            exchange.send(answer)

    return script


def answer(status: str, body: bytes = b"", *headers: str) -> bytes:
    """The bytes of one HTTP answer."""
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


PAYLOAD = Payload(b'{"n":1}')


def delivery_to(
    target: Target,
    payload: Payload = PAYLOAD,
    *,
    attempt: int = 1,
    secrets: tuple[str, ...] = (),
    seconds: float = 10,
    client_id: str = "acme",
) -> Delivery:
    """An attempt that was due now and has `seconds` until its deadline."""
    now = WallClock().now()
    occurrence = Occurrence(client_id, now, now, target, payload, signing_secrets=secrets)
    return Delivery(f"ajob.{now:013d}.0", "ajob", attempt, occurrence, now + round(seconds * 1000))
