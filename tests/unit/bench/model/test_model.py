"""The model behind `bench.capacity`: its limits, its clockwork and its arithmetic."""

from __future__ import annotations

import random
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from bench.arrivals.percentiles import percentile
from bench.model.buckets import Ramp, TokenBucket
from bench.model.chances import Latency
from bench.model.chart import Bar, chart, x_of
from bench.model.events import Events
from bench.model.limits import AWS
from bench.model.rows import TimelineRow, rows_of_request
from bench.model.run import Outcome
from bench.model.scenarios import DEFAULT, herd, steady
from bench.model.storage import Partitions
from bench.model.timeline import ShardModel, portion_of
from bench.model.world import Deployment
from clockwork.domain import keys
from clockwork.flows.poll.portions import OCCURRENCES_AT_ONCE, ROWS_AT_ONCE
from clockwork.settings import Settings


class TestTimeAndChance:
    def test_events_happen_in_order_and_those_of_one_instant_as_they_were_planned(self) -> None:
        events, seen = Events(), list[str]()
        events.at(5, lambda: seen.append("b"))
        events.at(5, lambda: seen.append("c"))

        def first() -> None:
            seen.append("a")
            events.after(100, lambda: seen.append("too late"))

        events.at(1, first)
        events.run(until=50)
        assert seen == ["a", "b", "c"]
        assert events.now == 5

    def test_what_is_planned_for_the_past_happens_now(self) -> None:
        events, seen = Events(), list[float]()
        events.at(10, lambda: events.at(3, lambda: seen.append(events.now)))
        events.run(until=20)
        assert seen == [10]

    def test_a_latency_has_the_percentiles_that_it_was_made_from(self) -> None:
        rng, latency = random.Random(1), Latency(16, 105)
        drawn = sorted(latency.draw(rng) for _ in range(20_000))
        assert percentile(drawn, 0.5) == pytest.approx(16, rel=0.05)
        assert percentile(drawn, 0.99) == pytest.approx(105, rel=0.1)

    def test_the_slowest_of_many_calls_is_as_slow_as_the_slowest_of_so_many_draws(self) -> None:
        rng, latency = random.Random(2), Latency(10, 40)
        drawn = sorted(max(latency.draw(rng) for _ in range(10)) for _ in range(4_000))
        at_once = sorted(latency.slowest_of(10, rng) for _ in range(4_000))
        assert percentile(at_once, 0.5) == pytest.approx(percentile(drawn, 0.5), rel=0.08)


class TestLimits:
    def test_a_bucket_grants_what_it_holds_and_fills_with_time(self) -> None:
        bucket = TokenBucket(rate=1_000, depth=1_000)
        assert [bucket.take(600, 0), bucket.take(600, 0), bucket.take(600, 100)] == [600, 400, 100]
        assert bucket.take(5_000, 60_000) == 1_000

    def test_a_write_is_granted_whole_or_not_at_all(self) -> None:
        bucket = TokenBucket(rate=10, depth=10)
        assert bucket.take_all(7, 0)
        assert not bucket.take_all(7, 0)
        assert bucket.take(10, 0) == 3

    def test_a_ramp_grows_to_its_end(self) -> None:
        ramp = Ramp(5, 5, 1_250)
        assert [ramp.after(seconds) for seconds in (-1, 0, 60, 3_600)] == [5, 5, 305, 1_250]

    def test_a_key_gets_no_more_than_a_partition_grants(self) -> None:
        partitions = Partitions(["p000"], 400_000, AWS, random.Random(0))
        granted = sum(partitions.take("p000", 1, ms) for ms in range(3_000) for _ in range(2))
        assert granted == pytest.approx(4_000, abs=5)
        assert partitions.throttles == 6_000 - granted

    def test_keys_that_share_a_partition_part_after_minutes_of_throttling_and_not_before(self) -> None:
        partitions = Partitions(["p000", "p001"], 1_000, AWS, random.Random(0))

        def press(from_second: int, to_second: int) -> None:
            for second in range(from_second, to_second):
                for key in ("p000", "p001"):
                    for _ in range(4):
                        partitions.take(key, 400, second * 1_000)

        press(0, 100)
        assert partitions.partition_of("p000") == partitions.partition_of("p001")
        press(100, 700)
        assert partitions.partition_of("p000") != partitions.partition_of("p001")

    def test_a_key_alone_is_never_split(self) -> None:
        partitions = Partitions(["p000"], 1_000, AWS, random.Random(0))
        for second in range(1_000):
            partitions.take("p000", 1_001, second * 1_000)
        assert partitions.partition_of("p000") == 0


