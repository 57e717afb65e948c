"""Webhooks as a deliverer sends them: ten attempts on threads over the real transport, to a receiver over TLS."""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from bench.stubbed.canned import CLIENT, payloads
from bench.stubbed.receiver import NAME, receiver
from bench.stubbed.workloads import BATCH, Unexpected
from clockwork.aws.clock import SystemClock
from clockwork.aws.targets.http import HttpTransport
from clockwork.aws.targets.threads import ThreadedTargets
from clockwork.domain.executions import State
from clockwork.domain.jobs import Occurrence
from clockwork.domain.releases import Delivery
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload

_SIGNING_KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


#: The name of a secret, for OneSecret any.
SECRET = "clockwork/acme"


class OneSecret:
    """A store of secrets with one signing secret."""

    def get(self, _: str) -> str:
        return _SIGNING_KEY


def with_webhooks(measure: Callable[[Callable[[], None], Callable[[], None]], object]) -> None:
    """Call `measure` with two works that send BATCH webhooks: a deliverer's, and that of `http.client`.

    Both send them at once, on BATCH threads, and keep their connections.
    """
    with receiver() as (port, tls):
        transport = HttpTransport(SystemClock(), OneSecret(), resolver=lambda *_: ["127.0.0.1"], tls=tls)
        targets = ThreadedTargets({HttpTarget: transport}, SystemClock())
        bare = _Bare(port, tls)
        try:
            measure(lambda: _deliver(targets, port), bare.send)
        finally:
            bare.close()
            targets.close()
            transport.close()


def _deliver(targets: ThreadedTargets, port: int) -> None:
    now = time.time_ns() // 1_000_000
    target = HttpTarget(f"https://{NAME}:{port}/hooks/orders", headers={"x-shop": "7"}, private=True)
    for slot, payload in zip(range(BATCH), payloads(), strict=False):
        occurrence = Occurrence(CLIENT, now, now, target, payload, signing_secrets=(SECRET,))
        targets.begin(slot, Delivery(f"ajob{slot}.{now:013d}.0", f"ajob{slot}", 1, occurrence, now + 30_000))
    left = BATCH
    while left:
        for _, outcome in targets.collect():
            if outcome.state is not State.SUCCEEDED:
                raise Unexpected(f"the receiver is said to have answered {outcome}")
            left -= 1


class _Bare:
    """The same requests by `http.client`, on as many threads: a receiver may take seconds, so nobody sends in turn."""

    def __init__(self, port: int, tls: ssl.SSLContext) -> None:
        context = _named(tls)
        self._connections = [http.client.HTTPSConnection("127.0.0.1", port, context=context) for _ in range(BATCH)]
        self._bodies = [payload.body for payload in _some()]
        self._threads = ThreadPoolExecutor(BATCH)
        self._headers = {
            "host": f"{NAME}:{port}",
            "user-agent": "Clockwork",
            "content-type": "application/json",
            "x-shop": "7",
            "webhook-id": "ajob0.1800000000000.0",
            "webhook-timestamp": "1800000000",
            "clockwork-job-id": "ajob0",
            "clockwork-attempt": "1",
            "clockwork-due-at": "2027-01-15T08:00:00.000Z",
            "webhook-signature": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
        }

    def send(self) -> None:
        """Send BATCH of them."""
        for _ in self._threads.map(self._send, self._connections, self._bodies):
            pass

    def close(self) -> None:
        """Close the connections."""
        self._threads.shutdown()
        for connection in self._connections:
            connection.close()

    def _send(self, connection: http.client.HTTPSConnection, body: str) -> None:
        connection.request("POST", "/hooks/orders", body, self._headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != http.client.OK:
            raise Unexpected(f"the receiver answers {answer.status}")


def _some() -> list[Payload]:
    return [payload for _, payload in zip(range(BATCH), payloads(), strict=False)]


def _named(tls: ssl.SSLContext) -> ssl.SSLContext:
    """A context for an address instead of a name, which the certificate does not have."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(cadata="".join(map(ssl.DER_cert_to_PEM_cert, tls.get_ca_certs(binary_form=True))))
    return context
