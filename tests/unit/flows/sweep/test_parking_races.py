"""Races of parking: a lost worker is recorded even if the client is paused, or a cancel is noted meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from clockwork.domain.executions import Claimed, Execution, State
from clockwork.domain.ids import only_execution
from clockwork.domain.lifecycle.parking import parking_of
from clockwork.domain.lifecycle.retries import FORGIVEN_LOST_WORKERS
from clockwork.domain.policies import Budget, RetryPolicy
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.sweep.unpark import unpark
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Saved
from tests.support.examples import ACME, changed, new_job, request, success
from tests.support.named import Named


def _lost_over(clockwork: MemoryClockwork) -> Execution:
    """The record of a job whose workers were lost once too often; it is due in 5 s, and its client is paused."""
    job = new_job(delay_ms=5_000, retry_policy=RetryPolicy(max_attempts=1))
    (created,) = create_jobs(clockwork.world, request(job), ensure_shards(clockwork.world))
    running = Execution(
        job_id=created.job_id,
        execution_id=only_execution(created.job_id, created.due_at),
        client_id=ACME.client_id,
        due_at=created.due_at,
        state=State.RUNNING,
        revision=1,
        expires_at=created.due_at + 10**9,
        attempt=FORGIVEN_LOST_WORKERS + 1,
        claim=Claimed("whoever was lost", clockwork.clock.at - 1_000, clockwork.clock.at - 2_000),
        budget=Budget(lost_workers=FORGIVEN_LOST_WORKERS),
    )
    clockwork.executions.save([(None, running)])
    clockwork.clients.put(msgspec.structs.replace(ACME, paused=True))
    return running


def test_a_lost_worker_is_recorded_although_its_client_is_paused() -> None:
    clockwork = MemoryClockwork(answer=lambda delivery: success(clockwork.clock.now()))
    running = _lost_over(clockwork)
    clockwork.run_until(running.due_at + 10_000)
    (record,) = clockwork.executions.all()
    assert record.state is State.DEAD
    assert [attempt.state for attempt in record.attempts] == [State.WORKER_LOST]
    assert not clockwork.queue.messages


def test_a_lost_worker_is_recorded_although_a_cancel_is_noted_in_the_midst_of_that() -> None:
    clockwork = MemoryClockwork(answer=lambda delivery: success(clockwork.clock.now()))
    running = _lost_over(clockwork)
    save = clockwork.executions.save
    noted = msgspec.structs.replace(running, revision=2, cancel_noted_at=clockwork.clock.at)

    def save_after_a_cancel(changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        if changes[0][1].state is State.DEAD:
            save([(running, noted)])
        return save(changes)

    clockwork.executions.save = save_after_a_cancel  # type: ignore[method-assign]
    clockwork.run_until(running.due_at + 10_000)
    (record,) = clockwork.executions.all()
    assert record.state is State.CANCELLED
    assert [attempt.state for attempt in record.attempts] == [State.WORKER_LOST]


@pytest.mark.parametrize(("later", "delivered"), [(0, [10.0]), (1, [])])
def test_a_parked_row_goes_on_from_a_record_that_an_older_release_ended_and_from_no_later_end(
    later: int, delivered: list[float]
) -> None:
    named = Named(recurrence=None, at=1_700_000_010_000)
    named.clockwork.clients.put(msgspec.structs.replace(ACME, paused=True))
    named.run(20)
    (parked,) = named.executions()
    assert parked.state is State.PARKED
    # A deliverer that saw the job as it was before the resume that sent this release ended it afterwards.
    ended = changed(parked, state=State.SKIPPED, reason="paused", ended_by=named.stored.revision + later)
    (saved,) = named.clockwork.executions.save([(parked, ended)])
    assert saved.ok
    named.clockwork.clients.put(ACME)
    unpark(named.clockwork.world, named.clockwork.clock.at + 60_000)
    assert named.run(60) == delivered
    assert not named.clockwork.timeline._rows.get(parking_of("acme"))
