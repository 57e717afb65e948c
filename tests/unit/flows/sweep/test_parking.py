"""Parking: a pause or an open circuit parks occurrences, which are kept, then unparked, discarded or cancelled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import FINAL, Execution, State
from clockwork.domain.lifecycle.parking import LONGEST_PARKING_MS, NOTED_MS, Parked, plan_discard
from clockwork.domain.limits.circuits import Circuit
from clockwork.domain.timeline import Page, Row
from clockwork.flows.access import Caller
from clockwork.flows.requests.cancel import cancel_job
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.sweep.unpark import unpark
from clockwork.flows.timeline.shards import ensure_shards
from tests.support.examples import ACME, ALICE, changed, execution, new_job, release, request
from tests.support.regulated import Regulated

MINE = Caller(ALICE, client_ids=frozenset({"acme"}))


@pytest.mark.parametrize("record", ["full", "none"])
def test_a_paused_client_loses_nothing_and_is_not_hit_by_everything_at_once(record: str) -> None:
    regulated = Regulated(paused=True, pause_reason="incident")
    regulated.create(40, record=record)
    assert regulated.run(60) == []
    assert regulated.parked == 40
    assert not regulated.clockwork.queue.messages
    if record == "full":
        assert regulated.states() == {State.PARKED}
    assert regulated.sweep().left == 1
    regulated.set_client()
    assert regulated.sweep().released == 40
    assert len(regulated.run(4)) in range(15, 25)
    assert len(regulated.run(60)) in range(15, 25)
    assert regulated.parked == 0
    assert len({d.execution_id for d in regulated.clockwork.targets.delivered}) == 40
    regulated.run(60)
    regulated.sweep()
    assert not regulated.clockwork.regulation.parked()


def test_a_parked_job_is_found_and_cancelled() -> None:
    regulated = Regulated(paused=True)
    (job_id,) = regulated.create(1)
    regulated.run(10)
    assert cancel_job(regulated.clockwork.world, MINE, job_id).verdict == "cancelled"
    regulated.set_client()
    regulated.sweep()
    assert regulated.run(60) == []


def test_parked_occurrences_are_unparked_by_hand_at_a_chosen_rate() -> None:
    regulated = Regulated(paused=True)
    regulated.create(30)
    regulated.run(10)
    regulated.set_client()
    regulated.clockwork.regulation.direct_parked(Parked("acme", rate=1.0, by_hand=True))
    regulated.sweep()
    assert len(regulated.run(10)) in range(8, 13)


def test_what_is_unparked_by_hand_goes_at_the_chosen_rate_to_the_end_though_its_circuit_is_open() -> None:
    regulated = Regulated()
    now = regulated.start
    regulated.clockwork.regulation.save_circuit(None, Circuit("acme", "example.com", now, now + 900_000, 900_000))
    regulated.create(150)
    regulated.run(10)
    assert regulated.parked == 150
    regulated.clockwork.regulation.direct_parked(Parked("acme", rate=1.0, by_hand=True))
    regulated.sweep()
    first = len(regulated.run(60))
    regulated.sweep()
    assert first in range(50, 61)
    assert len(regulated.run(60)) in range(58, 67)


def test_parked_occurrences_are_discarded_by_hand_those_that_come_later_are_not() -> None:
    regulated = Regulated(paused=True)
    regulated.create(30)
    regulated.create(2, delay_ms=30_000)
    regulated.run(10)
    regulated.clockwork.regulation.direct_parked(Parked("acme", discard_until=regulated.clockwork.clock.at))
    regulated.run(30)
    assert regulated.sweep().discarded == 30
    assert regulated.states() == {State.CANCELLED, State.PARKED}
    assert regulated.parked == 2
    regulated.set_client()
    assert regulated.sweep().released == 2
    assert len(regulated.run(60)) == 2


def test_the_records_of_what_is_discarded_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated(paused=True)
    regulated.create(30)
    regulated.run(10)
    executions, reads = regulated.clockwork.executions, list[int]()
    get = executions.get

    def counted(refs: Any) -> Any:
        reads.append(len(refs))
        return get(refs)

    monkeypatch.setattr(executions, "get", counted)
    regulated.clockwork.regulation.direct_parked(Parked("acme", discard_until=regulated.clockwork.clock.at))
    assert regulated.sweep().discarded == 30
    assert reads == [30]


def test_what_was_parked_just_before_it_was_due_is_discarded_too() -> None:
    regulated = Regulated(paused=True)
    regulated.create(1, delay_ms=5_900)
    regulated.run(5.5)
    assert regulated.parked == 1
    regulated.clockwork.regulation.direct_parked(Parked("acme", discard_until=regulated.clockwork.clock.at))
    assert regulated.sweep().discarded == 1


def test_what_is_parked_again_before_its_row_is_forgotten_is_not_lost() -> None:
    regulated = Regulated(paused=True)
    regulated.create(1)
    regulated.run(10)
    regulated.set_client()
    forget = regulated.clockwork.timeline.forget

    def parked_meanwhile(partition_id: str, row_keys: Any) -> None:
        regulated.clockwork.timeline.forget = forget  # type: ignore[method-assign]
        regulated.set_client(paused=True)
        regulated.run(5)
        forget(partition_id, row_keys)

    regulated.clockwork.timeline.forget = parked_meanwhile  # type: ignore[method-assign, assignment]
    regulated.sweep()
    assert regulated.parked == 1
    regulated.set_client()
    regulated.sweep()
    assert len(regulated.run(10)) == 1


def test_a_note_of_parked_occurrences_outlives_whoever_may_still_park_under_it() -> None:
    regulated = Regulated(paused=True)
    regulated.create(1)
    regulated.run(10)
    (noted,) = regulated.clockwork.regulation.parked()
    regulated.set_client()
    regulated.sweep()
    regulated.run(NOTED_MS / 1000)
    regulated.sweep()
    (still,) = regulated.clockwork.regulation.parked()
    assert (still.goes_like(noted), still.noted_at) == (True, noted.noted_at)
    regulated.run(LONGEST_PARKING_MS / 1000)
    regulated.sweep()
    assert not regulated.clockwork.regulation.parked()


def test_who_parks_so_slowly_that_its_note_is_forgotten_says_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated(paused=True)
    timeline, clock = regulated.clockwork.timeline, regulated.clockwork.clock
    put_new = timeline.put_new

    def put_late(rows: Sequence[Row]) -> None:
        clock.at += NOTED_MS + LONGEST_PARKING_MS + 1
        regulated.set_client()
        regulated.sweep()
        assert not regulated.clockwork.regulation.parked()
        put_new(rows)

    regulated.create(1)
    regulated.clockwork.poll_all()
    clock.at += 5_000
    monkeypatch.setattr(timeline, "put_new", put_late)
    regulated.clockwork.deliver_visible()
    regulated.set_client()
    regulated.sweep()
    assert len(regulated.run(10)) == 1


def test_a_note_is_kept_if_something_was_parked_after_its_rows_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated(paused=True)
    regulated.create(1)
    regulated.run(10)
    regulated.set_client()
    regulated.sweep()
    timeline, clock = regulated.clockwork.timeline, regulated.clockwork.clock
    (noted,) = regulated.clockwork.regulation.parked()
    read = timeline.read

    def read_and_sleep(*asked: Any) -> Page:
        page = read(*asked)
        clock.at += NOTED_MS + LONGEST_PARKING_MS
        return page

    monkeypatch.setattr(timeline, "read", read_and_sleep)
    unpark(regulated.clockwork.world, clock.at + 600_000)
    (still,) = regulated.clockwork.regulation.parked()
    assert (still.goes_like(noted), still.noted_at) == (True, noted.noted_at)


@pytest.mark.parametrize("state", State)
def test_what_has_ended_or_goes_on_is_not_discarded(state: State) -> None:
    stored = execution(state)
    planned = plan_discard(release(), 10**15, stored)
    if state in FINAL or state is State.RUNNING:
        assert (planned.end, planned.execution) == (stored, None)
    else:
        assert planned.end == planned.execution
        assert (planned.end.state, planned.end.revision) == (State.CANCELLED, 2)


def test_the_row_of_what_runs_meanwhile_goes_with_a_discard_and_its_record_stays_as_it_is() -> None:
    regulated = Regulated(paused=True)
    regulated.create(2)
    regulated.run(10)
    executions = regulated.clockwork.executions
    first, second = executions.all()
    running = changed(first, state=State.RUNNING, attempt=1, claimant="another", reason=None)
    executions.save([(first, running)])
    regulated.clockwork.regulation.direct_parked(Parked("acme", discard_until=regulated.clockwork.clock.at))
    regulated.sweep()
    assert executions.find(running.job_id, running.execution_id) == running
    (other,) = executions.get([(second.job_id, second.execution_id)])
    assert isinstance(other, Execution) and other.state is State.CANCELLED
    # A row that stayed would be released after the resume: what was discarded would start once more.
    assert regulated.parked == 0


@pytest.mark.parametrize("record", ["full", "none"])
def test_what_is_discarded_has_a_visible_end_and_its_record_goes_in_time(record: str) -> None:
    regulated = Regulated(paused=True)
    (job_id,) = regulated.create(1, record=record)
    regulated.run(10)
    regulated.clockwork.regulation.direct_parked(Parked("acme", discard_until=regulated.clockwork.clock.at))
    assert regulated.sweep().discarded == 1
    (ended,) = regulated.clockwork.world.executions.list(job_id, 10, None)
    assert (ended.state, ended.reason) == (State.CANCELLED, "discarded while it was parked")
    assert regulated.parked == 0
    regulated.set_client()
    assert regulated.run(120) == []


def test_a_sweep_that_dies_between_the_end_and_the_row_is_ended_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated(paused=True)
    regulated.create(3)
    regulated.run(10)
    regulated.clockwork.regulation.direct_parked(Parked("acme", discard_until=regulated.clockwork.clock.at))
    with monkeypatch.context() as patch:
        patch.setattr(regulated.clockwork.timeline, "forget", _unavailable)
        assert regulated.sweep().left == 1
    assert (regulated.states(), regulated.parked) == ({State.CANCELLED}, 3)
    regulated.sweep()
    assert regulated.parked == 0


def test_what_another_writer_changed_meanwhile_is_discarded_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated(paused=True)
    regulated.create(2)
    regulated.run(10)
    regulated.clockwork.regulation.direct_parked(Parked("acme", discard_until=regulated.clockwork.clock.at))
    executions = regulated.clockwork.executions
    find = executions.find
    met: list[str] = []

    def finding(job_id: str, execution_id: str) -> Execution | None:
        stored = find(job_id, execution_id)
        if stored is not None and not met:
            met.append(execution_id)
            executions.save([(stored, stored.changed(reason="another's"))])
        return stored

    monkeypatch.setattr(executions, "find", finding)
    assert regulated.sweep().discarded == 2
    assert (regulated.states(), regulated.parked) == ({State.CANCELLED}, 0)


def _unavailable(*_: object) -> None:
    raise Unavailable("the table gave no answer")


def test_one_clients_pause_is_nobody_elses() -> None:
    regulated = Regulated(paused=True)
    other = type(ACME)(client_id="other", principals=())
    regulated.clockwork.clients.put(other)
    wish = request(new_job(delay_ms=5_000))
    theirs = type(wish)(client=other, jobs=wish.jobs)
    create_jobs(regulated.clockwork.world, theirs, ensure_shards(regulated.clockwork.world))
    regulated.create(5)
    assert [d.occurrence.client_id for d in regulated.run(20)] == ["other"]
