"""An operation changes all that it means, at its rate, and its record says how far it is."""

from __future__ import annotations

import pytest

from clockwork.domain.errors import KeyReused, OperationNotFound, TooManyOpen, Undecodable
from clockwork.domain.named_jobs import JobState
from clockwork.domain.requests.operations import MOST_OPEN, MOST_PASSED, Kind, Meant, Passed, Stage
from clockwork.flows.named import write
from clockwork.flows.operations.begin import find
from tests.support.examples import NOW
from tests.support.named import Named, jobs_of
from tests.support.operating import BOB, Operating


def test_a_redrive_of_many_goes_on_from_call_to_call_until_all_are_delivered() -> None:
    operating = Operating(acme=250)
    operation_id = operating.begin()
    assert operating.record(operation_id).stage is Stage.RUNNING
    operating.mended = True
    report = operating.sweep()
    record = operating.record(operation_id)
    assert (record.stage, record.matched, record.changed, record.calls) == (Stage.DONE, 250, 250, 3)
    assert (record.uncertain, record.passed_count, record.lease, record.made_by) == (0, 0, "", BOB)
    assert record.ended_at == operating.clockwork.clock.at
    assert (report.turns, report.left, list(operating.world.operations.open())) == (3, 0, [])
    operating.run(120)
    assert operating.dead() == operating.redriven() == 0


def test_a_discard_leaves_no_dead_execution_in_the_list() -> None:
    operating = Operating(acme=120)
    operation_id = operating.begin(kind=Kind.DISCARD_DEAD)
    operating.sweep()
    record = operating.record(operation_id)
    assert (record.stage, record.matched, record.changed) == (Stage.DONE, 120, 120)
    assert list(operating.listed()) == []


def test_only_what_was_due_by_the_request_is_meant_and_only_within_the_filter() -> None:
    operating = Operating(acme=3)
    first, *_, last = sorted(one.due_at for one in operating.listed())
    within = operating.begin(kind=Kind.DISCARD_DEAD, meant=Meant(from_at=first + 1, to_at=last - 1))
    operating.sweep()
    assert (operating.record(within).changed, operating.dead()) == (1, 2)
    whole = operating.begin()
    operating.kill("acme", 2)
    operating.sweep()
    assert (operating.record(whole).changed, operating.dead()) == (2, 2)
    other = operating.begin(meant=Meant(prefix="other"))
    operating.sweep()
    assert (operating.record(other).matched, operating.dead()) == (0, 2)


def test_the_rate_holds_and_a_slow_operation_goes_on_in_the_next_sweeps() -> None:
    operating = Operating(acme=60)
    operation_id = operating.begin(max_per_second=1.0)
    operating.sweep(share_ms=20_000)
    assert 10 <= operating.record(operation_id).changed <= 20
    assert operating.clockwork.clock.at - operating.record(operation_id).made_at <= 20_000
    while not operating.record(operation_id).is_over:
        operating.run(1)
        operating.sweep(share_ms=20_000)
    record = operating.record(operation_id)
    assert (record.changed, record.stage) == (60, Stage.DONE)
    assert record.ended_at is not None
    assert record.ended_at - record.made_at >= 50_000


def test_a_redrive_is_no_faster_than_its_client_may_create() -> None:
    operating = Operating(acme=40)
    operating.put("acme", creates_per_second=1.0)
    operation_id = operating.begin()
    operating.sweep(share_ms=20_000)
    assert operating.record(operation_id).changed <= 20


def test_the_jobs_of_a_day_hold_a_redrive_back_until_the_next_day_and_are_no_failure() -> None:
    operating = Operating(acme=5)
    operating.put("acme", jobs_per_day=3)
    operation_id = operating.begin()
    operating.sweep()
    record = operating.record(operation_id)
    assert (record.stage, record.changed, record.uncertain, record.failures) == (Stage.RUNNING, 0, 0, 0)
    assert "jobsPerDay" in str(record.fault)
    assert record.next_at % 86_400_000 < 1_000
    operating.put("acme", jobs_per_day=5)
    operating.clockwork.clock.at = record.next_at
    operating.sweep()
    assert operating.record(operation_id).changed == 5


