"""Dead executions are listed, notified, redriven or discarded; a redrive that fails at any step is safe to repeat."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import ExecutionNotFound, NotDead, Unavailable, Undecodable
from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.fires.chains import release_of
from clockwork.domain.fires.hints import completed
from clockwork.domain.lifecycle.attempts import Claim, plan_claim, plan_death, plan_outcome
from clockwork.domain.lifecycle.redrives import discarded, plan_redrive
from clockwork.domain.named.changes import cancelled, replaced
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.recurrence import Fire
from clockwork.domain.releases import Delivery
from clockwork.domain.timeline import Row
from clockwork.flows.access import Caller
from clockwork.flows.named import write
from clockwork.flows.named.in_flight import UnderWay
from clockwork.flows.requests import redrive as redriving
from clockwork.flows.requests.cancel import cancel_execution
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.requests.redrive import DeadFilter, discard_dead, list_dead, redrive, redrive_dead
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Saved
from clockwork.targets.message import Payload
from clockwork.targets.sqs import SqsTarget
from tests.support.examples import ACME, ALICE, NOW, TARGET, execution, failure, new_job, occurrence, request
from tests.support.named import Named

QUEUE = "arn:aws:sqs:us-east-1:123456789012:acme-dead"
TWICE = RetryPolicy(max_attempts=2, initial_seconds=5, max_age_seconds=60, jitter="none")
DEAD = execution(State.DEAD, attempt=2, lost_workers=1, reason="r", occurrence=occurrence(record="none"))
ALL = DeadFilter()
CALLER = Caller(ALICE, client_ids=frozenset({"acme"}))


class Failing:
    """A Clockwork whose target fails until `mended`."""

    def __init__(self, count: int = 1, **job: Any) -> None:
        self.mended = False
        self.clockwork = MemoryClockwork(answer=self.answer)
        self.world = self.clockwork.world
        client = msgspec.structs.replace(ACME, dead_letter_queue_arn=QUEUE, allowed_queue_arns=(QUEUE,))
        self.clockwork.clients.put(client)
        # The target is a queue because queues have no circuit breaker.
        values = {"target": SqsTarget(QUEUE), "retry_policy": TWICE, **job}
        jobs = [new_job(**{"delay_ms": 1000 * (n + 1), **values}) for n in range(count)]
        create_jobs(self.world, request(*jobs), ensure_shards(self.world))
        self.run(60)

    def answer(self, delivery: Delivery) -> Outcome:
        now = self.clockwork.clock.now()
        return Outcome(State.SUCCEEDED, now, now) if self.mended else failure(started_at=now, ended_at=now)

    def run(self, seconds: int) -> None:
        self.clockwork.run_until(self.clockwork.clock.at + seconds * 1000)

    def dead(self) -> list[Execution]:
        return list(list_dead(self.world, "acme", ALL, 100, None).executions)


def test_a_redrive_waits_with_a_fresh_budget_age_and_window_and_is_recorded_from_then_on() -> None:
    plan = plan_redrive(DEAD, "p000", NOW + 999_000)
    assert plan.execution is not None
    assert plan.release is not None
    assert (plan.execution.state, plan.execution.revision) == (State.PENDING, 2)
    assert (plan.execution.budget.start, plan.execution.budget.lost_workers) == (2, 0)
    assert plan.release.execution_id == DEAD.execution_id
    assert (plan.release.attempt, plan.release.run_at) == (3, NOW + 999_000)
    assert (plan.release.occurrence.record, plan.release.occurrence.due_since) == ("full", NOW + 999_000)


def test_a_redrive_before_the_due_instant_waits_for_it() -> None:
    early = plan_redrive(DEAD, "p000", NOW - 5_000)
    assert early.release is not None
    assert early.release.run_at == NOW


def test_the_same_redrive_again_is_the_same_release() -> None:
    first = plan_redrive(DEAD, "p000", NOW + 1)
    assert first.execution is not None
    again = plan_redrive(first.execution, "p000", NOW + 50_000)
    assert (again.execution, again.release) == (None, first.release)


@pytest.mark.parametrize("state", [state for state in State if state is not State.DEAD])
def test_only_what_is_dead_is_redriven_and_put_away(state: State) -> None:
    plan = plan_redrive(execution(state), "p000", NOW)
    assert (plan.execution, plan.release) == (None, None)
    assert str(state) in plan.reason
    assert discarded(execution(state, occurrence=occurrence())) is None


def test_what_was_put_away_stays_dead_without_its_payload_and_is_not_redriven() -> None:
    away = discarded(DEAD)
    assert away is not None
    assert (away.state, away.kept.occurrence, away.needs_attention) == (State.DEAD, None, False)
    assert away.reason == "discarded; r"
    assert plan_redrive(away, "p000", NOW).release is None
    assert discarded(away) is None


@pytest.mark.parametrize("record", ["full", "none"])
def test_a_dead_execution_is_listed_told_redriven_and_delivered_once(record: str) -> None:
    failing = Failing(record=record)
    (dead,) = failing.dead()
    assert [(arn, told.execution_id) for arn, told in failing.clockwork.notices.told] == [(QUEUE, dead.execution_id)]
    failing.mended = True
    assert redrive(failing.world, dead).state is State.PENDING
    failing.run(60)
    after = failing.clockwork.executions.find(dead.job_id, dead.execution_id)
    assert after is not None
    assert (after.state, [one.state for one in after.attempts][-1]) == (State.SUCCEEDED, State.SUCCEEDED)
    assert (after.reason, after.kept.occurrence) == (None, None)
    assert [one.attempt for one in failing.clockwork.targets.delivered] == [1, 2, 3]
    assert failing.dead() == []
    with pytest.raises(NotDead, match="SUCCEEDED"):
        redrive(failing.world, after)


def test_a_redriven_execution_has_all_its_attempts_again_and_may_die_again() -> None:
    failing = Failing()
    failing.run(3_600)
    redrive(failing.world, failing.dead()[0])
    failing.run(60)
    (again,) = failing.dead()
    assert (again.state, again.attempt) == (State.DEAD, 4)
    assert "attempt 2 of 2 failed" in (again.reason or "")
    assert again.kept.occurrence is not None
    assert len(failing.clockwork.notices.told) == 2


def test_a_redrive_that_dies_before_its_release_is_finished_by_its_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Failing()
    (dead,) = failing.dead()
    failing.mended = True

    def lost(rows: Sequence[Row]) -> None:
        raise Unavailable("no answer")

    with monkeypatch.context() as broken:
        broken.setattr(failing.clockwork.timeline, "put_new", lost)
        with pytest.raises(Unavailable):
            redrive(failing.world, dead)
    (waiting,) = failing.dead()
    assert waiting.state is State.PENDING
    handled = redrive_dead(failing.world, "acme", ALL, 100, None, admit=lambda *_: None)
    assert (handled.seen, handled.changed) == (1, 0)
    failing.run(60)
    assert len(failing.clockwork.targets.delivered) == 3
    assert failing.dead() == []


def test_two_redrives_at_once_deliver_once() -> None:
    failing = Failing()
    (dead,) = failing.dead()
    failing.mended = True
    redrive(failing.world, dead)
    assert redrive(failing.world, dead).state is State.PENDING
    failing.run(60)
    assert len(failing.clockwork.targets.delivered) == 3


def test_a_cancel_beats_a_redrive_that_nobody_has_claimed() -> None:
    failing = Failing()
    (dead,) = failing.dead()
    waiting = redrive(failing.world, dead)
    answer, after = cancel_execution(failing.world, CALLER, waiting.execution_id)
    assert (str(answer.verdict), after.state) == ("cancelled", State.CANCELLED)
    failing.run(60)
    assert len(failing.clockwork.targets.delivered) == 2


def test_many_are_redriven_page_by_page_and_none_twice() -> None:
    failing = Failing(count=7)
    failing.mended = True
    before, changed, pages = None, 0, 0
    admitted: list[int] = []
    while True:
        handled = redrive_dead(
            failing.world, "acme", ALL, 3, before, admit=lambda count, nodes=0: admitted.append(count)
        )
        changed, pages, before = changed + handled.changed, pages + 1, handled.next_before
        if before is None:
            break
    assert (changed, pages, admitted) == (7, 3, [3, 3, 1])
    failing.run(60)
    assert [one.state for one in failing.clockwork.executions.all()] == [State.SUCCEEDED] * 7
    assert len(failing.clockwork.targets.delivered) == 21


def test_a_filter_picks_by_due_instant_and_by_the_key_of_named_jobs() -> None:
    failing = Failing(count=4)
    due = [one.due_at for one in failing.dead()]
    assert due == sorted(due, reverse=True)
    later = DeadFilter(from_at=due[1], to_at=due[0])
    assert [one.due_at for one in list_dead(failing.world, "acme", later, 100, None).executions] == due[:2]
    assert list_dead(failing.world, "acme", DeadFilter(prefix="daily"), 100, None).executions == []
    assert discard_dead(failing.world, "acme", later, 100, None).changed == 2
    assert [one.due_at for one in failing.dead()] == due[2:]
    assert list_dead(failing.world, "globex", ALL, 100, None).executions == []


def test_what_somebody_changes_under_a_redrive_is_read_again_or_left(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Failing()
    (dead,) = failing.dead()
    away = discarded(dead)
    assert away is not None
    failing.clockwork.executions.save([(dead, away)])
    with pytest.raises(NotDead, match="discarded"):
        redrive(failing.world, dead)

    def refuse(changes: Sequence[Any]) -> list[Saved]:
        return [Saved(ok=False, unavailable="throttled") for _ in changes]

    monkeypatch.setattr(failing.clockwork.executions, "save", refuse)
    with pytest.raises(Unavailable):
        redrive(failing.world, dead)


def test_a_queue_that_does_not_take_a_notice_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object, queue_arn: str, told: Execution) -> None:
        raise Unavailable("denied")

    monkeypatch.setattr("clockwork.memory.outboxes.MemoryNotices.send", refuse)
    failing = Failing()
    assert len(failing.dead()) == 1
    assert not failing.clockwork.queue.messages


def test_an_execution_is_cancelled_before_it_was_recorded_if_it_is_its_job() -> None:
    clockwork = MemoryClockwork()
    (job,) = create_jobs(clockwork.world, request(new_job()), ensure_shards(clockwork.world))
    execution_id = f"{job.job_id}.{job.due_at:013d}.0"
    answer, record = cancel_execution(clockwork.world, CALLER, execution_id)
    assert (str(answer.verdict), record.state) == ("cancelled", State.CANCELLED)
    clockwork.run_until(clockwork.clock.at + 60_000)
    assert not clockwork.targets.delivered
    for wrong in (f"{job.job_id}.{job.due_at + 1:013d}.0", "nonsense"):
        with pytest.raises(ExecutionNotFound):
            cancel_execution(clockwork.world, CALLER, wrong)


def test_as_it_was_is_refused_for_the_true_reason_if_the_last_deliverer_of_a_named_job_was_lost() -> None:
    named = Named(retry_policy=TWICE)
    job, now = named.job, named.start
    first = release_of(job, Fire(now, now, 1))
    claimed = plan_claim(first, None, Claim("me", now + 60_000, now, 2 * now)).execution
    assert claimed is not None
    whole = msgspec.structs.replace(first, occurrence=completed(first.occurrence, job))
    failed = plan_outcome(whole, claimed, failure(started_at=now, ended_at=now), now, 0.0)
    assert failed.release is not None
    dead = plan_death(failed.release, failed.execution, "it came back too often", now, 2 * now)
    assert [one.state for one in dead.attempts] == [State.FAILED]
    refused = plan_redrive(dead, job.partition_id, now, job.revision, as_it_was=True)
    assert (refused.execution, refused.release) == (None, None)
    # An attempt of it did begin: what the record lacks is the payload.
    assert "began" not in refused.reason
    assert "no payload" in refused.reason
    today = plan_redrive(dead, job.partition_id, now, job.revision)
    assert today.release is not None


def test_as_it_was_delivers_what_an_attempts_outcome_ended_of_a_named_job() -> None:
    named = Named(retry_policy=RetryPolicy(max_attempts=1))
    job, now = named.job, named.start
    first = release_of(job, Fire(now, now, 1))
    claimed = plan_claim(first, None, Claim("me", now + 60_000, now, 2 * now)).execution
    assert claimed is not None
    whole = msgspec.structs.replace(first, occurrence=completed(first.occurrence, job))
    dead = plan_outcome(whole, claimed, failure(started_at=now, ended_at=now), now, 0.0).execution
    assert dead is not None
    plan = plan_redrive(dead, job.partition_id, now, job.revision, as_it_was=True)
    assert plan.release is not None
    assert plan.release.occurrence.payload == job.definition.payload


def _dead_of_a_named_job(named: Named, *, is_whole: bool) -> Execution:
    """A dead record of the fire at 10 s: by an attempt's outcome, or without an attempt, so without a payload."""
    job, due = named.job, named.start + 10_000
    first, expires_at = release_of(job, Fire(due, due, 1)), due * 2
    claimed = plan_claim(first, None, Claim("me", due + 60_000, due, expires_at)).execution
    assert claimed is not None
    whole = msgspec.structs.replace(first, occurrence=completed(first.occurrence, job))
    failed = plan_outcome(whole, claimed, failure(started_at=due, ended_at=due), due, 0.0).execution
    dead = failed if is_whole else plan_death(first, None, "it was given up", due, expires_at)
    assert dead is not None
    named.run(12)  # Its own release is absorbed by the record that is saved before.
    kept = _stored(named, dead)
    dead = msgspec.structs.replace(dead, revision=kept.revision + 1)
    assert named.clockwork.executions.save([(kept, dead)])[0].ok
    named.clockwork.targets.delivered.clear()
    return dead


