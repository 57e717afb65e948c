"""Lost, twice, early and late are seen: each is counted from what the receiver noted."""

from __future__ import annotations

from bench.rivals.judging.account import Run, missing, punctuality, survival

DUE = {1: 1_000, 2: 2_000, 3: 3_000}
KILLED_AT = 2_500.0


def run(began_at: float, took: float = 5) -> Run:
    return Run(began_at, began_at + took)


def test_lateness_is_that_of_each_jobs_first_run() -> None:
    counted = punctuality(DUE, {1: [run(1_004), run(1_900)], 2: [run(2_010)], 3: [run(3_250)]})
    assert list(counted.late_ms) == [4, 10, 250]
    assert (counted.jobs, counted.early, counted.lost, counted.duplicated) == (3, 0, 0, 1)


def test_a_job_that_did_not_come_is_lost_and_one_before_its_time_is_early() -> None:
    counted = punctuality(DUE, {1: [run(999)], 3: []})
    assert (counted.early, counted.lost, counted.duplicated) == (1, 2, 0)


def test_runs_of_other_jobs_do_not_count() -> None:
    assert punctuality(DUE, {4: [run(1_000)]}).lost == 3


def test_a_run_that_the_kill_cut_off_does_not_count_and_its_job_is_lost_unless_it_comes_again() -> None:
    cut, never_answered = Run(2_400, 2_900), Run(2_400, None)
    assert survival(DUE, {1: [cut], 2: [never_answered], 3: [run(3_000)]}, KILLED_AT).lost == 2
    again = survival(DUE, {1: [cut, run(9_000)], 2: [never_answered, run(2_600)], 3: [run(3_000)]}, KILLED_AT)
    assert (again.lost, again.duplicated) == (0, 0)
    assert again.longest_wait_seconds == 6.5


def test_a_complete_run_before_the_kill_and_one_after_it_are_two() -> None:
    counted = survival(DUE, {1: [run(1_000), run(3_100)], 2: [run(2_000)], 3: [run(3_000), run(3_001)]}, KILLED_AT)
    assert (counted.jobs, counted.lost, counted.duplicated) == (3, 0, 2)


def test_who_came_after_the_kill_waited_from_its_due_instant_or_from_the_kill_on() -> None:
    runs = {1: [run(1_000)], 2: [run(3_500)], 3: [run(3_400)]}
    assert survival(DUE, runs, KILLED_AT).longest_wait_seconds == 1.0
    assert survival(DUE, {1: [run(1_000)]}, KILLED_AT).longest_wait_seconds is None


def test_a_job_is_missing_until_it_has_a_complete_run() -> None:
    assert missing(DUE, {1: [Run(1_000, None)]}) == 2
    assert missing(DUE, {1: [Run(1_000, None)], 2: [run(2_000)], 3: [run(3_000)]}, KILLED_AT) == 1
