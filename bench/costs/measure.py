"""Makes the whole curve: shapes by the model, units by the meter, and the dollars of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from typing import Any, TypeVar

from bench import idle
from bench.billing.deployed import Deployed, deployed
from bench.billing.prices import ON_DEMAND, TARIFFS
from bench.costs.curve import ApiTime, Standing, dollars_of, gateway_of
from bench.costs.egress import sent_bytes
from bench.costs.loads import RATES, SIZES, WAYS, Way
from bench.costs.metered import Paths, Units
from bench.costs.shapes import Shape, shape_of
from bench.reporting.results import kept
from bench.reporting.tables import machine
from clockwork.settings import Settings
from local.emulator import Credentials, emulator
from tests.infra.conftest import synthesize

#: The path of each way of creating and recording whose parts and tariffs are told: those of the smallest jobs.
_TOLD_SIZE = SIZES[0]
T = TypeVar("T")
#: By way, and by rate.
ByPath = Mapping[str, Mapping[str, T]]
#: Each process has an emulator of its own.
_PROCESSES = 2


def measure() -> dict[str, Any]:
    """The curve in dollars per million: by size, by way and by rate; besides its parts, tariffs and mean batches."""
    with ProcessPoolExecutor(_PROCESSES, mp_context=get_context("spawn")) as processes:
        asked = {way.name: processes.submit(shapes_of, way) for way in WAYS}
        standing = processes.submit(measure_standing)
        shapes = {name: one.result() for name, one in asked.items()}
        metered = {size: processes.submit(meter_all, size, shapes) for size in SIZES}
        units = {size: one.result() for size, one in metered.items()}
        return {**result_of(shapes, units, api_time(), standing.result()), "machine": machine()}


def result_of(
    shapes: ByPath[Shape], units: Mapping[int, ByPath[Units]], api: ApiTime, standing: Standing
) -> dict[str, Any]:
    """The result as it is kept and printed."""

    def dollars(size: int, way: Way, rate: str, tariff: str = "on demand") -> Mapping[str, float]:
        used, shape = units[size][way.name][rate], shapes[way.name][rate]
        return dollars_of(way, RATES[rate], used, shape, api, standing, TARIFFS[tariff])

    def without_gateway(way: Way, rate: str) -> float:
        used = units[_TOLD_SIZE][way.name][rate]
        return round(sum(dollars(_TOLD_SIZE, way, rate).values()) - gateway_of(used), 3)

    def each(value: Callable[[Way, str], Any]) -> dict[str, dict[str, Any]]:
        return {way.name: {rate: value(way, rate) for rate in shapes[way.name]} for way in WAYS}

    def total(size: int, way: Way, rate: str, tariff: str = "on demand") -> float:
        return round(sum(dollars(size, way, rate, tariff).values()), 3)

    return {
        "bySize": {str(size): each(partial(total, size)) for size in SIZES},
        "parts": each(lambda way, rate: {k: round(v, 3) for k, v in dollars(_TOLD_SIZE, way, rate).items()}),
        "tariffs": {
            name: each(partial(total, _TOLD_SIZE, tariff=name))
            for name, tariff in TARIFFS.items()
            if tariff != ON_DEMAND
        },
        "functionUrl": each(without_gateway),
        "batches": each(lambda way, rate: round(shapes[way.name][rate].batch, 2)),
    }


def shapes_of(way: Way) -> dict[str, Shape]:
    """The shapes of jobs that are created in one way, by rate."""
    return {rate: shape_of(way, rate) for rate in RATES}


def meter_all(size: int, shapes: ByPath[Shape]) -> ByPath[Units]:
    """The units of jobs of one size, by way and rate."""
    with emulator(secure=False) as running:
        paths, sent = Paths(running), sent_bytes(size)
        return {
            way.name: {
                rate: replace(
                    paths.units(way, size, RATES[rate], shape.visit, shape.batch, shape.shards), sent_bytes=sent
                )
                for rate, shape in shapes[way.name].items()
            }
            for way in WAYS
        }


def measure_standing() -> Standing:
    """The idle month of an account's template, metered."""
    with emulator(secure=False) as running:
        minute = idle.measure(running, Credentials.root(), minutes=10)
    stack = deployed(synthesize(), Settings.for_account().metrics_namespace)
    return standing_of(minute, stack)


def standing_of(minute: idle.Minute, stack: Deployed) -> Standing:
    """An idle month, and its part that grows with the shards: the units of visits."""
    visits = (minute.usage.write_units * ON_DEMAND.write_unit + minute.usage.read_units * ON_DEMAND.read_unit) / 1e6
    return Standing(
        dollars_per_month=sum(idle.bill(minute, stack).values()),
        of_shards_per_month=visits * idle.MONTH_MINUTES,
        shards=Settings.for_account().shards,
        platform_lines=stack.platform_lines,
    )


def api_time() -> ApiTime:
    """The api's CPU as `bench.cpu` measured it last."""
    cpu = kept("cpu")
    return ApiTime(*(cpu[name]["ours"] / 1_000 for name in ("api_single_whole", "api_batch_whole")))
