"""Rows that lie parked beside executions that have ended: they are forgotten while their client is still paused."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import State
from clockwork.domain.keys import BEGINNING
from clockwork.domain.lifecycle.parking import parking_of
from clockwork.domain.releases import Release
from clockwork.domain.storage.codec import decode_row
from clockwork.domain.timeline import NEVER, Page, Row
from clockwork.flows.deaths import bury
from clockwork.flows.sweep.look_through import LOOKED_AT, STOP_MARGIN_MS, look_through
from tests.handlers.handlers import Api
from tests.handlers.test_parked_copies import HOOK, create, go, of_client, pause
from tests.handlers.test_parked_copies import swept as unparked
from tests.support.examples import ALICE

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


def looked(api: Api, for_ms: int = 60_000) -> None:
    look_through(api.clockwork.world, api.clockwork.clock.at + for_ms)


def swept(api: Api) -> None:
    unparked(api)
    looked(api)


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
    sizes: list[int] = []

    def get(refs: Sequence[tuple[str, str]]) -> Any:
        sizes.append(len(refs))
        return find(refs)

    api.clockwork.executions.get = get  # type: ignore[assignment,method-assign]
    for _ in range(4):
        swept(api)
    assert sizes == [LOOKED_AT, LOOKED_AT, 1, LOOKED_AT]
    assert len(rows(api)) == 2 * LOOKED_AT + 1


def test_a_sweep_without_time_looks_at_nothing() -> None:
    api = left_behind(1)
    looked(api, STOP_MARGIN_MS)
    assert len(rows(api)) == 1
    looked(api, STOP_MARGIN_MS + 1)
    assert rows(api) == []


def test_each_sweep_begins_with_another_client_and_the_records_of_one_hold_up_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    api = left_behind(1)
    clockwork = api.clockwork
    for number in range(9):
        clockwork.regulation.note_parked(f"aaa-{number}", clockwork.clock.at)
    read = clockwork.timeline.read

    def slow(partition_id: str, after: str, until: str, limit: int) -> Page:
        clockwork.clock.at += 1_000
        if partition_id == parking_of("aaa-3"):
            raise Unavailable("throttled")
        return read(partition_id, after, until, limit)

    clockwork.timeline.read = slow  # type: ignore[method-assign]
    for _ in range(40):
        looked(api, STOP_MARGIN_MS + 3_000)  # enough for three clients of ten
    clockwork.timeline.read = read  # type: ignore[method-assign]
    assert rows(api) == []
    assert "parked rows are not looked at: throttled" in caplog.text


def test_what_has_lost_its_record_is_left_to_the_resume_and_may_be_restored_until_then() -> None:
    api = parked(1)
    records = dict(api.clockwork.executions._records)
    api.clockwork.executions._records.clear()
    looked(api)
    assert of_client(api, "acme") == []
    assert len(rows(api)) == 1
    api.clockwork.executions._records.update(records)
    pause(api, "resume")
    api.clockwork.clock.at += 60_000
    swept(api)
    go(api, 120_000)
    assert [one.state for one in of_client(api, "acme")] == [State.SUCCEEDED]


def dead_in_its_row(window: int | None = None) -> Api:
    """A job of a paused client that is DEAD beside its row: it was sent, and came back as a dead letter."""
    api = Api()
    wanted: dict[str, Any] = {"clientId": "acme", "schedule": {"delaySeconds": 0}, "target": HOOK}
    wanted |= {} if window is None else {"relevancyWindowSeconds": window}
    assert api.call("POST", "/v1/jobs", wanted).status == 201
    pause(api, "pause")
    api.clockwork.poll_all()
    go(api, 2_000)
    (release,) = decode_row(rows(api)[0].blob).values()
    assert isinstance(release, Release)
    (record,) = of_client(api, "acme")
    assert bury(api.clockwork.world, msgspec.structs.replace(release, parkings=1), record, "it came back too often")
    return api


def redrive(api: Api) -> None:
    """Redrive what is dead: it is parked again, since its client is paused."""
    (dead,) = of_client(api, "acme")
    assert api.call("POST", f"/v1/executions/{dead.execution_id}/redrive", None, caller=ALICE).status == 200
    go(api, 5_000)
    assert [one.state for one in of_client(api, "acme")] == [State.PARKED]


def test_a_redrive_beside_a_sweep_that_is_about_to_delete_the_old_row_has_a_row_of_its_own() -> None:
    api = dead_in_its_row()
    clockwork, forget = api.clockwork, api.clockwork.timeline.forget
    raced: list[bool] = []

    def slow(partition_id: str, keys: Sequence[str]) -> None:
        if not raced and partition_id == PARKING:
            raced.append(True)
            redrive(api)
        forget(partition_id, keys)

    clockwork.timeline.forget = slow  # type: ignore[method-assign]
    looked(api)
    assert raced
    pause(api, "resume")
    for _ in range(4):
        go(api, 60_000)
        swept(api)
    assert [one.state for one in of_client(api, "acme")] == [State.SUCCEEDED]


def test_what_is_redriven_beside_its_old_row_is_delivered_as_redriven() -> None:
    api = dead_in_its_row(window=600)
    api.clockwork.clock.at += 3_600_000
    redrive(api)
    assert len(rows(api)) == 2
    pause(api, "resume")
    api.clockwork.clock.at += 20_000
    unparked(api)
    go(api, 60_000)
    assert [one.state for one in of_client(api, "acme")] == [State.SUCCEEDED]
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
