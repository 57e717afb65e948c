"""Prices: each sum of money is the units counted times the price of a unit, and nothing else."""

from __future__ import annotations

import re

import pytest

from bench.billing import handed, prices
from bench.billing.others import OTHERS
from bench.billing.paths import PATHS
from bench.billing.prices import ON_DEMAND, TARIFFS, UTILISATION, provisioned
from bench.billing.unit_tables import SHOWN, SHOWN_TARIFFS, page
from bench.billing.usage import Usage
from bench.reporting.tables import table

USAGE = Usage(
    write_units=1,
    read_units=2,
    sqs_sends=3,
    sqs_consumed=4,
    lambda_invocations=5,
    held_batches=6,
    api_requests=7,
)


def test_a_price_is_the_sum_over_what_is_billed() -> None:
    stored = prices.WRITE_UNIT + 2 * prices.READ_UNIT
    asked = 7 * prices.SQS_REQUEST + 5 * prices.LAMBDA_REQUEST + 7 * prices.HTTP_API_REQUEST
    held = 6 * 0.5 * 0.375 * prices.GB_SECOND * 1_000_000
    assert USAGE.dollars_per_million == pytest.approx(stored + asked + held)


def test_a_batch_is_held_for_half_a_second_at_the_deliverers_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ON_DEMAND.dollars_per_million({"heldBatches": 0.1}) == pytest.approx(0.250, abs=0.001)
    monkeypatch.setattr(prices, "DELIVERER_MEMORY_MB", 2_048)
    assert ON_DEMAND.dollars_per_million({"heldBatches": 0.1}) == pytest.approx(1.333, abs=0.001)


def test_provisioned_writes_cost_as_much_as_those_on_demand_where_a_little_over_a_quarter_is_used() -> None:
    assert provisioned(prices.PROVISIONED_WRITE_HOUR, 0.289) == pytest.approx(prices.WRITE_UNIT, rel=0.01)
    assert UTILISATION == 0.7
    assert provisioned(prices.PROVISIONED_WRITE_HOUR) == pytest.approx(0.258, abs=0.001)


def test_fair_queues_add_a_tenth_of_a_dollar_per_million_requests() -> None:
    plain, fair = (TARIFFS[name].dollars_per_million({"sqsRequests": 1}) for name in list(TARIFFS)[:2])
    assert fair - plain == pytest.approx(0.10)


@pytest.mark.parametrize(
    ("name", "dollars"),
    [("EventBridge Scheduler to SQS", 1.51), ("Step Functions, wait state", 50.51)],
)
def test_the_price_of_a_service_of_aws_is_the_one_that_is_known(name: str, dollars: float) -> None:
    (other,) = (one for one in OTHERS if one.name == name)
    assert other.dollars_per_million == pytest.approx(dollars, abs=0.005)


def test_the_others_are_priced_by_what_is_known_to_have_a_price_and_say_where_that_comes_from() -> None:
    for other in OTHERS:
        assert other.units.keys() <= ON_DEMAND.per_million().keys()
        assert other.source.startswith("https://")
    assert [one.name for one in OTHERS if one.units.get("writeUnits") == 3] == [
        "Airbnb's Dynein",
        "the original Clockwork",
    ]


def test_every_dollar_on_the_page_can_be_reckoned_from_the_figures_on_the_page() -> None:
    used = Usage(**{name: amount / 8 for name, amount in vars(USAGE).items()})
    text = page({"retry_full": used}, {"pause_job": used})
    rows = re.findall(r"^\| (?:`retry_full`|dollars per million) \|(.+)\|$", text, re.MULTILINE)
    per_million, used_and_paid = ([float(cell) for cell in row.split("|") if _is_number(cell)] for row in rows)
    units, dollars = used_and_paid[: len(per_million)], used_and_paid[len(per_million) :]
    assert dollars[0] == pytest.approx(sum(a * b for a, b in zip(units, per_million, strict=True)), abs=0.01)
    assert dollars == [round(TARIFFS[name].dollars_per_million(used.as_json()), 2) for name in SHOWN_TARIFFS]
    assert "`pause_job` " in text


def test_the_page_shows_paths_that_are_metered_and_those_that_the_console_is_handed() -> None:
    assert set(handed.PATHS) <= set(SHOWN) <= set(PATHS)


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"\s*[\d.]+\s*", cell) is not None


def test_columns_of_numbers_are_aligned_and_those_without_a_head_are_text() -> None:
    assert table(["path", "writes", ""], [["one", "2", "three"]]).splitlines()[1] == "| --- | ---: | --- |"
