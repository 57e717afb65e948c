"""A change of a record that the table of transitions does not allow is not saved, and fails its own item alone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import Execution, State
from clockwork.domain.lifecycle.attempts import Plan, plan_claim
from clockwork.flows.records import replace_all
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import NOW, changed, execution
from tests.unit.flows.test_containment import ODD, ODD_JOBS, check_others_are_delivered_once, ready


def faulty(release: Any, stored: Execution | None, claim: Any) -> Plan:
    """Plan a claim; that of the odd client has succeeded before any attempt."""
    plan = plan_claim(release, stored, claim)
    if release.occurrence.client_id != ODD or plan.execution is None:
        return plan
    return msgspec.structs.replace(plan, execution=msgspec.structs.replace(plan.execution, state=State.SUCCEEDED))


def test_a_planner_with_a_defect_fails_its_item_visibly_and_the_others_are_delivered(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clockwork = ready()
    monkeypatch.setattr("clockwork.flows.deliver.claim.plan_claim", faulty)
    for times in range(1, 4):
        clockwork.deliver_visible()
        assert clockwork.world.environment.faults.take() == (times == 1)
    check_others_are_delivered_once(clockwork)
    # Its message comes back, until the dead-letter queue has it.
    assert len(clockwork.queue.messages) == 1
    assert [one for one in clockwork.executions.all() if one.job_id in ODD_JOBS] == []
    (told,) = [one for one in caplog.records if getattr(one, "action", "") == "transition_refused"]
    assert told.getMessage() == "a change of a record is refused: no record -> SUCCEEDED: no such event"
    assert getattr(told, "executionId", "").partition(".")[0] in ODD_JOBS
    monkeypatch.undo()
    clockwork.clock.at += clockwork.settings.visibility_seconds * 1000
    assert clockwork.deliver_visible().succeeded == 1


def test_a_refused_change_asks_the_store_nothing_and_its_neighbours_are_saved() -> None:
    clockwork = MemoryClockwork()
    done = execution(State.SUCCEEDED, execution_id="done")
    clockwork.executions.save([(None, done)])
    fresh = [execution(State.EXPIRED, execution_id=f"e{n}", reason="too late") for n in range(3)]
    again = changed(done, state=State.PENDING, next_attempt_at=NOW)
    saves = clockwork.world.executions.save([(None, fresh[0]), (done, again), *((None, one) for one in fresh[1:])])
    assert [one.ok for one in saves] == [True, False, True, True]
    assert (saves[1].is_defect, saves[1].actual) == (True, None)
    assert saves[1].unavailable == "its change is refused: SUCCEEDED -> PENDING: no such event"
    assert clockwork.executions.find(done.job_id, "done") == done
    assert clockwork.world.environment.faults.take() == 1


def test_a_change_that_lost_to_another_writer_is_no_defect() -> None:
    clockwork = MemoryClockwork()
    waits = execution(State.PENDING, next_attempt_at=NOW)
    parked, cancelled = (
        waits.changed(state=state, reason="because", cancel_noted_at=NOW) for state in (State.PARKED, State.CANCELLED)
    )
    clockwork.executions.save([(None, waits)])
    clockwork.executions.save([(waits, cancelled)])
    (saved,) = replace_all(clockwork.world, [(waits, parked)])
    assert (saved.ok, saved.actual) == (False, cancelled)
    assert clockwork.world.environment.faults.take() == 0
