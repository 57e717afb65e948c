"""The costs that the tables leave out: sizes times prices."""

from __future__ import annotations

import pytest

from bench.besides import ELSEWHERE, RECOVERY, bill, page

ITEMS = bill({"timeline": 500.0, "executions": 1_000.0}, alarms=34)


def test_each_item_is_a_size_or_an_hour_times_its_price() -> None:
    assert ITEMS["a million: rows of 500 bytes, a month"] == pytest.approx(0.5 * 0.25)
    assert ITEMS["a million: records of 1000 bytes, 30 days"] == pytest.approx(0.25)
    assert ITEMS["a million: their point-in-time recovery, too"] == pytest.approx(0.20)
    assert ITEMS["a month: 34 alarms"] == pytest.approx(3.40)
    assert ITEMS["a month: MSK Serverless, without partitions and traffic"] == pytest.approx(547.50)
    assert ITEMS["a month: two provisioned pollers of a release queue, idle"] == pytest.approx(13.505)


def test_the_page_has_each_item_that_no_other_table_has() -> None:
    rows = [line for line in page(ITEMS).splitlines() if line.startswith("| a m")]
    elsewhere = [name for name in ITEMS if any(part in name for part in ELSEWHERE)]
    recoveries = [name for name in ITEMS if RECOVERY in name]
    assert (len(elsewhere), len(recoveries)) == (3, 2)
    assert len(rows) == len(ITEMS) - len(elsewhere) - len(recoveries)


def test_what_is_stored_is_told_with_its_recovery() -> None:
    stored = ITEMS["a million: records of 1000 bytes, 30 days"] + ITEMS["a million: their point-in-time recovery, too"]
    assert f"| a million: records of 1000 bytes, 30 days, with their recovery | {stored:.2f} |" in page(ITEMS)
