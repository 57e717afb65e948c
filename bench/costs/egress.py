"""The bytes of a webhook that leave for the internet, which AWS bills by the GB: counted on the way to a receiver.

The shipped transport sends one webhook over TLS to a receiver on this machine, through a relay that counts. Each has a
connection of its own here, as where hosts are many or jobs are few; a kept connection saves its handshake.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from bench.stubbed.receiver import NAME, receiver
from bench.stubbed.webhooks import SECRET, OneSecret
from bench.stubbed.workloads import Unexpected
from clockwork.aws.clock import SystemClock
from clockwork.aws.targets.http import HttpTransport
from clockwork.domain.executions import State
from clockwork.domain.jobs import Occurrence
from clockwork.domain.releases import Delivery
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload

#: Assumed: the segments that a deliverer sends for a webhook of a connection of its own, with acknowledgements.
SEGMENTS = 10
#: The headers of IP and TCP in each, with a timestamp: RFC 791, RFC 9293, RFC 7323.
HEADER_BYTES = 20 + 20 + 12


class Relay:
    """Passes one connection on to a port of this machine, and counts the bytes that its client sends."""

    def __init__(self, onto: int) -> None:
        self.sent = 0
        self._onto = onto
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = Thread(target=self._pass_on, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Wait for the connection's end."""
        self._thread.join(timeout=10)
        self._listener.close()

    def _pass_on(self) -> None:
        client, _ = self._listener.accept()
        with client, socket.create_connection(("127.0.0.1", self._onto)) as server:
            back = Thread(target=_copy, args=(server, client), daemon=True)
            back.start()
            for part in _parts(client):
                self.sent += len(part)
                server.sendall(part)
            server.shutdown(socket.SHUT_WR)
            back.join(timeout=10)


def sent_bytes(size: int) -> int:
    """The bytes of one webhook whose payload has this size. Raises Unexpected if the receiver does not take it."""
    with _relayed() as (transport, relay):
        target = HttpTarget(f"https://{NAME}:{relay.port}/hooks/orders", private=True)
        now = time.time_ns() // 1_000_000
        occurrence = Occurrence("bench", now, now, target, Payload(b"x" * size), signing_secrets=(SECRET,))
        outcome = transport.deliver(Delivery(f"ajob.{now:013d}.0", "ajob", 1, occurrence, now + 30_000))
        if outcome.state is not State.SUCCEEDED:
            raise Unexpected(f"the receiver is said to have answered {outcome}")
    return relay.sent + SEGMENTS * HEADER_BYTES


@contextmanager
def _relayed() -> Iterator[tuple[HttpTransport, Relay]]:
    with receiver() as (port, tls):
        relay = Relay(port)
        transport = HttpTransport(SystemClock(), OneSecret(), resolver=lambda *_: ["127.0.0.1"], tls=tls)
        try:
            yield transport, relay
        finally:
            transport.close()
            relay.close()


def _parts(connection: socket.socket) -> Iterator[bytes]:
    while part := connection.recv(65_536):
        yield part


def _copy(source: socket.socket, onto: socket.socket) -> None:
    for part in _parts(source):
        onto.sendall(part)
