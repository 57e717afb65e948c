"""Outcomes of attempts: each is recorded though its record changed meanwhile, as long as the claim on it stands."""

from __future__ import annotations

import pytest

from clockwork.domain.clients import DELETED
from clockwork.domain.executions import Outcome, State
from clockwork.domain.releases import Delivery
from clockwork.flows.access import Caller
from clockwork.flows.requests.cancel import cancel_job
from tests.support.examples import ALICE, failure, success
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
    # The message is done with: nothing of it comes again.
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
