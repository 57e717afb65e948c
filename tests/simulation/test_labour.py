"""The judge of what workers hold sees what it is for: each rule is shown what is right, and what is not."""

from __future__ import annotations

from clockwork.domain.executions import Execution, Report, State
from tests.simulation.labour import Labour
from tests.support.examples import NOW, changed, execution

ID = execution(State.RUNNING).execution_id


def running(attempt: int = 1, **changes: object) -> Execution:
    return changed(execution(State.RUNNING, attempt=attempt, claimant="its own"), **changes)


def test_two_workers_hold_no_execution_at_once() -> None:
    labour = Labour()
    assert labour.begins(ID, 1, NOW + 60_000, NOW) is None
    assert labour.begins(ID, 1, NOW + 60_000, NOW + 1) is None, "its own answer, repeated"
    assert labour.begins(ID, 2, NOW + 120_000, NOW + 59_999) is not None
    assert labour.begins("another", 2, NOW + 120_000, NOW + 59_999) is None


def test_a_lease_holds_for_as_long_as_a_heartbeat_was_told_and_no_longer_than_the_work() -> None:
    labour = Labour()
    labour.begins(ID, 1, NOW + 60_000, NOW)
    labour.renewed(ID, 1, NOW + 90_000)
    assert labour.begins(ID, 2, NOW + 150_000, NOW + 60_001) is not None
    labour.give_back(ID, 1)
    labour.renewed(ID, 1, NOW + 190_000)
    assert labour.begins(ID, 2, NOW + 150_000, NOW + 60_001) is None
    assert labour.begins(ID, 3, NOW + 250_000, NOW + 150_000) is None, "the end of a lease is no part of it"


def test_a_handler_starts_at_its_instant_by_the_clock_that_answered() -> None:
    assert Labour().early_objection(NOW, NOW) is None
    assert Labour().early_objection(NOW, NOW - 1) == "its handler starts 1 ms early"


def test_no_attempt_follows_one_whose_cancel_was_noted() -> None:
    labour = Labour()
    before = running(2)
    labour.changed(None, before, NOW)
    assert labour.start_objection(ID, 3) is None
    labour.changed(before, before.changed(cancel_noted_at=NOW), NOW)
    assert labour.start_objection(ID, 2) is None, "it may have been claimed before"
    assert labour.start_objection(ID, 3) is not None


def test_no_outcome_counts_once_the_execution_was_cancelled() -> None:
    labour = Labour()
    after = running().changed(state=State.CANCELLED)
    labour.changed(running(), after, NOW)
    assert labour.outcome_objection(ID, after, State.SUCCEEDED, NOW) is None, "it was on its way"
    assert labour.outcome_objection(ID, after, State.SUCCEEDED, NOW + 1) is not None
    told = changed(after, report=Report("its own", state=State.HANDED_BACK, at=NOW))
    assert labour.outcome_objection(ID, told, State.HANDED_BACK, NOW + 1) is None, "that is the report that ended it"
    assert labour.outcome_objection(ID, told, State.FAILED, NOW + 1) is not None


def test_the_claim_of_a_silent_worker_is_ended() -> None:
    labour, claimed = Labour(), running()
    assert labour.silence_objection(claimed, claimed) is not None
    assert labour.silence_objection(claimed, None) is None
    assert labour.silence_objection(claimed, claimed.changed(state=State.WORKER_LOST)) is None
    assert labour.silence_objection(claimed, changed(claimed, claimant="another")) is None
