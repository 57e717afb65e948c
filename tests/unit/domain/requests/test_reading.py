"""The pace of reads, by units that are charged once they are known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clockwork.domain.requests.reading import (
    API_ENVIRONMENTS,
    PARTITION_UNITS,
    THROTTLED_SECONDS,
    Debt,
    Kind,
    Meter,
    price_of,
    throttled,
    units_of,
    wait_seconds,
)
from tests.support.examples import NOW

SHARE = Kind.LOOK.share(API_ENVIRONMENTS)


def test_what_signed_requests_may_read_of_one_client_is_half_of_what_a_partition_grants() -> None:
    assert 2 * (Kind.LOOK.per_second + Kind.CHANGE.per_second) == PARTITION_UNITS


@pytest.mark.parametrize(("size", "units"), [(0, 1), (1, 1), (4_096, 1), (4_097, 2), (262_144, 64), (409_600, 100)])
def test_a_strong_read_costs_a_unit_for_each_4_kb_and_one_for_nothing(size: int, units: int) -> None:
    assert units_of(size) == units


def test_a_request_costs_what_it_reads_in_its_dearest_partition_or_an_eighth_of_all() -> None:
    assert price_of({("jobs", "acme"): 64, ("executions", "n1"): 30}, 0) == 64
    assert price_of({("executions", f"n{n}"): 2 for n in range(100)}, 0) == 25
    assert price_of({}, 0) == 0


def test_what_is_written_is_not_charged_as_a_read_too() -> None:
    meter = Meter()
    meter.begin()
    meter.read("jobs", "acme", 64)
    meter.wrote(5_000)
    assert meter.price == 64 - 3 * 5
    meter.wrote(200_000)
    assert meter.price == 0
    meter.begin()
    meter.read("timeline", "p001", 100)
    meter.changed("timeline", "p001")
    assert meter.price == 0


@given(st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 400)), max_size=200))
def test_whatever_is_asked_for_no_more_is_read_than_the_pace_its_debt_and_one_request(
    asked: list[tuple[int, int]],
) -> None:
    debt, now, read, largest = Debt(0.0, NOW), NOW, 0, 0
    for pause_ms, units in asked:
        now += pause_ms
        debt = debt.at_instant(now, SHARE)
        if wait_seconds(debt, Kind.LOOK, SHARE) == 0:
            debt = Debt(debt.units + units, now)
            read, largest = read + units, max(largest, units)
        assert read <= SHARE * ((now - NOW) / 1000 + Kind.LOOK.owed_seconds) + largest + 0.001


@given(st.floats(0, 10_000))
def test_the_wait_that_is_told_is_whole_seconds_that_are_enough_and_no_second_more(units: float) -> None:
    debt = Debt(units, NOW)
    wait = wait_seconds(debt, Kind.LOOK, SHARE)
    assert wait_seconds(debt.at_instant(NOW + 1000 * wait, SHARE), Kind.LOOK, SHARE) == 0
    if wait:
        assert wait_seconds(debt.at_instant(NOW + 1000 * wait - 1001, SHARE), Kind.LOOK, SHARE) > 0


def test_a_clock_that_goes_back_pays_nothing_and_then_as_before() -> None:
    debt = Debt(300.0, NOW).at_instant(NOW - 3_600_000, SHARE)
    assert debt.units == 300
    assert debt.at_instant(NOW - 3_600_000 + 4_000, SHARE).units == 300 - 4 * SHARE


def test_a_throttle_of_dynamodb_is_a_debt_until_it_may_be_over() -> None:
    for before in (Debt(0.0, NOW), Debt(260.0, NOW)):
        assert wait_seconds(throttled(before, Kind.LOOK, SHARE), Kind.LOOK, SHARE) == THROTTLED_SECONDS
    assert throttled(Debt(9_000.0, NOW), Kind.LOOK, SHARE).units == 9_000
