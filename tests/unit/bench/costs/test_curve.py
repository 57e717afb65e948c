"""The curve of costs: what a job costs at a rate, and the tables that tell it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from bench.billing import prices
from bench.billing.others import OTHERS
from bench.billing.usage import Usage
from bench.costs import curve, shapes
from bench.costs.curve import PARTS, ApiTime, Standing, dollars_of, gateway_of
from bench.costs.loads import RATES, SIZES, USUAL, WAYS, Way
from bench.costs.metered import NOTHING, Units, sizes_of
from bench.costs.page import page, report, usual
from bench.costs.shapes import Shape, shape_of
from bench.model.limits import AWS
from bench.model.scenarios import DEFAULT
from bench.reporting.report import PAGE, README
from bench.reporting.results import kept

SINGLE, BATCH = WAYS[0], WAYS[1]
UNITS = Units(
    create=replace(NOTHING, write_units=1, read_units=1, api_requests=1, lambda_invocations=1, log_bytes=200),
    visit=replace(NOTHING, sqs_sends=0.5),
    deliver=replace(NOTHING, write_units=2, sqs_consumed=2, lambda_invocations=1, log_bytes=300),
    api_calls=2,
    row_bytes=1_000,
    record_bytes=1_000,
)
SHAPE = Shape(
    shards=16,
    batch=1,
    visit=4,
    deliverer_gb_seconds=0.5,
    poller_gb_seconds=0.01,
    polls=0.0,
    fixed_dollars_per_hour=0.0,
)
API = ApiTime(single_ms=2.0, batch_ms=0.05)
STANDING = Standing(dollars_per_month=6.0, of_shards_per_month=1.0, shards=16, platform_lines=False)


def cost(
    way: Way = SINGLE,
    per_second: float = 1.0,
    units: Units = UNITS,
    shape: Shape = SHAPE,
    standing: Standing = STANDING,
) -> Mapping[str, float]:
    return dollars_of(way, per_second, units, shape, API, standing)


class TestParts:
    def test_units_are_priced_where_they_are_used(self) -> None:
        parts = cost()
        assert set(parts) == set(PARTS)
        assert parts["writes and reads"] == pytest.approx(3 * prices.WRITE_UNIT + prices.READ_UNIT)
        assert parts["delivery"] == pytest.approx(2 * prices.SQS_REQUEST + prices.LAMBDA_REQUEST + 0.3 * 0.5)
        assert parts["hold"] == pytest.approx(0.5 * prices.GB_SECOND * 1e6)
        assert parts["release"] == pytest.approx(0.5 * prices.SQS_REQUEST + 0.01 * prices.GB_SECOND * 1e6)

    def test_the_api_is_paid_for_its_work_at_its_part_of_a_core_and_for_its_calls(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls = replace(UNITS, api_calls=3)
        more = cost(units=calls)["request"] - cost()["request"]
        assert more == pytest.approx(AWS.write.mean / 1_000 * 0.5 * prices.GB_SECOND * 1e6)
        before = API.gb_seconds(SINGLE, 0)
        monkeypatch.setattr(curve, "MEMORY_MB", 256)
        assert API.gb_seconds(SINGLE, 0) == pytest.approx(before)  # half of the memory, and twice the time
        assert API.gb_seconds(SINGLE, 1) - before < 0.01 * 256 / 1_024

    def test_what_is_stored_is_paid_for_as_long_as_it_is_kept(self) -> None:
        months = (1 + 3 + 2 + 30 + 2) * 86_400 / (730 * 3_600)
        assert cost()["kept"] == pytest.approx(1e-6 * months * (0.25 + 0.20) * 1e6)

    def test_the_idle_month_is_shared_by_the_jobs_of_a_month(self) -> None:
        one, ten = cost(per_second=1)["standing"], cost(per_second=10)["standing"]
        assert one == pytest.approx(10 * ten)
        assert one == pytest.approx((6.0 + 3 * 0.30) / (730 * 3_600) * 1e6)

    def test_a_webhook_that_leaves_for_the_internet_is_paid_by_its_bytes(self) -> None:
        assert cost(units=replace(UNITS, sent_bytes=2_000))["egress"] == pytest.approx(2_000e-9 * 0.09 * 1e6)

    def test_a_function_url_saves_the_gateway_and_its_log(self) -> None:
        assert gateway_of(UNITS) == pytest.approx(1.00 + 0.11, abs=0.02)
        assert gateway_of(UNITS) < cost()["request"]

    def test_more_shards_and_provisioned_pollers_stand_there_for_every_hour(self) -> None:
        larger = replace(SHAPE, shards=32, fixed_dollars_per_hour=0.1)
        more = cost(shape=larger)["standing"] - cost()["standing"]
        assert more == pytest.approx((1.0 + 0.1 * 730) / (730 * 3_600) * 1e6)

    def test_lines_of_lambda_itself_are_paid_for_where_they_are_written(self) -> None:
        chatty = replace(STANDING, platform_lines=True)
        more = sum(cost(standing=chatty).values()) - sum(cost().values())
        assert more == pytest.approx(2 * 350e-9 * 0.50 * 1e6)

    @pytest.mark.parametrize("station", ["create", "visit", "deliver"])
    @pytest.mark.parametrize("unit", [name for name in vars(NOTHING) if name not in {"held_batches", "api_requests"}])
    def test_no_unit_of_any_station_is_free(self, station: str, unit: str) -> None:
        used: Usage = getattr(UNITS, station)
        changed: dict[str, Any] = {station: replace(used, **{unit: getattr(used, unit) + 1})}
        more = replace(UNITS, **changed)
        assert sum(cost(units=more).values()) > sum(cost().values())


class TestShapes:
    def test_a_smaller_deliverer_is_held_for_less_money(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = shape_of(SINGLE, "1")
        monkeypatch.setattr(shapes, "deployment_for", lambda _: replace(DEFAULT, deliverer_gb=DEFAULT.deliverer_gb / 2))
        assert shape_of(SINGLE, "1").deliverer_gb_seconds < 0.6 * before.deliverer_gb_seconds

    def test_messages_that_come_closer_to_their_instant_are_held_for_less_money(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = shape_of(SINGLE, "1")
        monkeypatch.setattr("bench.model.deliveries.delay_seconds", lambda run_at, now: -(-(run_at - now) // 1_000))
        assert shape_of(SINGLE, "1").deliverer_gb_seconds < 0.4 * before.deliverer_gb_seconds

    def test_batches_fill_with_the_rate(self) -> None:
        few, many = shape_of(SINGLE, "0.1"), shape_of(SINGLE, "100")
        assert few.batch < 1.1 < 3 < many.batch <= 10
        assert few.deliverer_gb_seconds > 2 * many.deliverer_gb_seconds
        assert shape_of(BATCH, "1").batch > 9

    def test_batches_have_the_mean_that_was_asked_for(self) -> None:
        for mean in (1.0, 1.03, 2.14, 5.71, 10.0):
            sizes = list(islice(sizes_of(mean), 200))
            assert sum(sizes) / 200 == pytest.approx(mean, abs=0.01)
            assert min(sizes) >= 1
            assert max(sizes) <= mean + 1


class TestResult:
    """The result that was kept, and the documentation."""

    RESULT = kept("curve")

    def test_every_way_has_a_price_at_every_rate_and_size(self) -> None:
        for size in SIZES:
            assert {path: set(rates) for path, rates in self.RESULT["bySize"][str(size)].items()} == {
                way.name: set(RATES) for way in WAYS
            }

    def test_a_price_is_the_sum_of_its_parts(self) -> None:
        for path, by_rate in self.RESULT["parts"].items():
            for rate, parts in by_rate.items():
                assert set(parts) == set(PARTS)
                assert sum(parts.values()) == pytest.approx(self.RESULT["bySize"]["200"][path][rate], abs=0.01)

    def test_records_and_size_cost_and_batches_save(self) -> None:
        small, large = (self.RESULT["bySize"][str(size)] for size in SIZES)
        for rate in RATES:
            assert small["none_single"][rate] < small["full_single"][rate] < large["full_single"][rate]
            assert small["full_batch"][rate] < small["full_single"][rate]

    def test_the_page_tells_this_result_and_no_other(self) -> None:
        told = PAGE.read_text(encoding="utf-8").partition("<!-- begin:curve -->")[2].partition("<!-- end:curve -->")[0]
        assert told.strip() == page(self.RESULT)

    def test_the_prices_of_single_recorded_jobs_are_within_their_bounds(self) -> None:
        single = self.RESULT["bySize"]["200"]["full_single"]
        assert all(single[rate] <= most for rate, most in (("1", 8.2), ("10", 6.3), ("100", 4.8)))
        by_url = self.RESULT["functionUrl"]["full_single"]
        assert all(single[rate] - usd == pytest.approx(1.1, abs=0.05) for rate, usd in by_url.items())

    def test_a_month_under_load_stands_for_four_dollars_at_the_most(self) -> None:
        month = self.RESULT["parts"]["full_single"]["1"]["standing"] * 730 * 3_600 / 1e6
        assert month <= 4.00

    def test_the_readme_has_six_rows_of_it(self) -> None:
        assert len(USUAL) == 6
        assert usual(self.RESULT) in README.read_text(encoding="utf-8")

    def test_what_is_printed_is_what_is_told(self) -> None:
        told = report(self.RESULT)
        assert told["curve"]["full_single"]["1"] == self.RESULT["bySize"]["200"]["full_single"]["1"]
        assert told["curveBeyondIdle"]["none_batch"]["0.1"] < told["curve"]["none_batch"]["0.1"] < 100
        assert set(told["others"]) == {other.name for other in OTHERS}
