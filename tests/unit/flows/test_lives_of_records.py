"""Lives of records: what was cancelled stays so, however late the last row or message that names it comes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import DAY_MS, Execution, Outcome, State
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Delivery
from clockwork.domain.storage.retention import SPARE_MS
from clockwork.domain.waits import Waiting
from clockwork.flows.access import Caller
from clockwork.flows.requests.cancel import cancel_execution, cancel_job
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from tests.support.examples import ACME, ALICE, NOW, failure, new_job, release, request
from tests.support.regulated import Regulated

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
def test_a_job_cancelled_while_its_client_is_paused_for_thirteen_days_is_not_delivered(by_execution: bool) -> None:
    regulated = Regulated(paused=True)
    (job_id,) = regulated.create(1)
    regulated.run(60)
    record = only(regulated)
    if by_execution:
        answer, _ = cancel_execution(regulated.clockwork.world, MINE, record.execution_id)
        assert answer.verdict == "cancelled"
    else:
        assert cancel_job(regulated.clockwork.world, MINE, job_id).verdict == "cancelled"
    days(regulated, 13)
    regulated.set_client()
    assert regulated.sweep().released == 1
    assert regulated.parked == 0
    assert regulated.run(60) == []
    assert only(regulated).state is State.CANCELLED


def test_an_ordered_job_cancelled_while_its_client_is_paused_has_an_end_once_its_message_came() -> None:
    regulated = Regulated(paused=True)
    (job_id,) = regulated.create(1, ordering_key="k")
    regulated.run(60)
    cancel_job(regulated.clockwork.world, MINE, job_id)
    regulated.set_client()
    assert regulated.run(600) == []
    assert regulated.clockwork.clock.at < only(regulated).expires_at


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
    failed = retry.first_record(State.FAILED, NOW + 10 * DAY_MS, attempt=1, waits=Waiting(NOW + DAY_MS))
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


def test_a_death_at_level_none_is_told_for_as_long_as_the_retry_of_a_copy_may_come() -> None:
    """Nobody looks before a first attempt at level `none`, so a copy may send its retry after the other one's death."""
    regulated = Regulated()
    clockwork = regulated.clockwork
    create_for_a_day(regulated, record="none", retry_policy=IN_TWO_DAYS)

    def answer(_: Delivery) -> Outcome:
        now, is_first = clockwork.clock.now(), len(clockwork.targets.delivered) == 1
        return failure(started_at=now, ended_at=now, permanent=is_first)

    clockwork.targets._answer = answer
    regulated.run(1)
    (message,) = clockwork.queue.messages.values()
    clockwork.queue.put(message.body, 5)
    clockwork.queue.put(message.body, 60)
    regulated.run(120)
    assert len(clockwork.targets.delivered) == 3
    assert only(regulated).state is State.DEAD
    retry_at = clockwork.clock.at + DAY_MS
    assert only(regulated).expires_at >= retry_at + clockwork.world.retention.named_ms