@pytest.mark.parametrize(
    ("kind", "state"), [(Kind.PAUSE_JOBS, JobState.PAUSED), (Kind.CANCEL_JOBS, JobState.CANCELLED)]
)
def test_named_jobs_are_changed_by_prefix_if_they_were_there(kind: Kind, state: JobState) -> None:
    named = Named()
    operating = _over(named)
    for number in range(150):
        named.create(f"a{number:03d}")
    operation_id = operating.begin(kind=kind, meant=Meant(prefix="a"), reason="said so")
    named.clockwork.clock.advance(1)
    named.create("a999")
    operating.sweep()
    record = operating.record(operation_id)
    assert (record.stage, record.matched, record.changed) == (Stage.DONE, 150, 150)
    found = {job.job_key: (job.state, job.reason) for job in jobs_of(named.clockwork, "acme")}
    assert {one for key, one in found.items() if key[0] == "a" and key != "a999"} == {(state, "said so")}
    assert found["a999"][0] is found["tick"][0] is JobState.ACTIVE


def test_a_resume_leaves_alone_what_was_paused_for_another_reason() -> None:
    named = Named()
    operating = _over(named)
    named.create("a")
    named.create("b")
    for key, reason in (("a", "one"), ("b", "two")):
        operating.begin(kind=Kind.PAUSE_JOBS, meant=Meant(prefix=key), reason=reason)
    operating.sweep()
    operation_id = operating.begin(kind=Kind.RESUME_JOBS, meant=Meant(prefix="", paused_reason="two"))
    operating.sweep()
    states = {job.job_key: job.state for job in jobs_of(named.clockwork, "acme")}
    assert (states["a"], states["b"]) == (JobState.PAUSED, JobState.ACTIVE)
    assert operating.record(operation_id).changed == 1


def test_what_cannot_be_changed_is_passed_and_the_first_are_kept_with_their_reasons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named = Named()
    operating = _over(named)
    for number in range(30):
        named.create(f"a{number:02d}")
    change = write.change

    def refuse(world: object, job: object, *rest: object) -> object:
        if job.job_key != "a07":  # type: ignore[attr-defined]
            raise Undecodable("nobody wrote this" + "." * 1_000)
        return change(world, job, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(write, "change", refuse)
    operation_id = operating.begin(kind=Kind.CANCEL_JOBS, meant=Meant(prefix="a"))
    operating.sweep()
    record = operating.record(operation_id)
    assert (record.stage, record.matched, record.changed, record.passed_count) == (Stage.DONE, 30, 1, 29)
    assert len(record.passed) == MOST_PASSED
    assert record.passed[0] == Passed("a00", ("nobody wrote this" + "." * 1_000)[:200])


def test_a_repeat_under_its_key_is_the_same_operation_also_once_it_is_over() -> None:
    operating = Operating(acme=1)
    first = operating.begin(key="k")
    assert operating.begin(key="k") == first
    operating.sweep()
    assert operating.begin(key="k") == first
    assert len(operating.world.operations.list("acme", 10, None)) == 1
    assert list(operating.world.operations.open()) == []
    with pytest.raises(KeyReused):
        operating.begin(key="k", reason="another")


def test_a_client_has_so_many_open_at_once_and_another_one_when_one_is_over() -> None:
    operating = Operating(acme=1)
    made = [operating.begin() for _ in range(MOST_OPEN)]
    with pytest.raises(TooManyOpen):
        operating.begin()
    operating.stop(made[0])
    operating.begin()
    operating.sweep()
    operating.begin()


def test_a_client_finds_its_own_operations_alone_and_none_of_who_had_its_id_before() -> None:
    operating = Operating(acme=1, other=0)
    operation_id = operating.begin()
    with pytest.raises(OperationNotFound):
        find(operating.world, operating.client("other"), operation_id)
    operating.put("acme", since_at=NOW)
    with pytest.raises(OperationNotFound):
        find(operating.world, operating.client("acme"), operation_id)


def _over(named: Named) -> Operating:
    operating = Operating()
    operating.clockwork, operating.world = named.clockwork, named.clockwork.world
    operating.put("acme")
    return operating
