"""Percentiles that benchmarks report."""

from __future__ import annotations

import pytest

from bench.arrivals.percentiles import Histogram, percentile


def test_a_percentile_is_a_value_that_was_measured() -> None:
    assert [percentile([1, 2, 3, 4], share) for share in (0, 0.25, 0.26, 0.5, 0.99, 1)] == [1, 1, 2, 2, 4, 4]
    assert percentile([7], 0.5) == 7


def test_the_99th_percentile_of_a_hundred_leaves_one_above_it() -> None:
    assert percentile(list(range(1, 101)), 0.99) == 99


def test_a_histogram_rounds_up_to_its_class_and_keeps_the_maximum() -> None:
    histogram = Histogram(width=10)
    histogram.add_all([0, 1, 9.5, 10, 10.1])
    histogram.add(42, count=5)
    assert histogram.count == 10
    assert [histogram.percentile(share) for share in (0.1, 0.4, 0.5, 1)] == [0, 10, 20, 42]
    assert histogram.max == 42
    assert [histogram.share_within(value) for value in (0, 9, 10, 20, 50)] == [0.1, 0.1, 0.4, 0.5, 1]


def test_a_histogram_agrees_with_the_values_themselves() -> None:
    values = sorted(float(n * n % 997) for n in range(1, 500))
    histogram = Histogram(width=1)
    histogram.add_all(values)
    for share in (0.01, 0.5, 0.9, 0.99, 1):
        assert histogram.percentile(share) == pytest.approx(percentile(values, share))


def test_a_histogram_of_nothing_is_zero() -> None:
    assert Histogram().percentile(0.99) == Histogram().share_within(10) == 0
