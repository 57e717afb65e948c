"""The demonstration's count of its results."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from local.demo.arrivals import Arrival, Arrivals
from local.demo.plan import Channel, Kind, PlannedJob
from local.demo.summary import POOL_SHOWN, CreatedJob, Followed, Lateness, follow, next_due_in_ms, rows, summarize

CREATED_AT = 1_777_975_200_000
DUE_AT = CREATED_AT + 5_000


def _job(job_id: str = "a1", kind: Kind = Kind.SOON, state: str = "RELEASED", due_at: int = DUE_AT) -> CreatedJob:
    return CreatedJob(PlannedJob(0, kind, Channel.WEBHOOK, 5_000), job_id, state, due_at, CREATED_AT)


def _arrival(late_ms: int = 4, *, accepted: bool = True, note: str = "") -> Arrival:
    return Arrival(_job().execution_id, DUE_AT + late_ms, Channel.WEBHOOK, accepted, note)


def _followed(*arrivals: Arrival, job: CreatedJob | None = None) -> Followed:
    return Followed(job or _job(), arrivals)


def test_a_job_that_arrived_once_has_no_fault_and_is_late_by_its_first_attempt() -> None:
    one = _followed(_arrival(7))
    assert (one.fault, one.lateness_ms, one.is_settled) == (None, 7, True)


def test_lateness_is_that_of_the_first_attempt_even_if_that_was_refused() -> None:
    assert _followed(_arrival(1_004), _arrival(3, accepted=False)).lateness_ms == 3


@pytest.mark.parametrize(
    ("arrivals", "fault"),
    [
        ((), "was not accepted (attempts: 0)"),
        ((_arrival(accepted=False, note="its signature is missing or wrong"),), "was not accepted (attempts: 1; its"),
        ((_arrival(), _arrival()), "was accepted 2 times"),
        ((_arrival(-1),), "arrived before it was due"),
        ((_arrival(-1, accepted=False), _arrival(1_000)), "arrived before it was due"),
    ],
)
def test_what_is_missing_doubled_or_early_is_a_fault(arrivals: Sequence[Arrival], fault: str) -> None:
    assert str(_followed(*arrivals).fault).startswith(fault)


def test_a_cancelled_job_must_not_arrive_at_all() -> None:
    cancelled = replace(_job(kind=Kind.CHANGED_MIND), cancel_result="cancelled")
    assert _followed(job=cancelled).fault is None
    assert _followed(_arrival(accepted=False), job=cancelled).fault == "arrived although it was cancelled"


def test_a_job_whose_cancel_came_too_late_must_arrive_like_any_other() -> None:
    late = replace(_job(kind=Kind.CHANGED_MIND), cancel_result="too_late")
    assert _followed(_arrival(), job=late).fault is None
    assert _followed(job=late).fault == "was not accepted (attempts: 0)"


def _all_paths() -> list[Followed]:
    return [
        _followed(_arrival(2), job=_job("released")),
        _followed(_arrival(0, accepted=False), _arrival(1_000), job=_job("retried")),
        _followed(job=replace(_job("cancelled"), cancel_result="cancelled")),
        _followed(_arrival(80_000), job=_job("ticked", state="SCHEDULED", due_at=CREATED_AT + 80_000)),
    ]


def test_the_summary_counts_jobs_by_the_way_they_took() -> None:
    summary = summarize(_all_paths())
    assert summary.ok
    assert summary.as_json() == {
        "jobs": 4,
        "delivered": 3,
        "duplicates": 0,
        "early": 0,
        "latenessMs": {"p50": 2, "p99": 5_000, "max": 5_000},
        "byPath": {"created_released": 2, "tick_released": 1, "retried": 1, "cancelled": 1},
        "pool": {},
    }


def test_what_was_to_be_shown_of_a_pool_and_was_not_seen_is_no_success() -> None:
    shown = dict.fromkeys(POOL_SHOWN, 1)
    summary = replace(summarize(_all_paths()), pool=shown)
    assert summary.ok
    assert summary.as_json()["pool"] == shown
    for name in POOL_SHOWN:
        assert not replace(summary, pool={**shown, name: 0}).ok


def test_a_path_that_no_job_took_is_no_success() -> None:
    for missing in range(len(_all_paths())):
        rest = _all_paths()
        del rest[missing]
        assert summarize(rest).ok is (missing == 0), "the retried job had been released by its create, too"


def test_due_a_moment_too_soon_for_only_a_tick_to_find_it_is_not_counted_as_found_by_a_tick() -> None:
    near = _followed(_arrival(80_000), job=_job("x", state="SCHEDULED", due_at=CREATED_AT + 79_999))
    assert summarize([near]).paths["tick_released"] == 0


def test_one_fault_is_no_success_and_is_named_with_its_job() -> None:
    lost = _followed(job=_job("lost"))
    summary = summarize([*_all_paths(), lost])
    assert not summary.ok
    assert summary.faults == ((lost.job, "was not accepted (attempts: 0)"),)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], Lateness(0, 0, 0)),
        ([9], Lateness(9, 9, 9)),
        (list(range(200, 0, -1)), Lateness(100, 198, 200)),
    ],
)
def test_percentiles_are_values_that_were_measured(values: list[int], expected: Lateness) -> None:
    assert Lateness.of(values) == expected


def test_jobs_are_joined_with_arrivals_by_their_execution() -> None:
    arrivals, job, other = Arrivals(), _job("a1"), _job("a2")
    arrivals.add(Arrival(job.execution_id, DUE_AT, Channel.WEBHOOK, accepted=True))
    assert [one.accepted for one in follow([job, other], arrivals.of)] == [1, 0]


def test_whoever_asked_hears_of_each_arrival() -> None:
    arrivals, heard = Arrivals(), list[Arrival]()
    arrivals.on_arrival = heard.append
    arrivals.add(_arrival())
    assert heard == [_arrival()]


def test_the_table_has_a_row_for_each_kind_and_one_for_all() -> None:
    shown = rows(_all_paths(), DUE_AT)
    assert [row.label for row in shown] == [*map(str, Kind), "all"]
    assert (shown[-1].created, shown[-1].due, shown[-1].delivered, shown[-1].attempts) == (4, 2, 3, 4)
    assert rows([], DUE_AT)[-1].lateness is None


def test_the_countdown_is_to_the_next_job_that_is_still_expected() -> None:
    cancelled = _followed(job=replace(_job(due_at=DUE_AT - 2_000), cancel_result="cancelled"))
    assert next_due_in_ms([_followed(), cancelled], CREATED_AT) == 5_000
    assert next_due_in_ms([_followed(_arrival())], DUE_AT + 10) is None
