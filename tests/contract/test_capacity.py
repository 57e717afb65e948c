"""The meter of capacity units."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from clockwork.aws.capacity import CapacityMeter
from clockwork.aws.session import Aws
from clockwork.aws.stores.executions import AwsExecutions
from clockwork.aws.stores.timeline import AwsTimeline
from clockwork.domain import keys
from clockwork.domain.requests.reading import Meter
from tests.contract.examples import DUE, execution, row
from tests.contract.worlds import AwsWorld


@pytest.fixture
def meter() -> CapacityMeter:
    return CapacityMeter()


@pytest.fixture
def metered(aws_world: AwsWorld, meter: CapacityMeter) -> Iterator[Aws]:
    aws = aws_world.connect(meter=meter)
    yield aws
    aws.close()


def test_the_meter_adds_up_what_aws_bills(aws_world: AwsWorld, metered: Aws, meter: CapacityMeter) -> None:
    table = aws_world.table("timeline")
    timeline = AwsTimeline(metered, table)
    timeline.put([row(blob=b"x" * 2_500)])
    timeline.put([row(DUE + 1), row(DUE + 2)])
    timeline.read("p000", keys.BEGINNING, keys.edge_key(DUE + 9), 10)
    assert meter.units == {("PutItem", table): 3, ("BatchWriteItem", table): 2, ("Query", table): 1}
    assert meter.failed_conditions == 0


def test_a_read_that_finds_nothing_is_billed_too(aws_world: AwsWorld, metered: Aws, meter: CapacityMeter) -> None:
    table = aws_world.table("timeline")
    AwsTimeline(metered, table).read("p001", keys.BEGINNING, keys.edge_key(DUE + 9), 10)
    assert meter.units == {("Query", table): 1}


def test_the_meter_counts_refused_conditions_which_are_billed_but_report_nothing(
    aws_world: AwsWorld, metered: Aws, meter: CapacityMeter
) -> None:
    executions = AwsExecutions(metered, aws_world.table("executions"))
    executions.save([(None, execution())])
    executions.save([(None, execution())])
    assert meter.failed_conditions == 1
    assert sum(meter.units.values()) == 1


def test_nothing_asks_for_units_without_a_meter(aws_world: AwsWorld) -> None:
    asked: list[Mapping[str, Any]] = []
    aws_world.aws.client("dynamodb").meta.events.register(
        "provide-client-params.dynamodb", lambda params, **_: asked.append(params)
    )
    aws_world.timeline.put([row()])
    puts = [params for params in asked if "Item" in params]
    assert puts
    assert not any("ReturnConsumedCapacity" in params for params in puts)


@pytest.fixture
def requests(metered: Aws) -> Meter:
    metered.meter_of_requests.begin()
    return metered.meter_of_requests


def test_a_request_is_charged_what_aws_bills_for_its_reads(
    aws_world: AwsWorld, metered: Aws, meter: CapacityMeter, requests: Meter
) -> None:
    table = aws_world.table("timeline")
    timeline = AwsTimeline(metered, table)
    rows = [row(DUE + n, blob=b"x" * size) for n, size in enumerate((100, 5_000, 70_000, 100_000))]
    timeline.put(rows)
    calls: Sequence[Callable[[], object]] = (
        lambda: timeline.find([("p000", rows[2].key)]),
        lambda: timeline.find([("p000", one.key) for one in rows]),
        lambda: timeline.find([("p000", "1770000000000#nothing")]),
        lambda: timeline.read("p000", keys.BEGINNING, keys.END, 10),
        lambda: timeline.read("p000", keys.BEGINNING, keys.END, 2),
    )
    for call in calls:
        before = sum(meter.units.values())
        requests.begin()
        call()
        assert requests.price == sum(meter.units.values()) - before


def test_a_request_is_charged_for_what_it_does_not_find(metered: Aws, aws_world: AwsWorld, requests: Meter) -> None:
    timeline = AwsTimeline(metered, aws_world.table("timeline"))
    timeline.find([("p000", f"1770000000000#nothing{n}") for n in range(3)])
    timeline.read("p000", keys.BEGINNING, keys.END, 10)
    assert requests.price == 4


def test_a_request_that_writes_what_it_read_is_charged_nothing(
    metered: Aws, aws_world: AwsWorld, requests: Meter
) -> None:
    timeline = AwsTimeline(metered, aws_world.table("timeline"))
    large = row(DUE, blob=b"x" * 100_000)
    timeline.put([large])
    requests.begin()
    timeline.find([("p000", large.key)])
    assert requests.price == 25
    timeline.cancel("p000", large.key, 0)
    assert requests.price == 0


def test_what_nobody_pays_for_is_not_counted(metered: Aws, aws_world: AwsWorld) -> None:
    timeline = AwsTimeline(metered, aws_world.table("timeline"))
    timeline.put([row(DUE)])
    timeline.read("p000", keys.BEGINNING, keys.END, 10)
    assert metered.meter_of_requests.price == 0
