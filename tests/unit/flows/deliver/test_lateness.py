"""Lateness is the truth: from the due instant to the first attempt, whatever moved the release's own instant meanwhile.

Its waits are told apart.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import Execution, State
from clockwork.domain.lifecycle.redrives import plan_redrive
from clockwork.domain.limits.circuits import Circuit
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.storage.codec import decode_message, encode_message
from clockwork.domain.waits import Held, Waited
from clockwork.flows.deliver.items import DeliverReport
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import NOW, like, release
from tests.support.regulated import Regulated

HOST = "example.com"


def watched(regulated: Regulated, monkeypatch: pytest.MonkeyPatch) -> list[DeliverReport]:
    """The reports of all batches from now on."""
    reports: list[DeliverReport] = []
    deliver = MemoryClockwork._deliver

    def kept(*args: Any) -> DeliverReport:
        reports.append(deliver(*args))
        return reports[-1]

    monkeypatch.setattr(MemoryClockwork, "_deliver", kept)
    return reports


def waits_of(record: Execution) -> dict[str, int]:
    """The waits of a record; they are never longer than it was late."""
    waits = {} if record.waits.waited is None else msgspec.to_builtins(record.waits.waited)
    assert sum(waits.values()) <= record.attempts[0].lateness_ms
    return waits


def total(reports: list[DeliverReport], cause: str) -> list[int]:
    return sorted(ms for report in reports for ms in report.waited_ms.get(cause, []))


@pytest.mark.parametrize("record", ["full", "none"])
def test_a_job_that_waited_for_a_permit_was_late(record: str, monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated(max_concurrency=1)
    reports = watched(regulated, monkeypatch)
    now = regulated.start
    assert regulated.clockwork.regulation.lease("acme", 0, "other", now, now + 40_000)
    regulated.create(1, record=record)
    regulated.run(120)
    (late_ms,) = [ms for report in reports for ms in report.lateness_ms]
    assert late_ms >= 35_000
    assert total(reports, "permit") == [late_ms]
    assert [ms for report in reports for ms in report.own_lateness_ms] == [0]
    if record == "full":
        (done,) = regulated.clockwork.executions.all()
        assert done.attempts[0].lateness_ms == late_ms
        assert waits_of(done) == {"permit": late_ms}


def test_a_wait_for_the_deployments_own_permits_is_its_own_lateness(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated()
    reports = watched(regulated, monkeypatch)
    now = regulated.start
    environment = regulated.clockwork.world.environment
    environment.slow_until["acme"] = now + 60_000
    # Beside another client it needs permits of its share.
    environment.company.note({"another": 1}, now)
    for block in range(1_000):
        regulated.clockwork.regulation.lease("acme", block, "other", now, now + 40_000)
    regulated.create(1)
    regulated.run(120)
    own = [ms for report in reports for ms in report.own_lateness_ms]
    assert own == [ms for report in reports for ms in report.lateness_ms]
    assert own[0] >= 35_000
    assert total(reports, "permit") == own


@pytest.mark.parametrize("count", [5, 30])
def test_a_job_that_waited_for_its_slot_was_late(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty of them are spread by their poller, five by the deliverer."""
    regulated = Regulated(max_rate_per_second=0.5)
    reports = watched(regulated, monkeypatch)
    regulated.create(count, delay_ms=10_000)
    regulated.run(10 + 2 * count + 10)
    late = sorted(one.attempts[0].lateness_ms for one in regulated.clockwork.executions.all())
    assert late == [2_000 * place for place in range(count)]
    assert total(reports, "cap") == late[1:]
    assert not any(ms for report in reports for ms in report.own_lateness_ms)


def test_a_job_that_its_clients_pause_held_back_was_late() -> None:
    regulated = Regulated(paused=True)
    regulated.create(1)
    regulated.run(60)
    regulated.set_client()
    regulated.sweep()
    regulated.run(10)
    (done,) = regulated.clockwork.executions.all()
    assert done.attempts[0].lateness_ms in range(55_000, 56_000)
    assert waits_of(done) == {"pause": done.attempts[0].lateness_ms}


