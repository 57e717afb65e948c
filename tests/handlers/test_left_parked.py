"""Rows that lie parked beside executions that have ended: they are forgotten while their client is still paused."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import State
from clockwork.domain.keys import BEGINNING
from clockwork.domain.lifecycle.parking import parking_of
from clockwork.domain.timeline import NEVER, Row
from clockwork.flows.sweep.look_through import LOOKED_AT
from clockwork.flows.sweep.unpark import STOP_MARGIN_MS, unpark
from tests.handlers.handlers import Api
from tests.handlers.test_parked_copies import HOOK, create, go, of_client, pause, swept

PARKING = parking_of("acme")


def parked(count: int) -> Api:
    """A paused client with so many parked jobs."""
    api = Api()
    for _ in range(count):
        create(api, HOOK)
    pause(api, "pause")
    api.clockwork.poll_all()
    go(api, 2_000)
    assert {one.state for one in of_client(api, "acme")} == {State.PARKED}
    return api


def rows(api: Api) -> list[Row]:
    return list(api.clockwork.timeline.read(PARKING, BEGINNING, "~", 1_000).rows)


def left_behind(count: int) -> Api:
    """A client that is paused anew. The sweeper died before it let rows go, and what they held has succeeded since."""
    api = parked(count)
    forget = api.clockwork.timeline.forget

    def die(*_: object) -> None:
        raise Unavailable("no answer")

    pause(api, "resume")
    api.clockwork.clock.at += 60_000
    api.clockwork.timeline.forget = die  # type: ignore[assignment,method-assign]
    swept(api)
    api.clockwork.timeline.forget = forget  # type: ignore[method-assign]
    go(api, 120_000)
    assert {one.state for one in of_client(api, "acme")} == {State.SUCCEEDED}
    assert len(rows(api)) == count
    pause(api, "pause")
    # The lease of the sweep that died is over.
    api.clockwork.clock.at += 600_000
    return api


def test_a_row_that_its_sweep_left_behind_goes_before_its_record_does() -> None:
    api = left_behind(1)
    swept(api)
    assert rows(api) == []
    (ended,) = of_client(api, "acme")
    assert ended.expires_at != NEVER
    # Nothing of it is told anew once its client goes on.
    pause(api, "resume")
    go(api, 60_000)
    swept(api)
    assert of_client(api, "acme") == [ended]


def test_what_a_late_copy_parked_once_more_is_forgotten_too() -> None:
    api = parked(1)
    (row,) = rows(api)
    pause(api, "resume")
    api.clockwork.clock.at += 60_000
    swept(api)
    go(api, 120_000)
    assert {one.state for one in of_client(api, "acme")} == {State.SUCCEEDED}
    pause(api, "pause")
    api.clockwork.timeline.put_new([row])
    swept(api)
    assert rows(api) == []


def test_each_sweep_looks_at_so_many_rows_and_the_next_one_goes_on_behind_them() -> None:
    api = parked(2 * LOOKED_AT + 1)
    find = api.clockwork.executions.get
    looked: list[int] = []

    def get(refs: Sequence[tuple[str, str]]) -> Any:
        looked.append(len(refs))
        return find(refs)

    api.clockwork.executions.get = get  # type: ignore[assignment,method-assign]
    for _ in range(4):
        swept(api)
    assert looked == [LOOKED_AT, LOOKED_AT, 1, LOOKED_AT]
    assert len(rows(api)) == 2 * LOOKED_AT + 1


def test_a_sweep_without_time_looks_at_nothing() -> None:
    api = left_behind(1)
    unpark(api.clockwork.world, api.clockwork.clock.at + STOP_MARGIN_MS)
    assert len(rows(api)) == 1
    unpark(api.clockwork.world, api.clockwork.clock.at + STOP_MARGIN_MS + 1)
    assert rows(api) == []


def test_what_still_waits_stays_and_what_cannot_be_read_keeps_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    api = left_behind(2)
    first, second = rows(api)
    api.clockwork.timeline.forget(PARKING, [first.key])
    api.clockwork.timeline.put_new([Row(PARKING, first.key, b"\xc1", NEVER)])
    with caplog.at_level(logging.ERROR):
        swept(api)
    assert [row.key for row in rows(api)] == [first.key]
    assert second.key != first.key
    assert "parked rows stay" in caplog.text


def test_the_place_is_no_direction_of_an_operator() -> None:
    api = parked(LOOKED_AT + 1)
    swept(api)
    (note,) = api.clockwork.regulation.parked()
    assert note.looked_to != BEGINNING
    pause(api, "resume")
    api.clockwork.clock.at += 60_000
    for _ in range(6):
        swept(api)
        go(api, 60_000)
    assert {one.state for one in of_client(api, "acme")} == {State.SUCCEEDED}
    assert rows(api) == []
    for _ in range(8):
        go(api, 60_000)
        swept(api)
    assert list(api.clockwork.regulation.parked()) == []
