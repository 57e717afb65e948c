"""The costs that the tables leave out: sizes times prices."""

from __future__ import annotations

import pytest

from bench.besides import bill, page

ITEMS = bill({"timeline": 500.0, "executions": 1_000.0}, alarms=34)


def test_each_item_is_a_size_or_an_hour_times_its_price() -> None:
    assert ITEMS["a million: rows of 500 bytes, a month"] == pytest.approx(0.5 * 0.25)
    assert ITEMS["a million: records of 1000 bytes, 30 days"] == pytest.approx(0.25)
    assert ITEMS["a million: their point-in-time recovery, too"] == pytest.approx(0.20)
    assert ITEMS["a month: 34 alarms"] == pytest.approx(3.40)
    assert ITEMS["a month: MSK Serverless, without partitions and traffic"] == pytest.approx(547.50)
    assert ITEMS["a month: two provisioned pollers of a release queue, idle"] == pytest.approx(13.505)


def test_the_page_has_a_row_for_each_item() -> None:
    assert sum(line.startswith("| a m") for line in page(ITEMS).splitlines()) == len(ITEMS)
