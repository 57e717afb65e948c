"""Two sweeps at once, as that of a resume beside that of the minute: each parked row is sent once, at every level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.lifecycle.parking import FIRST_RATE, Parked
from clockwork.flows.sweep.unpark import unpark
from tests.support.regulated import Regulated

COUNT = 5
SHARE_MS = 60_000


def parked() -> Regulated:
    """A client with parked work at level `none`, which has just been resumed."""
    regulated = Regulated(paused=True)
    regulated.create(COUNT, record="none")
    regulated.run(10)
    assert regulated.parked == COUNT
    regulated.set_client()
    return regulated


def meanwhile(
    monkeypatch: pytest.MonkeyPatch, port: Any, name: str, step: Callable[[], object], *, after: bool
) -> None:
    """Let `step` happen once, right before or after the next call of a port."""
    call = getattr(port, name)

    def interrupted(*asked: Any, **named: Any) -> Any:
        monkeypatch.setattr(port, name, call)
        if not after:
            step()
        answer = call(*asked, **named)
        if after:
            step()
        return answer

    monkeypatch.setattr(port, name, interrupted)


@pytest.mark.parametrize("at", ["before it releases", "when it has sent"])
def test_two_sweeps_at_once_send_a_row_once(at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = parked()
    port, name = (
        (regulated.clockwork.timeline, "read") if at.startswith("before") else (regulated.clockwork.queue, "send")
    )
    meanwhile(monkeypatch, port, name, regulated.sweep, after=True)
    regulated.sweep()
    assert regulated.parked == 0
    assert len(regulated.run(120)) == COUNT


def test_a_sweep_that_ends_or_fails_keeps_the_next_one_waiting_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = parked()

    def refused(*_: Any) -> Any:
        raise Unavailable("throttled")

    with monkeypatch.context() as broken:
        broken.setattr(regulated.clockwork.queue, "send", refused)
        regulated.sweep()
    assert regulated.parked == COUNT
    assert regulated.sweep().released == COUNT
    assert len(regulated.run(60)) == COUNT


def test_the_part_of_a_sweep_that_died_is_free_once_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = parked()

    class Died(BaseException):
        pass

    def dies(*_: Any) -> Any:
        monkeypatch.setattr(regulated.clockwork.regulation, "direct_parked", lambda *_, **__: False)
        raise Died

    with monkeypatch.context() as broken, pytest.raises(Died):
        broken.setattr(regulated.clockwork.queue, "send", dies)
        regulated.sweep()
    monkeypatch.undo()
    assert (regulated.sweep().released, regulated.parked) == (0, COUNT)
    regulated.clockwork.clock.advance(SHARE_MS + 10_000)
    assert regulated.sweep().released == COUNT


def test_what_an_admin_says_in_the_midst_of_a_sweep_stands_and_is_done_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    regulated = parked()
    regulation = regulated.clockwork.regulation
    said = Parked("acme", rate=2.0, by_hand=True)
    meanwhile(monkeypatch, regulated.clockwork.queue, "send", lambda: regulation.direct_parked(said), after=False)
    regulated.sweep()
    (note,) = regulation.parked()
    assert (note.goes_like(said), note.swept_until <= regulated.clockwork.clock.at) == (True, True)


def test_a_sweep_that_takes_no_row_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = parked()
    regulated.set_client(paused=True)
    written: list[Parked] = []
    direct = regulated.clockwork.regulation.direct_parked

    def counted(note: Parked, before: Parked | None = None) -> bool:
        written.append(note)
        return direct(note, before)

    monkeypatch.setattr(regulated.clockwork.regulation, "direct_parked", counted)
    regulated.sweep()
    assert written == []
    regulated.set_client()
    regulated.sweep()
    assert [(one.rate, one.swept_until > regulated.clockwork.clock.at) for one in written] == [
        (FIRST_RATE, True),
        (FIRST_RATE, False),
    ]
    assert unpark(regulated.clockwork.world, regulated.clockwork.clock.at + SHARE_MS).released == 0
    assert len(written) == 2
