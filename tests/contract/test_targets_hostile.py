"""Hostile targets: one delivery must leave nothing behind that harms the next one."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from clockwork.aws.targets.http import HttpTransport
from clockwork.domain.executions import State
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from tests.contract.receiver import Exchange, Receiver, WallClock, answer, delivery_to


class NoSecrets:
    def get(self, name: str) -> str:
        raise AssertionError(f"{name} was asked for, though nothing is signed")


@pytest.fixture
def transport() -> Iterator[HttpTransport]:
    transport = HttpTransport(WallClock(), NoSecrets())
    yield transport
    transport.close()


def test_an_answer_after_the_timeout_is_not_taken_for_the_next_deliverys(transport: HttpTransport) -> None:
    given_up = threading.Event()

    def late(exchange: Exchange) -> None:
        while (request := exchange.read_request()) is not None:
            if request.body == b"slow":
                given_up.wait(5)
                exchange.send(answer("200 OK", b"late"))
            else:
                exchange.send(answer("503 Service Unavailable", b"prompt"))

    with Receiver(late) as receiver:
        target = HttpTarget(f"http://127.0.0.1:{receiver.port}/", timeout_seconds=0.3, private=True)
        first = transport.deliver(delivery_to(target, Payload(b"slow")))
        given_up.set()
        second = transport.deliver(delivery_to(target, Payload(b"quick")))
    assert first.state is State.TIMED_OUT
    assert (second.state, second.status_code, second.excerpt) == (State.FAILED, 503, "prompt")


def test_one_bad_payload_leaves_the_connection_to_the_good_ones(transport: HttpTransport) -> None:
    def picky(exchange: Exchange) -> None:
        while (request := exchange.read_request()) is not None:
            exchange.send(answer("500 Oops", b"y" * 70_000) if request.body == b"bad" else answer("200 OK"))

    with Receiver(picky) as receiver:
        target = HttpTarget(f"http://127.0.0.1:{receiver.port}/", private=True)
        payloads = [b"good", b"bad", b"good", b"bad", b"good"]
        outcomes = [transport.deliver(delivery_to(target, Payload(body))).state for body in payloads]
    assert outcomes == [State.SUCCEEDED if body == b"good" else State.FAILED for body in payloads]
