"""Attempts at AWS services end by their deadline: one try, and nothing is sent after it."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from threading import Thread
from typing import Any

import botocore.session
import msgspec
import pytest

from clockwork.aws.session import Aws
from clockwork.aws.targets.roles import READ_SECONDS, RoleClients
from clockwork.aws.targets.service_attempts import ServiceTransport
from clockwork.domain.executions import State
from clockwork.targets.service import ServiceTarget
from clockwork.targets.sqs import SqsTarget
from tests.contract.receiver import WallClock, delivery_to
from tests.contract.service_targets import EXAMPLES

ALL = [example.target for example in EXAMPLES.values()]


def transport_to(target: Any, aws: Aws, clock: WallClock | None = None) -> ServiceTransport:
    clock = clock or WallClock()
    return ServiceTransport(type(target), RoleClients(aws, clock), clock)


def in_role(target: Any, role_arn: str | None) -> Any:
    return msgspec.structs.replace(target, role_arn=role_arn)


class Silent:
    """A service that takes every request and answers none. `requests` has the instant of each (s)."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.requests: list[float] = []
        self._held: list[socket.socket] = []
        Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        while True:
            try:
                taken, _ = self._listening.accept()
            except OSError:
                return
            self._held.append(taken)
            if taken.recv(1):
                self.requests.append(time.time())

    def close(self) -> None:
        self._listening.close()
        for taken in self._held:
            taken.close()


@pytest.fixture
def silent() -> Iterator[Silent]:
    service = Silent()
    yield service
    service.close()


@pytest.fixture
def aws(silent: Silent, monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    connected = Aws(botocore.session.Session(), endpoint_url=f"http://127.0.0.1:{silent.port}")
    yield connected
    connected.close()


@pytest.mark.parametrize("target", ALL)
def test_an_attempt_that_gets_no_answer_is_sent_once_and_over_by_its_deadline(
    target: ServiceTarget, aws: Aws, silent: Silent
) -> None:
    aws.client(target.service.client, 1, READ_SECONDS[0])  # to make it takes a busy machine longer than is left
    delivery = delivery_to(in_role(target, None), seconds=4.5)
    outcome = transport_to(target, aws).deliver(delivery)
    assert outcome.state is State.TIMED_OUT, outcome.error
    assert outcome.ended_at <= delivery.deadline_at
    assert len(silent.requests) == 1


@pytest.mark.parametrize("target", ALL)
def test_an_attempt_without_enough_time_sends_nothing(target: ServiceTarget, aws: Aws, silent: Silent) -> None:
    outcome = transport_to(target, aws).deliver(delivery_to(in_role(target, None), seconds=0.9))
    assert (outcome.state, silent.requests) == (State.TIMED_OUT, [])
    assert "no time was left" in (outcome.error or "")


class Frozen(WallClock):
    """Goes on by an hour when its environment is frozen."""

    def __init__(self) -> None:
        self.frozen_ms = 0

    def now(self) -> int:
        return super().now() + self.frozen_ms

    def freeze(self, **_: object) -> None:
        self.frozen_ms = 3_600_000


@pytest.mark.parametrize("role_arn", [None, "arn:aws:iam::123456789012:role/theirs"])
@pytest.mark.parametrize("target", ALL)
def test_a_call_that_is_frozen_before_it_sends_sends_nothing_once_it_is_thawed(
    target: ServiceTarget, role_arn: str | None, aws: Aws, silent: Silent
) -> None:
    clock = Frozen()
    service = "sts" if role_arn else target.service.client
    aws.client(service, 1, READ_SECONDS[0]).meta.events.register("before-sign", clock.freeze)
    delivery = delivery_to(in_role(target, role_arn))
    outcome = transport_to(target, aws, clock).deliver(delivery)
    assert (outcome.state, silent.requests) == (State.TIMED_OUT, [])
    assert "no time was left" in (outcome.error or "")


def test_a_role_that_gets_no_answer_leaves_its_attempt_within_its_deadline(aws: Aws, silent: Silent) -> None:
    role = "arn:aws:iam::123456789012:role/theirs"
    aws.client("sts", 1, READ_SECONDS[1])
    delivery = delivery_to(SqsTarget("arn:aws:sqs:us-east-1:123456789012:orders", role_arn=role), seconds=3.5)
    outcome = ServiceTransport(SqsTarget, RoleClients(aws, WallClock()), WallClock()).deliver(delivery)
    assert outcome.state is State.FAILED
    assert f"{role} cannot be taken on" in (outcome.error or "")
    assert outcome.ended_at <= delivery.deadline_at
    assert len(silent.requests) == 1