@pytest.mark.parametrize("record", ["full", "none"])
def test_what_was_parked_for_two_reasons_tells_both(record: str, monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated(paused=True)
    reports = watched(regulated, monkeypatch)
    regulated.create(1, record=record)
    regulated.run(60)
    regulated.set_client()
    opened_at = regulated.clockwork.clock.at
    regulated.clockwork.regulation.save_circuit(None, Circuit("acme", HOST, opened_at, opened_at + 60_000, 60_000))
    # The sweep knows of no circuit yet when it unparks the job, and the deliverer does.
    with monkeypatch.context() as patch:
        patch.setattr(regulated.clockwork.regulation, "circuits", lambda _: {})
        regulated.sweep()
    regulated.run(5)
    assert regulated.parked == 1
    regulated.run(30)
    regulated.clockwork.regulation.close_circuit("acme", HOST)
    regulated.sweep()
    regulated.run(10)
    (late_ms,) = [ms for report in reports for ms in report.lateness_ms]
    (paused_ms,), (shut_ms,) = total(reports, "pause"), total(reports, "circuit")
    assert paused_ms in range(55_000, 56_000)
    assert shut_ms in range(34_000, 36_000)
    assert paused_ms + shut_ms == late_ms


def test_an_ordered_job_waited_for_those_ahead_of_it_and_for_its_clients_pause() -> None:
    regulated = Regulated()
    regulated.accepts = False
    hold = RetryPolicy(max_attempts=2, backoff="fixed", initial_seconds=100, jitter="none")
    (head,) = regulated.create(1, ordering_key="a", retry_policy=hold)
    (behind,) = regulated.create(1, delay_ms=6_000, ordering_key="a", retry_policy=hold)
    regulated.run(50)
    regulated.accepts = True
    regulated.run(100)
    records = {one.job_id: one for one in regulated.clockwork.executions.all()}
    assert waits_of(records[head]) == {}
    assert waits_of(records[behind]) == {"ordered": records[behind].attempts[0].lateness_ms}
    assert records[behind].attempts[0].lateness_ms in range(98_000, 102_000)


def test_an_ordered_job_that_was_held_back_in_its_place_notes_its_waits() -> None:
    regulated = Regulated(paused=True)
    regulated.create(1, ordering_key="a")
    regulated.run(200)
    (parked,) = regulated.clockwork.executions.all()
    assert parked.waits.held == Held("pause", parked.due_at)
    regulated.set_client()
    regulated.run(100)
    (done,) = regulated.clockwork.executions.all()
    assert (done.state, done.waits.held) == (State.SUCCEEDED, None)
    assert waits_of(done) == {"pause": done.attempts[0].lateness_ms}
    assert done.attempts[0].lateness_ms in range(195_000, 260_000)


def test_ordered_jobs_under_a_rate_limit_tell_their_slots_from_their_order() -> None:
    regulated = Regulated(max_rate_per_second=0.1)
    regulated.create(1, ordering_key="a")
    regulated.create(1, ordering_key="a")
    regulated.run(60)
    waits = sorted(waits_of(one).get("cap", 0) for one in regulated.clockwork.executions.all())
    assert waits[0] == 0
    assert waits[1] in range(9_000, 10_001)


def test_a_retry_has_no_lateness_and_adds_to_the_waits() -> None:
    regulated = Regulated(max_rate_per_second=0.1)
    regulated.accepts = False
    regulated.create(2, retry_policy=RetryPolicy(max_attempts=2, backoff="none"))
    regulated.run(60)
    for record in regulated.clockwork.executions.all():
        assert [one.lateness_ms for one in record.attempts[1:]] == [0]
        assert record.waits.waited is not None
        assert record.waits.waited.cap > record.attempts[0].lateness_ms


def test_a_job_that_is_created_late_or_redriven_is_late_from_then_on() -> None:
    regulated = Regulated()
    regulated.accepts = False
    regulated.create(1, delay_ms=None, at=regulated.start - 60_000, retry_policy=RetryPolicy(max_attempts=1))
    regulated.run(5)
    (dead,) = regulated.clockwork.executions.all()
    assert dead.attempts[0].lateness_ms == 0
    now = regulated.clockwork.clock.at + 60_000
    plan = plan_redrive(like(dead, waited=Waited(cap=7)), "p000", now)
    assert plan.release is not None
    assert plan.execution is not None
    assert plan.execution.waits.waited is None
    assert plan.release.occurrence.due_since == now


def test_what_ends_expired_tells_what_it_waited_for() -> None:
    regulated = Regulated(paused=True)
    regulated.create(1, relevancy_window_seconds=20.0)
    regulated.run(60)
    regulated.set_client()
    regulated.sweep()
    regulated.run(10)
    (ended,) = regulated.clockwork.executions.all()
    assert ended.state is State.EXPIRED
    assert ended.waits.waited is not None
    assert ended.waits.waited.pause in range(55_000, 56_000)


def test_what_ends_expired_at_once_tells_no_wait_that_was_only_to_come() -> None:
    regulated = Regulated(max_rate_per_second=0.01)
    regulated.create(2, relevancy_window_seconds=20.0)
    regulated.run(30)
    (ended,) = [one for one in regulated.clockwork.executions.all() if one.state is State.EXPIRED]
    assert ended.waits.waited is None


def test_a_release_that_waits_is_a_few_bytes_longer_and_one_that_does_not_is_as_long_as_ever() -> None:
    plain = encode_message([release()])
    waited = release(waited=Waited(permit=45_800), held=Held("permit", NOW))
    assert len(encode_message([waited])) - len(plain) <= 4 / 3 * 50 + 3
    assert decode_message(plain) == [release()]
    assert decode_message(encode_message([waited])) == [waited]
    assert b"waited" not in msgspec.msgpack.encode(release())
    assert b"held" not in msgspec.msgpack.encode(release())


def test_a_wait_counts_once_however_often_it_is_prolonged() -> None:
    one = release(run_at=NOW)
    one = one.put_off("cap", NOW - 500, NOW + 1_000)
    one = one.put_off("permit", NOW + 1_200, NOW + 3_000)
    one = one.put_off("permit", NOW + 3_000, NOW + 6_000)
    assert one.waited_by(NOW + 5_000) == Waited(cap=1_000, permit=1_800 + 2_000)
    assert one.waited_by(NOW + 9_000) == Waited(cap=1_000, permit=1_800 + 3_000)
    assert one.put_off("cap", NOW + 9_000, NOW + 8_000).waits.held is None


def test_nobody_shares_with_a_paused_client_whose_messages_are_parked_at_once() -> None:
    regulated = Regulated(paused=True)
    regulated.create(20)
    regulated.run(10)
    assert regulated.parked == 20
    company = regulated.clockwork.world.environment.company
    assert not company.has_others("another")
    assert company.crowding_with("another") == 1
