"""Work that a discard meets and cannot read is discarded all the same once it can be read, and nothing else is."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import NewerFormat, Unavailable
from clockwork.domain.executions import State
from clockwork.domain.lifecycle.parking import Parked, parking_of
from clockwork.domain.timeline import Row
from clockwork.memory.world import MemoryClockwork
from tests.support.regulated import Regulated

NEWER = b"\xff of a later version"


def parked_rows(clockwork: MemoryClockwork) -> dict[str, Row]:
    return clockwork.timeline._rows[parking_of("acme")]


def discarding(count: int = 3) -> Regulated:
    """Acme has parked so many occurrences, and an admin has asked to discard them."""
    regulated = Regulated(paused=True)
    regulated.create(count)
    regulated.run(10)
    regulated.clockwork.regulation.direct_parked(Parked("acme", discard_until=regulated.clockwork.clock.at))
    return regulated


def garble(regulated: Regulated, blob: bytes = NEWER) -> tuple[str, bytes]:
    """Make the first parked row one that this version cannot read; returns its key and what it held."""
    rows = parked_rows(regulated.clockwork)
    key = min(rows)
    was = rows[key].blob
    rows[key] = msgspec.structs.replace(rows[key], blob=blob)
    return key, was


def mend(regulated: Regulated, key: str, was: bytes) -> None:
    """A version that can read it takes over."""
    rows = parked_rows(regulated.clockwork)
    rows[key] = msgspec.structs.replace(rows[key], blob=was)


def test_a_row_that_could_not_be_read_is_discarded_once_it_can_be() -> None:
    regulated = discarding()
    key, was = garble(regulated)
    assert regulated.sweep().discarded == 2
    regulated.set_client()
    assert (regulated.sweep().left, regulated.parked) == (1, 1)
    mend(regulated, key, was)
    report = regulated.sweep()
    assert (report.discarded, report.released, regulated.parked) == (1, 0, 0)
    assert regulated.states() == {State.CANCELLED}
    assert regulated.run(120) == []


def test_one_whose_record_could_not_be_read_is_discarded_once_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = discarding()
    executions = regulated.clockwork.executions
    get = executions.get
    unread = min((one.job_id, one.execution_id) for one in executions.all())

    def getting(refs: Any) -> Any:
        return [NewerFormat(9) if ref == unread else one for ref, one in zip(refs, get(refs), strict=True)]

    monkeypatch.setattr(executions, "get", getting)
    assert regulated.sweep().discarded == 2
    regulated.set_client()
    assert (regulated.sweep().discarded, regulated.parked) == (0, 1)
    monkeypatch.undo()
    assert (regulated.sweep().discarded, regulated.parked) == (1, 0)
    assert regulated.run(120) == []


def test_what_is_parked_later_is_not_discarded_for_it_and_a_row_that_was_not_meant_is_released() -> None:
    regulated = discarding(1)
    regulated.create(1, delay_ms=30_000)
    garble(regulated)
    regulated.sweep()
    regulated.run(40)  # the second one comes, and is parked: it was due after the discard
    rows = parked_rows(regulated.clockwork)
    second = max(rows)
    was, rows[second] = rows[second].blob, msgspec.structs.replace(rows[second], blob=NEWER)
    regulated.clockwork.regulation.direct_parked(Parked("acme", discard_until=regulated.start + 10_000))
    regulated.sweep()
    mend(regulated, second, was)
    regulated.set_client()
    assert regulated.sweep().released == 1
    assert len(regulated.run(120)) == 1


def test_a_mark_is_made_once_and_one_that_is_refused_leaves_the_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = discarding()
    garble(regulated)
    timeline, marks = regulated.clockwork.timeline, []
    cancel = timeline.cancel

    def refusing(*_: Any) -> bool:
        raise Unavailable("throttled")

    def marking(*place: Any) -> bool:
        marks.append(place)
        return cancel(*place)

    monkeypatch.setattr(timeline, "cancel", refusing)
    regulated.sweep()
    (note,) = regulated.clockwork.regulation.parked()
    assert note.discard_until is not None
    monkeypatch.setattr(timeline, "cancel", marking)
    for _ in range(3):
        regulated.clockwork.regulation.direct_parked(Parked("acme", discard_until=regulated.clockwork.clock.at))
        regulated.sweep()
    assert len(marks) == 1
