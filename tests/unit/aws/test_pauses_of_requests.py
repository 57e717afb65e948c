"""Pauses between tries of a call: while a request of the API waits they are short."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from clockwork.aws import session
from clockwork.aws.plane.retries import LONGEST_SECONDS, pause_seconds
from clockwork.aws.session import ATTEMPTS, Aws


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr(session, "time", SimpleNamespace(sleep=slept.append))
    return slept


def test_a_throttled_request_holds_an_environment_for_half_a_second_at_most(slept: list[float]) -> None:
    aws = Aws()
    aws.meter_of_requests.begin()
    for attempt in range(1, ATTEMPTS):
        aws.backoff.sleep(pause_seconds(attempt, 1.0))
    assert sum(slept) == 0.5


def test_others_wait_as_long_as_they_are_told(slept: list[float]) -> None:
    Aws().backoff.sleep(LONGEST_SECONDS)
    assert slept == [LONGEST_SECONDS]
