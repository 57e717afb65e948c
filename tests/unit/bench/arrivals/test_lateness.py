"""The jobs that `bench.lateness` gives to each system, and the figures that it counts from their arrivals."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from bench.arrivals.lateness_jobs import COUNTED, HERD, LONE, STEADY, WARM_UP, Load, score
from bench.reporting.report import write_block


def test_a_load_has_its_rate_and_its_herd_on_one_millisecond() -> None:
    jobs = Load(per_second=20, seconds=30, herd=100).jobs()
    steady = [job.offset_ms for job in jobs if job.part == STEADY]
    assert len(steady) == 600
    assert {later - earlier for earlier, later in pairwise(steady)} == {50}
    herd = {job.offset_ms for job in jobs if job.part == HERD}
    assert len(herd) == 1
    assert herd.pop() > max(steady)


def test_what_is_not_counted_is_over_before_the_load_begins() -> None:
    load = Load()
    uncounted = [job for job in load.jobs() if job.part not in COUNTED]
    assert {job.part for job in uncounted} == {WARM_UP, LONE}
    assert all(job.offset_ms < 0 for job in uncounted)
    assert min(job.offset_ms for job in uncounted) == -load.begins_before_ms


def test_jobs_are_numbered_in_the_order_in_which_they_are_due() -> None:
    jobs = Load().jobs()
    assert [job.number for job in jobs] == list(range(len(jobs)))
    assert [job.offset_ms for job in jobs] == sorted(job.offset_ms for job in jobs)


def test_a_score_counts_first_arrivals_and_what_went_wrong() -> None:
    due_at = dict.fromkeys(range(5), 1_000)
    counted = score(due_at, {0: [1_004.0, 1_001.0], 1: [1_002.26], 2: [999.9], 3: [1_010.0], 9: [1.0]})
    assert (counted.jobs, counted.early, counted.duplicates, counted.lost) == (5, 1, 1, 1)
    assert (counted.p50_ms, counted.max_ms) == (1.0, 10.0)
    assert set(counted.as_json()) == {"jobs", "p50Ms", "p99Ms", "maxMs", "early", "duplicates", "lost"}


def test_a_system_that_delivered_nothing_has_no_lateness() -> None:
    with pytest.raises(ValueError, match="none of 1 jobs arrived"):
        score({0: 1_000}, {})


def test_a_block_is_replaced_where_it_stands_and_added_where_it_is_missing(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    write_block("one", "first", page)
    write_block("two", "second", page)
    write_block("one", "again", page)
    text = page.read_text()
    assert "first" not in text
    assert text.index("again") < text.index("second")
    assert text.count("<!-- begin:one -->") == text.count("<!-- end:one -->") == 1
