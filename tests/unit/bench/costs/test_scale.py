"""The page about the largest loads: its tables are reckoned from the curve and the limits."""

from __future__ import annotations

from copy import deepcopy

import pytest

from bench.costs.scale import DAY_JOBS, PAGE, day_table, needs, needs_table
from bench.reporting.results import kept

RESULT = kept("curve")


def block(name: str) -> str:
    text = PAGE.read_text(encoding="utf-8")
    return text.partition(f"<!-- begin:{name} -->")[2].partition(f"<!-- end:{name} -->")[0].strip()


def test_the_page_has_the_tables_of_the_result_that_was_kept() -> None:
    assert block("needs") == needs_table(RESULT)
    assert block("day") == day_table(RESULT)


def test_what_is_used_up_first_stands_first() -> None:
    lasts = [need.default / need.per_job for need in needs(RESULT)]
    assert lasts == sorted(lasts)
    by_name = {need.name: need.default / need.per_job for need in needs(RESULT)}
    assert by_name["writes of records"] == 20_000
    assert by_name["requests, 500 jobs each"] == 5_000_000


def test_deliverers_that_are_busy_for_longer_are_used_up_sooner() -> None:
    longer = deepcopy(RESULT)
    longer["parts"]["full_batch"]["10000"]["hold"] *= 2
    before, after = ({need.name: need.per_job for need in needs(one)} for one in (RESULT, longer))
    assert after["deliverers at once"] == pytest.approx(2 * before["deliverers at once"])
    assert after["writes of records"] == before["writes of records"]


def test_a_day_is_its_millions() -> None:
    dollars = RESULT["bySize"]["200"]["none_batch"]["10000"]
    assert f"| {dollars * DAY_JOBS / 1e6:,.0f} |" in day_table(RESULT)
