"""The machine's clock as workers know it: it counts the time that the machine was suspended."""

from __future__ import annotations

import threading
import time

import pytest

from clockwork_client.worker.clock import Monotonic

has_boottime = pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="the platform has no CLOCK_BOOTTIME")


class Suspended:
    """The clocks of a machine: CLOCK_BOOTTIME is ahead of the others by how long it was suspended."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def gettime(self, clock: int) -> float:
        return time.monotonic() + (self.seconds if clock == time.CLOCK_BOOTTIME else 0.0)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Suspended:
    made = Suspended()
    monkeypatch.setattr(time, "clock_gettime", made.gettime)
    return made


@has_boottime
def test_time_goes_on_while_the_machine_is_suspended(machine: Suspended) -> None:
    clock = Monotonic()
    before = clock.now()
    machine.seconds += 600
    assert 600 <= clock.now() - before < 630


@has_boottime
def test_a_wait_ends_that_was_over_while_the_machine_was_suspended(
    machine: Suspended, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clockwork_client.worker.clock._LOOKS_EVERY", 0.01)
    clock, event = Monotonic(), threading.Event()
    guard = threading.Timer(10, event.set)
    guard.start()
    threading.Timer(0.05, lambda: setattr(machine, "seconds", 600)).start()
    assert not clock.wait(event, 600)
    guard.cancel()


def test_a_wait_ends_with_its_event_and_with_its_time() -> None:
    clock, event = Monotonic(), threading.Event()
    assert not clock.wait(event, 0.01)
    assert not clock.wait(event, -1)
    threading.Timer(0.01, event.set).start()
    assert clock.wait(event, 30)
    assert clock.wait(event, 0)


@pytest.mark.parametrize("how", ["missing", "refused"])
def test_a_machine_without_that_clock_has_the_monotonic_one(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    def refuses(_: int) -> float:
        raise OSError("not permitted")

    if how == "missing":
        monkeypatch.delattr(time, "CLOCK_BOOTTIME", raising=False)
    monkeypatch.setattr(time, "clock_gettime", refuses)
    before = time.monotonic()
    assert before <= Monotonic().now() <= time.monotonic()