class TestPlanning:
    def test_the_jobs_of_a_request_share_rows_as_the_product_packs_them(self) -> None:
        assert sum(row.jobs for row in rows_of_request(500)) == 500
        assert [row.jobs for row in rows_of_request(1)] == [1]
        packed = sum(row.write_units for row in rows_of_request(500)) / 500
        assert packed < 0.4 < rows_of_request(1)[0].write_units

    def test_a_page_ends_at_the_horizon_at_the_limit_and_at_a_megabyte(self) -> None:
        shard = ShardModel(0)
        (single,), packed = rows_of_request(1), rows_of_request(500)[0]
        for due_at in (3_000, 1_000, 2_000):
            shard.put(due_at, single)
        assert [row.due_at for row in shard.page(keys.edge_key(2_000), 500)] == [1_000, 2_000]
        for _ in range(600):
            shard.put(4_000, packed)
        assert len(shard.page(keys.edge_key(9_000), 20)) == 20
        assert sum(row.kind.size for row in shard.page(keys.edge_key(9_000), 500)) <= 1_048_576

    def test_a_portion_holds_as_many_rows_as_the_pollers(self) -> None:
        single, packed = rows_of_request(1)[0], rows_of_request(500)[0]
        assert portion_of([TimelineRow(0, single)] * 300) == ROWS_AT_ONCE
        assert portion_of([TimelineRow(0, packed)] * 300) * 50 == OCCURRENCES_AT_ONCE
        assert portion_of([TimelineRow(0, packed)] * 3) == 3


class TestScenarios:
    @staticmethod
    def small(deployment: Deployment, **how: bool) -> Outcome:
        return steady(deployment, 50, 60, jobs_per_request=10, **how)  # type: ignore[arg-type]

    def test_everything_that_is_accepted_is_delivered_soon_after_it_is_due(self) -> None:
        outcome = self.small(DEFAULT)
        assert outcome.delivered == outcome.jobs == 3_000
        assert outcome.p50_ms < 20
        assert outcome.throttles == outcome.refused == 0

    def test_the_same_seed_gives_the_same_figures(self) -> None:
        assert self.small(DEFAULT) == self.small(DEFAULT)

    def test_a_lost_poller_delivers_twice_and_loses_nothing(self) -> None:
        outcome = self.small(DEFAULT, lost_poller=True)
        assert outcome.delivered > outcome.jobs == 3_000
        assert outcome.p50_ms < 20

    def test_without_lookahead_jobs_wait_for_the_next_tick(self) -> None:
        blind = replace(DEFAULT, settings=Settings.for_account().with_(lookahead_seconds=0))
        assert self.small(blind).p50_ms > 10_000

    def test_what_the_account_s_api_does_not_take_is_repeated_and_comes_late_or_in_time(self) -> None:
        narrow = replace(DEFAULT, api_rate=20)
        limits = replace(AWS, api_burst=10)
        few, all_ = (steady(how, 50, 20, limits, jobs_per_request=1) for how in (narrow, DEFAULT))
        assert few.throttles > 100 > all_.throttles == 0
        assert few.delivered == all_.delivered == 1_000

    def test_quiet_shards_share_pollers_and_cost_less(self) -> None:
        apart = replace(DEFAULT, settings=DEFAULT.settings.with_(shards_together=1))
        shared, alone = (steady(how, 1, 120, jobs_per_request=1) for how in (DEFAULT, apart))
        assert shared.delivered == alone.delivered == 120
        assert shared.dollars_per_million < alone.dollars_per_million - 0.2

    def test_a_shard_that_turns_out_busy_gets_a_poller_of_its_own_and_loses_nothing(self) -> None:
        few = replace(DEFAULT, pollers=50, settings=DEFAULT.settings.with_(shards=2))
        outcome = herd(few, jobs=60_000)
        assert outcome.delivered == outcome.jobs == 60_000

    def test_a_herd_drains_faster_with_provisioned_pollers(self) -> None:
        provisioned = replace(DEFAULT, pollers=50)
        slow, fast = herd(DEFAULT, jobs=20_000), herd(provisioned, jobs=20_000)
        assert slow.delivered == fast.delivered == 20_000
        assert fast.p99_ms < slow.p99_ms / 2

    def test_invocations_beyond_the_account_s_concurrency_come_back_after_their_visibility(self) -> None:
        outcome = herd(replace(DEFAULT, pollers=50, concurrency=20), jobs=500)
        assert outcome.throttles > 0
        assert outcome.delivered == 500
        assert outcome.max_ms > Settings.for_account().visibility_seconds * 1_000 - 2_000


def test_a_chart_is_well_formed_and_logarithmic() -> None:
    picture = chart("A & B", [Bar("one <two>", (1.0, 10.0, 100_000.0))])
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert x_of(10) - x_of(1) == pytest.approx(x_of(1_000) - x_of(100), abs=0.2)
    assert x_of(0.01) == x_of(1)