def test_a_hint_is_never_redriven_as_it_was_though_it_waits_already(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named(retry_policy=RetryPolicy(max_attempts=1))
    dead = _dead_of_a_named_job(named, is_whole=False)
    with monkeypatch.context() as broken, pytest.raises(Unavailable):
        broken.setattr(redriving, "put_and_check_each", _no_answer)
        redrive(named.clockwork.world, dead)
    with pytest.raises(NotDead, match="no payload"):
        redrive(named.clockwork.world, _stored(named, dead), as_it_was=True)
    redrive(named.clockwork.world, dead)
    named.run(5)
    first = next(one for one in named.clockwork.targets.delivered if one.execution_id == dead.execution_id)
    assert (first.occurrence.target, first.occurrence.payload) == (TARGET, Payload(b"1"))


@pytest.mark.parametrize("as_it_was", [False, True])
@pytest.mark.parametrize("is_lost", [False, True])
def test_what_waits_is_redriven_again_in_its_own_way_alone(
    as_it_was: bool, is_lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = Named(retry_policy=RetryPolicy(max_attempts=1))
    dead = _dead_of_a_named_job(named, is_whole=True)
    named.change(replaced(named.definition(payload=Payload(b"2")), b'"y"'))
    world = named.clockwork.world
    with monkeypatch.context() as broken:
        if is_lost:
            broken.setattr(redriving, "put_and_check_each", _no_answer)
        with contextlib.suppress(Unavailable):
            redrive(world, dead, as_it_was=as_it_was)
    with pytest.raises(NotDead, match="repeat that without asItWas" if not as_it_was else "repeat that with asItWas"):
        redrive(world, dead, as_it_was=not as_it_was)
    # By filter, which has no mode, it goes on in its own way.
    assert redrive_dead(world, "acme", ALL, 100, None, admit=lambda *_: None).changed == 0
    assert redrive(world, dead, as_it_was=as_it_was).state is State.PENDING
    named.run(5)
    sent = [one for one in named.clockwork.targets.delivered if one.execution_id == dead.execution_id]
    assert [one.occurrence.payload.body for one in sent] == [b"1" if as_it_was else b"2"]


def test_what_waits_by_the_definition_of_a_job_that_was_deleted_meanwhile_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named(retry_policy=RetryPolicy(max_attempts=1))
    dead = _dead_of_a_named_job(named, is_whole=True)
    with monkeypatch.context() as broken, pytest.raises(Unavailable):
        broken.setattr(redriving, "put_and_check_each", _no_answer)
        redrive(named.clockwork.world, dead)
    monkeypatch.setattr(write, "apply_to_older", lambda *_: UnderWay())  # An outage leaves it to its deliverer.
    named.change(cancelled(None))
    redrive(named.clockwork.world, _stored(named, dead))
    named.run(5)
    kept = _stored(named, dead)
    assert (kept.state, kept.reason) == (State.CANCELLED, "its job was deleted")


def _stored(named: Named, execution: Execution) -> Execution:
    kept = named.clockwork.executions.find(execution.job_id, execution.execution_id)
    assert kept is not None
    return kept


def _no_answer(*_: object, **__: object) -> None:
    raise Unavailable("no answer")


@pytest.mark.parametrize("odd", [Undecodable("damaged"), object()], ids=["unreadable", "defect"])
def test_a_page_is_redriven_by_one_read_of_its_jobs_and_without_one_that_cannot_be_read(
    odd: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = Named()
    world, clockwork = named.clockwork.world, named.clockwork
    jobs = [named.job, *(named.create(key=key).job for key in ("odd", "tock"))]
    for job in jobs:
        due = [Fire(named.start + n * 10_000, named.start + n * 10_000, n) for n in range(1, 4)]
        dead = [
            plan_death(release_of(job, fire), None, "r", clockwork.clock.at, clockwork.clock.at * 2) for fire in due
        ]
        clockwork.executions.save([(None, one) for one in dead])
    get, reads = clockwork.jobs.get, list[int]()

    def damaged(job_refs: Sequence[tuple[str, str]]) -> Sequence[Any]:
        reads.append(len(job_refs))
        return [odd if ref == ("acme", "odd") else one for ref, one in zip(job_refs, get(job_refs), strict=True)]

    monkeypatch.setattr(clockwork.jobs, "get", damaged)
    handled = redrive_dead(world, "acme", ALL, 100, None, admit=lambda *_: None)
    assert (handled.seen, handled.changed, reads) == (9, 6, [3])
    left = list_dead(world, "acme", DeadFilter(), 100, None).executions
    assert {(one.job_id, one.state) for one in left if one.state is State.DEAD} == {(jobs[1].job_id, State.DEAD)}
