"""Nothing stays parked for longer than fourteen days: it ends DEAD, visibly, and its client may redrive it."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import DAY_MS, Execution, State
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.keys import row_key
from clockwork.domain.lifecycle.parking import TOO_LONG, host_prefix, parked_row, parking_of, plan_burial
from clockwork.domain.releases import Deliver
from clockwork.domain.storage.retention import PARKED_MS
from clockwork.domain.storage.rows import releases_of
from clockwork.domain.timeline import Row
from clockwork.domain.waits import Held
from clockwork.flows.access import Caller
from clockwork.flows.requests.cancel import cancel_execution
from clockwork.flows.requests.redrive import redrive
from clockwork.flows.sweep.too_long import HOSTS, TooLong, end_too_long
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from tests.support.examples import ALICE, changed, execution, occurrence, release
from tests.support.regulated import Regulated, put_parked

MINE = Caller(ALICE, client_ids=frozenset({"acme"}))


def parked(count: int = 1, **job: Any) -> Regulated:
    """A paused client with so many jobs, which have been parked a moment ago."""
    regulated = Regulated(paused=True)
    regulated.create(count, **job)
    regulated.run(10)
    assert regulated.parked == count
    return regulated


def ended(regulated: Regulated, days: float = 0.0, for_ms: int = 60_000) -> TooLong:
    """Let days go by in which no Lambda runs, then end what has been parked for too long."""
    regulated.clockwork.clock.at += int(days * DAY_MS)
    return end_too_long(regulated.clockwork.world, regulated.clockwork.clock.at + for_ms)


def job_id_of(at: int, name: str) -> str:
    return AnonymousJob("p000", row_key(at, name), 0).job_id


def only(regulated: Regulated) -> Execution:
    (record,) = regulated.clockwork.executions.all()
    return record


@pytest.mark.parametrize("record", ["full", "none"])
def test_what_is_parked_for_fourteen_days_ends_dead_and_can_be_redriven(record: str) -> None:
    regulated = parked(record=record)
    assert ended(regulated, 12.9) == TooLong(0, 0)
    assert ended(regulated, 0.2) == TooLong(0, 1)
    assert regulated.parked == 1
    assert ended(regulated, 1) == TooLong(1, 0)
    assert (regulated.parked, only(regulated).state, only(regulated).reason) == (0, State.DEAD, TOO_LONG)
    regulated.set_client()
    redrive(regulated.clockwork.world, only(regulated))
    assert len(regulated.run(60)) == 1
    assert only(regulated).state is State.SUCCEEDED


def test_its_client_is_called_back_and_told_once() -> None:
    on_failure = HttpTarget("https://example.com/dead")
    regulated = parked(on_failure=on_failure)
    ended(regulated, 14)
    regulated.set_client()
    (called,) = regulated.run(60)
    assert called.occurrence.target == on_failure
    assert ended(regulated) == TooLong()


def test_what_a_circuit_holds_back_ends_as_well_and_no_younger_row_does() -> None:
    regulated = Regulated()
    now = regulated.clockwork.clock.at
    for host, age in (("a.example", 15), ("b.example", 15), ("b.example", 1)):
        at = now - age * DAY_MS
        due = occurrence(due_at=at, client_id="acme", target=HttpTarget(f"https://{host}/"))
        one = release(job_id=job_id_of(at, f"{host[0]}-{age}"), occurrence=due, run_at=at, held=Held("circuit", at))
        regulated.clockwork.timeline.put_new([parked_row(one, host)])
    regulated.clockwork.regulation.note_parked("acme", now)
    assert ended(regulated).ended == 2
    (row,) = regulated.clockwork.timeline.read(parking_of("acme"), "", "~", 10).rows
    assert row.key.startswith(host_prefix("b.example"))


def test_what_was_parked_a_day_ago_stays_however_long_ago_it_was_due() -> None:
    regulated = Regulated(paused=True)
    now = regulated.clockwork.clock.at
    at = now - 40 * DAY_MS
    one = release(occurrence=occurrence(due_at=at, client_id="acme"), run_at=at, held=Held("pause", now - DAY_MS))
    put_parked(regulated.clockwork, one)
    regulated.clockwork.regulation.note_parked("acme", now)
    assert ended(regulated) == TooLong()
    assert regulated.parked == 1


def test_what_was_cancelled_while_it_was_parked_stays_cancelled_and_its_row_goes() -> None:
    regulated = parked()
    assert cancel_execution(regulated.clockwork.world, MINE, only(regulated).execution_id)[0].verdict == "cancelled"
    assert ended(regulated, 14).ended == 1
    assert (regulated.parked, only(regulated).state) == (0, State.CANCELLED)


def test_a_record_outlives_the_row_that_names_it_though_the_sweeper_is_days_late() -> None:
    regulated = parked()
    (row,) = regulated.clockwork.timeline.read(parking_of("acme"), "", "~", 10).rows
    retention = regulated.clockwork.world.retention
    assert row.expires_at == pytest.approx(regulated.clockwork.clock.at + PARKED_MS + retention.rows_ms, abs=10_000)
    # A message that is sent of the row in its last moment lasts as long as its queue keeps it.
    assert only(regulated).expires_at >= row.expires_at + retention.messages_ms


def test_a_sweep_that_dies_between_record_and_row_is_ended_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = parked(2)

    def unavailable(*_: object) -> None:
        raise Unavailable("no answer")

    with monkeypatch.context() as dying:
        dying.setattr(regulated.clockwork.timeline, "forget", unavailable)
        ended(regulated, 14)
    assert (regulated.states(), regulated.parked) == ({State.DEAD}, 2)
    assert ended(regulated).ended == 2
    assert regulated.parked == 0


def test_one_row_that_cannot_be_read_and_one_client_without_answer_keep_no_other_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    regulated = parked()
    clockwork = regulated.clockwork
    clockwork.timeline.put_new([Row(parking_of("acme"), "1600000000000#odd", b"\xc1", clockwork.clock.at * 2)])
    for index in range(3):
        clockwork.regulation.note_parked(f"out-{index}", clockwork.clock.at)
    read = clockwork.timeline.read

    def refused(partition_id: str, *rest: Any) -> Any:
        if partition_id != parking_of("acme"):
            raise Unavailable("throttled")
        return read(partition_id, *rest)

    monkeypatch.setattr(clockwork.timeline, "read", refused)
    assert ended(regulated, 14).ended == 1
    assert regulated.parked == 1


def test_a_row_of_which_no_record_can_be_made_keeps_no_other_of_its_client_waiting() -> None:
    regulated = parked()
    at = regulated.clockwork.clock.at
    due = occurrence(due_at=at, client_id="acme")
    regulated.clockwork.timeline.put_new([parked_row(release(job_id="no-id", occurrence=due, held=Held("pause", at)))])
    assert ended(regulated, 14).ended == 1
    assert regulated.parked == 1


def test_of_many_hosts_each_has_its_turn() -> None:
    regulated = Regulated()
    clockwork = regulated.clockwork
    at = clockwork.clock.at - 15 * DAY_MS
    for number in range(10 * HOSTS):
        due = occurrence(due_at=at, client_id="acme", payload=Payload(b"1"))
        one = release(job_id=job_id_of(at, str(number)), occurrence=due, run_at=at, held=Held("circuit", at))
        clockwork.timeline.put_new([parked_row(one, f"{number}.example")])
    clockwork.regulation.note_parked("acme", clockwork.clock.at)
    assert ended(regulated).ended == HOSTS
    for _ in range(100):
        ended(regulated)
    assert regulated.parked == 0


def test_an_old_row_is_not_released_any_more_when_its_client_is_resumed() -> None:
    regulated = parked()
    regulated.clockwork.clock.at += PARKED_MS + 60_000
    regulated.set_client()
    assert regulated.sweep().released == 0
    assert ended(regulated).ended == 1
    assert regulated.run(60) == []
    assert only(regulated).state is State.DEAD


@pytest.mark.parametrize("state", State)
def test_only_what_waits_ends(state: State) -> None:
    stored = execution(state)
    planned = plan_burial(release(), 10**13, 10**15, stored)
    if stored.is_final or state is State.RUNNING:
        assert (planned.end, planned.execution) == (stored, None)
    else:
        assert planned.execution == planned.end
        assert (planned.end.state, planned.end.reason, planned.end.end.dead_at) == (State.DEAD, TOO_LONG, 10**13)


def test_the_message_of_an_earlier_row_leaves_what_lies_parked_in_a_later_one() -> None:
    regulated = parked()
    (row,) = regulated.clockwork.timeline.read(parking_of("acme"), "", "~", 10).rows
    stored = only(regulated)
    later = changed(stored, parkings=stored.parking.number + 1)
    regulated.clockwork.executions.save([(stored, later)])
    regulated.set_client()
    (copy,) = releases_of(row)
    assert isinstance(copy, Deliver)
    regulated.clockwork.world.releases.send([copy.waiting(held=None)], regulated.clockwork.clock.at)
    assert regulated.run(5) == []
    assert only(regulated) == later


def test_a_duplicate_of_what_is_parked_changes_nothing() -> None:
    regulated = parked()
    (row,) = regulated.clockwork.timeline.read(parking_of("acme"), "", "~", 10).rows
    stored = only(regulated)
    (copy,) = releases_of(row)
    assert isinstance(copy, Deliver)
    regulated.clockwork.world.releases.send([copy.waiting(held=None)], regulated.clockwork.clock.at)
    assert regulated.run(5) == []
    assert (only(regulated), regulated.parked) == (stored, 1)
