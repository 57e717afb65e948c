"""Cancels tell the truth, callers read only their own client's jobs, and the sweeper takes care of dead letters."""

from __future__ import annotations

import msgspec
import pytest

from clockwork.domain.errors import ExecutionNotFound, JobNotFound, NewerFormat, NotAllowed, Unavailable, Undecodable
from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import only_execution
from clockwork.domain.lifecycle.attempts import Claim, plan_claim
from clockwork.domain.lifecycle.cancels import Verdict
from clockwork.domain.storage.codec import encode_release
from clockwork.flows.access import Caller, client_for, identify, require_admin, require_known
from clockwork.flows.requests.cancel import cancel_job
from clockwork.flows.requests.create import CreatedJob, create_jobs
from clockwork.flows.requests.read import get_execution, list_executions, view_job
from clockwork.flows.sweep.dead_letters import MOST_SWEEPS, STOP_MARGIN_MS, SweepReport, sweep_dead_letters
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import ACME, ADMIN, ALICE, BOB, NOW, new_job, occurrence, release, request

MINE = Caller(ALICE, client_ids=frozenset({"acme"}))
THEIRS = Caller(BOB, client_ids=frozenset({"other"}))


def create(clockwork: MemoryClockwork, **job: object) -> CreatedJob:
    return create_jobs(clockwork.world, request(new_job(**job)), ensure_shards(clockwork.world))[0]


@pytest.mark.parametrize("record", ["full", "none"])
def test_a_cancel_before_the_horizon_is_final(record: str) -> None:
    clockwork = MemoryClockwork()
    job = create(clockwork, delay_ms=100_000, record=record)
    assert cancel_job(clockwork.world, MINE, job.job_id).verdict is Verdict.CANCELLED
    assert view_job(clockwork.world, MINE, job.job_id).state == "CANCELLED"
    clockwork.run_until(clockwork.clock.at + 200_000)
    assert not clockwork.targets.delivered
    assert cancel_job(clockwork.world, MINE, job.job_id).verdict in (Verdict.CANCELLED, Verdict.TOO_LATE)


def test_a_cancel_after_release_still_wins_at_full_and_says_too_late_at_none() -> None:
    clockwork = MemoryClockwork()
    clockwork.poll_all()
    full, none = create(clockwork), create(clockwork, record="none")
    assert cancel_job(clockwork.world, MINE, full.job_id).verdict is Verdict.CANCELLED
    assert cancel_job(clockwork.world, MINE, none.job_id).verdict is Verdict.TOO_LATE
    clockwork.run_until(clockwork.clock.at + 60_000)
    assert [d.job_id for d in clockwork.targets.delivered] == [none.job_id]


def test_a_cancel_during_an_attempt_says_running_and_lists_it() -> None:
    clockwork = MemoryClockwork()
    job = create(clockwork)
    now = clockwork.clock.at
    released = release(job_id=job.job_id, run_at=job.due_at)
    running = plan_claim(released, None, Claim("other", now + 20_000, now, now * 2)).execution
    assert running is not None
    execution_id = only_execution(job.job_id, job.due_at)
    clockwork.executions.save([(None, msgspec.structs.replace(running, execution_id=execution_id))])
    answer = cancel_job(clockwork.world, MINE, job.job_id)
    assert answer.verdict is Verdict.RUNNING
    assert [e.execution_id for e in answer.executions] == [execution_id]


def test_a_cancel_after_the_end_is_too_late() -> None:
    clockwork = MemoryClockwork()
    job = create(clockwork)
    clockwork.run_until(clockwork.clock.at + 60_000)
    assert cancel_job(clockwork.world, MINE, job.job_id).verdict is Verdict.TOO_LATE


def test_a_job_is_scheduled_then_released_then_what_its_execution_is() -> None:
    clockwork = MemoryClockwork()
    job = create(clockwork, delay_ms=65_000)
    assert view_job(clockwork.world, MINE, job.job_id).state == "SCHEDULED"
    clockwork.poll_all()
    assert view_job(clockwork.world, MINE, job.job_id).state == "RELEASED"
    clockwork.run_until(clockwork.clock.at + 70_000)
    view = view_job(clockwork.world, MINE, job.job_id)
    assert view.state == "SUCCEEDED"
    assert view.last_execution is not None
    assert list_executions(clockwork.world, MINE, job.job_id, 10).executions == [view.last_execution]
    assert get_execution(clockwork.world, MINE, view.last_execution.execution_id) == view.last_execution


def test_another_clients_job_does_not_exist() -> None:
    clockwork = MemoryClockwork()
    job = create(clockwork)
    clockwork.run_until(clockwork.clock.at + 60_000)
    execution_id = only_execution(job.job_id, job.due_at)
    for call in (view_job, cancel_job):
        with pytest.raises(JobNotFound):
            call(clockwork.world, THEIRS, job.job_id)
    with pytest.raises(JobNotFound):
        list_executions(clockwork.world, THEIRS, job.job_id, 10)
    with pytest.raises(ExecutionNotFound):
        get_execution(clockwork.world, THEIRS, execution_id)


