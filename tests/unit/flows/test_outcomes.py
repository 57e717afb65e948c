"""Outcomes of attempts: each is recorded though its record changed meanwhile, as long as the claim on it stands."""

from __future__ import annotations

import pytest

from clockwork.domain.clients import DELETED
from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.jobs import Occurrence
from clockwork.domain.keys import row_key
from clockwork.domain.lifecycle.expiry import is_expired
from clockwork.domain.releases import Delivery, Release
from clockwork.flows.access import Caller
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.inform import unexpired
from clockwork.flows.deliver.items import Item
from clockwork.flows.deliver.outcome import record
from clockwork.flows.deliver.waiting import Resent
from clockwork.flows.requests.cancel import cancel_job
from clockwork.flows.workflows.follow import is_followed
from tests.support.examples import ALICE, NOW, failure, occurrence, release, success
from tests.support.regulated import Regulated

MINE = Caller(ALICE, client_ids=frozenset({"acme"}))


@pytest.mark.parametrize(("succeeds", "end"), [(True, State.SUCCEEDED), (False, State.CANCELLED)])
def test_a_cancel_that_is_noted_while_an_attempt_runs_leaves_its_outcome_to_be_recorded_at_once(
    succeeds: bool, end: State
) -> None:
    regulated = Regulated()
    (job_id,) = regulated.create(1)
    clockwork = regulated.clockwork

    def while_running(_: Delivery) -> Outcome:
        now = clockwork.clock.now()
        assert cancel_job(clockwork.world, MINE, job_id).verdict == "running"
        return success(now) if succeeds else failure(started_at=now, ended_at=now)

    clockwork.targets._answer = while_running
    assert len(regulated.run(6)) == 1
    (record,) = clockwork.executions.all()
    assert (record.state, [one.state for one in record.attempts]) == (
        end,
        [State.SUCCEEDED if succeeds else State.FAILED],
    )
    # The message is done with: nothing of it is received again.
    assert not clockwork.queue.messages


def test_the_outcome_of_an_attempt_whose_record_was_lost_is_refused_and_its_message_comes_again() -> None:
    regulated = Regulated()
    regulated.create(1)
    clockwork = regulated.clockwork

    def while_running(_: Delivery) -> Outcome:
        clockwork.executions._records.clear()
        return success(clockwork.clock.now())

    clockwork.targets._answer = while_running
    regulated.run(6)
    assert not list(clockwork.executions.all())
    assert len(clockwork.queue.messages) == 1


@pytest.mark.parametrize("record", ["none", "full"])
def test_what_comes_due_of_a_deleted_client_ends_visibly_whether_or_not_it_is_recorded(record: str) -> None:
    regulated = Regulated()
    regulated.create(1, record=record)
    regulated.set_client(deleting_at=regulated.start + 1)
    assert regulated.run(20) == []
    (ended,) = regulated.clockwork.executions.all()
    assert (ended.state, ended.reason) == (State.CANCELLED, DELETED)
    assert not regulated.clockwork.queue.messages


def test_an_item_whose_window_cannot_be_told_fails_alone_beside_one_that_is_too_late_and_one_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = Regulated().clockwork
    clockwork.clock.at = NOW + 60_000
    broken, late, good = (
        Item(name, release(occurrence=occurrence(due_at=NOW + number, relevancy_window_seconds=window)))
        for number, (name, window) in enumerate((("broken", 7), ("late", 5), ("good", 90)))
    )

    def odd(asked: Occurrence, at: int) -> bool:
        if asked.relevancy_window_seconds == 7:
            raise ValueError("no number")
        return is_expired(asked, at)

    monkeypatch.setattr("clockwork.flows.deliver.inform.is_expired", odd)
    batch = Batch(clockwork.world, clockwork.clock.at + 60_000, Resent(clockwork.world))
    assert unexpired(batch, [broken, late, good]) == [good]
    assert batch.report.failed_messages == ["broken"]
    assert [one.state for one in clockwork.executions.all()] == [State.EXPIRED]


def test_an_outcome_that_another_copy_recorded_first_fails_alone_if_what_it_owes_cannot_be_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = Regulated().clockwork
    odd, good = (
        release(occurrence=occurrence(record="none"), job_id=AnonymousJob("p000", row_key(NOW, name * 22), 0).job_id)
        for name in ("o", "g")
    )

    def asked(about: Release, stored: Execution) -> bool:
        if about.job_id == odd.job_id:
            raise ValueError("no callback")
        return is_followed(about, stored)

    def recorded(error: str) -> Batch:
        batch = Batch(clockwork.world, clockwork.clock.at + 60_000, Resent(clockwork.world))
        refused = Outcome(State.FAILED, NOW, NOW, permanent=True, error=error)
        record(batch, [(Item(one.job_id, one), refused) for one in (odd, good)])
        return batch

    assert recorded("HTTP 410").report.dead == 2
    monkeypatch.setattr("clockwork.flows.deliver.batch.is_followed", asked)
    second = recorded("HTTP 404")
    assert (second.report.absorbed, second.report.failed_messages) == (2, [odd.job_id])
    assert [one.state for one in clockwork.executions.all()] == [State.DEAD, State.DEAD]
