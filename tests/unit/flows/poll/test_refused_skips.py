"""Skipped fires that can never be recorded end with their own job: its shard goes on, and those of others are told."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest

from clockwork.domain.errors import Undecodable
from clockwork.domain.executions import Execution
from clockwork.domain.fires.stretches import skipped_execution
from clockwork.ports import Saved
from tests.support.named import Named

JOBS = 12
SECRET = "https://user:secret@example.com/"
FAULTS = [ValueError(f"never show {SECRET}"), Undecodable("damaged")]


def missed() -> Named:
    """Thirteen jobs that fire each minute, of which nine fires were missed, since nobody polled."""
    named = Named(every_ms=60_000, catch_up="none")
    for number in range(JOBS):
        named.create(f"job-{number}", every_ms=60_000, catch_up="none")
    named.clockwork.clock.advance(630_000)
    return named


def told(named: Named) -> dict[str, int]:
    """How many fires of each job are recorded as skipped, by jobId."""
    told: dict[str, int] = {}
    for one in named.clockwork.executions.all():
        told[one.job_id] = told.get(one.job_id, 0) + (one.end.skipped.count if one.end.skipped is not None else 0)
    return told


def raising(inner: Any, odd: str, fault: Exception) -> Any:
    def call(subject: Any, *rest: Any) -> Any:
        job_ids = [one[1].job_id for one in subject] if isinstance(subject, list) else [subject]
        if odd in job_ids or getattr(subject, "job_id", "") == odd:
            raise fault
        return inner(subject, *rest)

    return call


@pytest.mark.parametrize("fault", FAULTS, ids=["defect", "undecodable"])
def test_a_record_that_raises_is_passed_and_those_of_others_are_saved(
    fault: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    named = missed()
    executions = named.clockwork.executions
    monkeypatch.setattr(executions, "save", raising(executions.save, named.job.job_id, fault))
    _check_all_others_are_told(named, caplog)
    assert named.clockwork.world.environment.faults.take() == isinstance(fault, ValueError)


@pytest.mark.parametrize("fault", FAULTS, ids=["defect", "undecodable"])
def test_records_that_cannot_be_read_are_passed_and_those_of_others_are_saved(
    fault: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    named = missed()
    executions = named.clockwork.executions
    save = executions.save

    def lost(changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        return [
            Saved(ok=False, actual=None) if after.job_id == named.job.job_id else save([(before, after)])[0]
            for before, after in changes
        ]

    monkeypatch.setattr(executions, "save", lost)
    monkeypatch.setattr(executions, "list", raising(executions.list, named.job.job_id, fault))
    _check_all_others_are_told(named, caplog)


def test_a_decision_that_raises_is_passed_and_the_records_of_others_are_saved(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    named = missed()

    raises = raising(skipped_execution, named.job.job_id, FAULTS[0])
    monkeypatch.setattr("clockwork.flows.skipped.skipped_execution", raises)
    _check_all_others_are_told(named, caplog)
    assert named.clockwork.world.environment.faults.take() == 1


def test_a_store_that_gives_no_answer_about_one_is_asked_again_and_the_others_are_saved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named = missed()
    executions = named.clockwork.executions
    save = executions.save

    def throttled(changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        return [
            Saved(ok=False, unavailable="throttled") if after.job_id == named.job.job_id else save([(before, after)])[0]
            for before, after in changes
        ]

    with monkeypatch.context() as busy:
        busy.setattr(executions, "save", throttled)
        named.clockwork.poll_all()
        assert len(told(named)) == JOBS
    named.clockwork.poll_all()
    assert sum(told(named).values()) == (JOBS + 1) * 9


def test_a_chain_that_misses_nothing_tells_of_no_stretch_and_of_no_fault(caplog: pytest.LogCaptureFixture) -> None:
    named = Named(every_ms=60_000, catch_up="none")
    with caplog.at_level(logging.WARNING):
        named.clockwork.poll_all()
    assert named.clockwork.queue.messages
    assert named.clockwork.world.environment.faults.take() == 0
    assert not [one for one in caplog.records if getattr(one, "action", "") == "skipped_not_recorded"]
    assert told(named) == {}


def _check_all_others_are_told(named: Named, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        reports = named.clockwork.poll_all()
    assert {report.outcome for report in reports} == {"dry"}
    assert [one for one in caplog.records if getattr(one, "action", "") == "skipped_not_recorded"]
    assert SECRET not in caplog.text
    assert [count for job_id, count in told(named).items() if job_id != named.job.job_id] == [9] * JOBS