@pytest.mark.parametrize("job_id", ["", "x", "a", "a" * 700, "acDAwMC8"])
def test_what_is_no_id_is_not_found(job_id: str) -> None:
    world = MemoryClockwork().world
    with pytest.raises(JobNotFound):
        view_job(world, MINE, job_id)
    with pytest.raises(ExecutionNotFound):
        get_execution(world, MINE, job_id)


def test_callers_act_for_the_clients_that_list_them() -> None:
    clockwork = MemoryClockwork(admins=[ADMIN])
    world = clockwork.world
    clockwork.clients.put(ACME)
    alice, bob = identify(world, ALICE), identify(world, BOB)
    admin = identify(world, "arn:aws:sts::111111111111:assumed-role/Admin/session-1")
    assert client_for(world, alice, None) == client_for(world, alice, "acme") == client_for(world, admin, "acme")
    assert require_known(world, alice).client_ids == {"acme"}
    require_admin(admin)
    for refused in (
        lambda: client_for(world, bob, "acme"),
        lambda: client_for(world, bob, None),
        lambda: client_for(world, alice, "unknown"),
        lambda: client_for(world, admin, None),
        lambda: require_known(world, bob),
        lambda: require_admin(alice),
    ):
        with pytest.raises(NotAllowed):
            refused()


def test_one_who_acts_for_two_clients_has_to_name_one() -> None:
    clockwork = MemoryClockwork()
    clockwork.clients.put(ACME)
    clockwork.clients.put(type(ACME)(client_id="second", principals=(ALICE,)))
    with pytest.raises(NotAllowed, match="name the clientId"):
        client_for(clockwork.world, identify(clockwork.world, ALICE), None)


def bury(clockwork: MemoryClockwork, body: str) -> None:
    message_id = clockwork.queue.put(body)
    clockwork.queue.dead[message_id] = clockwork.queue.messages.pop(message_id)


def sweep(clockwork: MemoryClockwork) -> object:
    return sweep_dead_letters(clockwork.world, clockwork.clock.at + 60_000)


def test_a_dead_letter_is_released_again_a_few_times_and_then_dead() -> None:
    clockwork = MemoryClockwork()
    bury(clockwork, encode_release(release()))
    for _ in range(MOST_SWEEPS):
        sweep(clockwork)
        (message,) = clockwork.queue.messages.values()
        clockwork.queue.dead[message.message_id] = clockwork.queue.messages.pop(message.message_id)
    sweep(clockwork)
    assert not clockwork.queue.messages
    assert not clockwork.queue.dead
    (record,) = clockwork.executions.all()
    assert record.state is State.DEAD
    assert record.kept.occurrence is not None


@pytest.mark.parametrize(
    ("margin_ms", "swept"), [(STOP_MARGIN_MS - 1, 0), (STOP_MARGIN_MS, 0), (STOP_MARGIN_MS + 1, 1)]
)
def test_no_dead_letter_is_received_that_the_time_left_may_not_suffice_for(margin_ms: int, swept: int) -> None:
    clockwork = MemoryClockwork()
    bury(clockwork, encode_release(release()))
    assert sweep_dead_letters(clockwork.world, clockwork.clock.at + margin_ms) == SweepReport(released=swept)
    assert len(clockwork.queue.dead) == 1 - swept


def test_a_dead_letter_whose_execution_has_ended_is_forgotten() -> None:
    clockwork = MemoryClockwork()
    job = create(clockwork)
    clockwork.run_until(clockwork.clock.at + 60_000)
    occurrence = msgspec.structs.replace(release().occurrence, due_at=job.due_at)
    ended = release(job_id=job.job_id, occurrence=occurrence)
    bury(clockwork, encode_release(ended))
    sweep(clockwork)
    assert not clockwork.queue.dead
    assert not clockwork.queue.messages


def test_a_dead_letter_that_nobody_can_read_or_that_is_being_carried_out_stays() -> None:
    clockwork = MemoryClockwork()
    bury(clockwork, "nonsense")
    message = release(sweeps=MOST_SWEEPS)
    now = clockwork.clock.at
    running = plan_claim(message, None, Claim("other", now + 20_000, now, now * 2)).execution
    assert running is not None
    clockwork.executions.save([(None, running)])
    bury(clockwork, encode_release(message))
    sweep(clockwork)
    assert len(clockwork.queue.dead) == 2


@pytest.mark.parametrize("fault", [Unavailable("throttled"), Undecodable("garbage"), NewerFormat("format 9")])
def test_a_dead_letter_whose_record_cannot_be_read_stays_and_the_others_are_swept(
    monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    clockwork = MemoryClockwork()
    bad, good = release(), release(occurrence=occurrence(due_at=NOW + 1))
    for body in (encode_release(bad), encode_release(good)):
        bury(clockwork, body)
    find = clockwork.executions.find

    def failing(job_id: str, execution_id: str) -> Execution | None:
        if execution_id == bad.execution_id:
            raise fault
        return find(job_id, execution_id)

    monkeypatch.setattr(clockwork.executions, "find", failing)
    assert sweep(clockwork) == SweepReport(released=1, left=1)
    assert [letter.body for letter in clockwork.queue.dead.values()] == [encode_release(bad)]
