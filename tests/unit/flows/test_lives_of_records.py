"""Lives of records: what was cancelled stays so, however late the last row or message that names it comes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import DAY_MS, Execution, State
from clockwork.domain.jobs import RetryPolicy
from clockwork.domain.lifecycle.parking import parked_row, parking_of
from clockwork.domain.retention import SPARE_MS
from clockwork.domain.storage.rows import releases_of
from clockwork.domain.timeline import NEVER
from clockwork.flows.access import Caller
from clockwork.flows.requests.cancel import cancel_execution, cancel_job
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.sweep.unpark import unpark
from clockwork.flows.timeline.shards import ensure_shards
from tests.support.examples import ACME, ALICE, NOW, new_job, occurrence, release, request
from tests.support.regulated import Regulated, put_parked

MINE = Caller(ALICE, client_ids=frozenset({"acme"}))
IN_TWO_DAYS = RetryPolicy(
    backoff="fixed", initial_seconds=86_400, max_seconds=86_400, max_age_seconds=1_209_600, jitter="none"
)


def expire(regulated: Regulated) -> None:
    """Delete the records whose time to live is over."""
    executions, now = regulated.clockwork.executions, regulated.clockwork.clock.at
    for place, record in list(executions._records.items()):
        if 0 < record.expires_at <= now:
            del executions._records[place]


def create_for_a_day(regulated: Regulated, **job: Any) -> str:
    """Create a job of a client that keeps records for a day; returns its id."""
    asked = request(new_job(delay_ms=5_000, **job))
    asked = msgspec.structs.replace(asked, client=msgspec.structs.replace(ACME, retention_days=1))
    world = regulated.clockwork.world
    return create_jobs(world, asked, ensure_shards(world))[0].job_id


def days(regulated: Regulated, count: float) -> None:
    """Let days go by in which no Lambda runs."""
    regulated.clockwork.clock.at += int(count * DAY_MS)
    expire(regulated)


def only(regulated: Regulated) -> Execution:
    (record,) = regulated.clockwork.executions.all()
    return record


def test_a_cancelled_retry_two_days_away_is_not_delivered_though_its_client_keeps_records_for_a_day() -> None:
    regulated = Regulated()
    regulated.accepts = False
    job_id = create_for_a_day(regulated, retry_policy=IN_TWO_DAYS)
    assert len(regulated.run(60)) == 1
    assert cancel_job(regulated.clockwork.world, MINE, job_id).verdict == "cancelled"
    regulated.accepts = True
    days(regulated, 3)
    assert regulated.run(3_600) == []


@pytest.mark.parametrize("by_execution", [True, False])
def test_a_job_cancelled_while_its_client_is_paused_for_a_month_is_not_delivered(by_execution: bool) -> None:
    regulated = Regulated(paused=True)
    (job_id,) = regulated.create(1)
    regulated.run(60)
    record = only(regulated)
    assert record.expires_at == NEVER
    if by_execution:
        answer, _ = cancel_execution(regulated.clockwork.world, MINE, record.execution_id)
        assert answer.verdict == "cancelled"
    else:
        assert cancel_job(regulated.clockwork.world, MINE, job_id).verdict == "cancelled"
    days(regulated, 31)
    regulated.set_client()
    assert regulated.sweep().released == 0
    assert regulated.parked == 0
    assert regulated.run(60) == []
    assert only(regulated).expires_at == regulated.clockwork.clock.at - 60_000 + 30 * DAY_MS


def test_what_is_cancelled_after_it_was_unparked_has_an_end_once_its_message_came() -> None:
    regulated = Regulated(paused=True)
    (job_id,) = regulated.create(1)
    regulated.run(60)
    regulated.set_client()
    assert regulated.sweep().released == 1
    cancel_job(regulated.clockwork.world, MINE, job_id)
    assert only(regulated).expires_at == NEVER
    assert regulated.run(60) == []
    assert only(regulated).state is State.CANCELLED
    assert only(regulated).expires_at > regulated.clockwork.clock.at


def test_what_is_cancelled_while_it_is_parked_outlasts_its_row_though_a_copy_of_its_message_comes() -> None:
    regulated = Regulated(paused=True)
    (job_id,) = regulated.create(1)
    regulated.run(60)
    clockwork = regulated.clockwork
    (row,) = clockwork.timeline.read(parking_of("acme"), "", "~", 10).rows
    cancel_job(clockwork.world, MINE, job_id)
    (copy,) = releases_of(row)
    assert not clockwork.world.releases.send([copy], clockwork.clock.at)
    assert regulated.run(60) == []
    assert not clockwork.queue.messages
    assert (regulated.parked, only(regulated).expires_at) == (1, NEVER)
    days(regulated, 90)
    regulated.set_client()
    assert (regulated.sweep().released, regulated.parked) == (0, 0)
    assert NEVER < clockwork.clock.at < only(regulated).expires_at


def test_a_copy_of_a_message_that_was_parked_leaves_the_record_to_its_row() -> None:
    regulated = Regulated(paused=True)
    regulated.create(1)
    regulated.run(60)
    clockwork = regulated.clockwork
    (row,) = clockwork.timeline.read(parking_of("acme"), "", "~", 10).rows
    (copy,) = releases_of(row)
    # The client's pause is over, and its rows wait for a sweep. A record that the copy ended would go before the row,
    # should the client be paused again.
    regulated.set_client()
    assert not clockwork.world.releases.send([copy], clockwork.clock.at)
    clockwork.deliver_visible()
    assert (only(regulated).state, only(regulated).expires_at, regulated.parked) == (State.PARKED, NEVER, 1)
    assert not clockwork.queue.messages
    assert regulated.sweep().released == 1
    assert len(regulated.run(60)) == 1


@pytest.mark.parametrize("lies", [{"revision": 3}, {"parkings": 1}], ids=["an earlier revision", "before its last row"])
def test_what_is_cancelled_while_it_is_parked_outlasts_its_row_though_a_copy_of_another_row_comes(
    lies: dict[str, int],
) -> None:
    regulated = Regulated(paused=True)
    clockwork = regulated.clockwork
    copy = release(occurrence=occurrence(client_id="acme", due_at=clockwork.clock.at), revision=1)
    assert not clockwork.world.releases.send([msgspec.structs.replace(copy, **lies)], clockwork.clock.at)
    regulated.run(60)
    assert (regulated.parked, only(regulated).state) == (1, State.PARKED)
    assert cancel_execution(clockwork.world, MINE, copy.execution_id)[0].verdict == "cancelled"
    assert not clockwork.world.releases.send([copy], clockwork.clock.at)
    assert regulated.run(60) == []
    assert not clockwork.queue.messages
    assert (regulated.parked, only(regulated).expires_at) == (1, NEVER)
    days(regulated, 90)
    regulated.set_client()
    assert (regulated.sweep().released, regulated.parked) == (0, 0)
    assert NEVER < clockwork.clock.at < only(regulated).expires_at


def test_an_ordered_job_cancelled_while_its_client_is_paused_has_an_end_once_its_message_came() -> None:
    regulated = Regulated(paused=True)
    (job_id,) = regulated.create(1, ordering_key="k")
    regulated.run(60)
    cancel_job(regulated.clockwork.world, MINE, job_id)
    regulated.set_client()
    assert regulated.run(600) == []
    assert NEVER < regulated.clockwork.clock.at < only(regulated).expires_at


def test_what_is_parked_and_has_lost_its_record_is_not_delivered_but_dead() -> None:
    """A version that kept the records of parked work for a month only may have parked it."""
    regulated = Regulated()
    orphan = release()
    regulated.clockwork.regulation.note_parked("acme", NOW)
    regulated.clockwork.timeline.put_new([parked_row(orphan)])
    assert regulated.sweep().released == 0
    assert regulated.run(60) == []
    dead = only(regulated)
    assert (dead.state, dead.occurrence) == (State.DEAD, orphan.occurrence)
    assert dead.reason is not None
    assert "expired while it was parked" in dead.reason
    assert regulated.parked == 0


def test_a_row_whose_execution_has_ended_is_forgotten_before_its_record_may_go() -> None:
    regulated = Regulated()
    parked = release()
    put_parked(regulated.clockwork, parked)
    regulated.clockwork.regulation.note_parked("acme", NOW)
    stored = only(regulated)
    regulated.clockwork.executions.save([(stored, stored.changed(state=State.CANCELLED))])
    at_forget: list[int] = []
    forget = regulated.clockwork.timeline.forget

    def noted(partition_id: str, row_keys: list[str]) -> None:
        at_forget.append(only(regulated).expires_at)
        assert (partition_id, row_keys) == (parking_of("acme"), [parked_row(parked).key])
        forget(partition_id, row_keys)

    regulated.clockwork.timeline.forget = noted  # type: ignore[method-assign, assignment]
    unpark(regulated.clockwork.world, regulated.clockwork.clock.at + 60_000)
    assert at_forget == [NEVER]
    assert only(regulated).expires_at > NOW


def test_what_waits_for_its_slot_for_weeks_and_was_cancelled_takes_no_further_message() -> None:
    """The line at a rate cap is longer than any record is kept, so each message looks before it is sent anew."""
    regulated = Regulated()
    slot_at = NOW + 60 * DAY_MS
    waiting = release(run_at=slot_at, paced=True)
    cancelled = waiting.first_record(State.CANCELLED, NOW + 30 * DAY_MS)
    regulated.clockwork.executions.save([(None, cancelled)])
    regulated.clockwork.clock.at = NOW + 4 * DAY_MS
    regulated.clockwork.world.releases.send([waiting], regulated.clockwork.clock.at)
    regulated.run(1_800)
    assert not regulated.clockwork.queue.messages
    assert regulated.clockwork.targets.delivered == []


def test_what_waits_for_its_slot_for_weeks_has_its_record_renewed_every_few_days() -> None:
    regulated = Regulated()
    clockwork = regulated.clockwork
    retry = release(run_at=NOW + 60 * DAY_MS, paced=True, attempt=2)
    failed = retry.first_record(State.FAILED, NOW + 10 * DAY_MS, attempt=1, next_attempt_at=NOW + DAY_MS)
    clockwork.executions.save([(None, failed)])
    clockwork.clock.at = NOW + 4 * DAY_MS
    clockwork.world.releases.send([retry], clockwork.clock.at)
    regulated.run(7_200)
    named_ms = clockwork.world.retention.named_ms
    assert only(regulated).expires_at >= NOW + 4 * DAY_MS + named_ms
    assert only(regulated).revision == 2
    assert clockwork.queue.messages


def test_a_record_that_is_written_is_kept_as_long_as_the_law_asks() -> None:
    regulated = Regulated()
    create_for_a_day(regulated)
    regulated.run(60)
    record = only(regulated)
    assert record.state is State.SUCCEEDED
    named_ms = 17 * DAY_MS + SPARE_MS
    assert record.due_at + named_ms <= record.expires_at <= regulated.clockwork.clock.at + named_ms
