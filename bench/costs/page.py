"""The curve as tables, from the result that was kept: the whole of it, where it goes, and the rows that people run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.billing.others import OTHERS
from bench.costs.curve import PARTS
from bench.costs.loads import RATES, SIZES, USUAL, USUAL_HEAD, WAYS
from bench.reporting.tables import table

_SAYS = {way.name: way.says for way in WAYS}
_UNITS = {
    "writeUnits": "writes",
    "readUnits": "reads",
    "sqsRequests": "SQS",
    "lambdaInvocations": "Lambda",
    "gbSeconds": "GB-seconds",
    "schedulerInvocations": "Scheduler",
    "stateTransitions": "transitions",
    "durableOperations": "durable operations",
}
#: The tariffs on the page; `--json` has all.
_TARIFFS = ("provisioned, 70% used",)
_MONTH_MILLIONS = 730 * 3_600 / 1_000_000


def page(result: Mapping[str, Any]) -> str:
    """The block in the documentation. `result`: as `bench.costs.measure.measure` makes it."""
    return "\n\n".join([usual(result), _curve(result, SIZES[0]), _parts(result), _others()])


def report(result: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that `bench.units` prints: the curve by size, and that of the smaller size without the idle month."""
    small, large = (result["bySize"][str(size)] for size in SIZES)
    beyond = {
        path: {rate: round(usd - result["parts"][path][rate]["standing"], 3) for rate, usd in by_rate.items()}
        for path, by_rate in small.items()
    }
    others = {one.name: round(one.dollars_per_million, 3) for one in OTHERS}
    curves = {"curve": small, "curve1k": large, "curveFunctionUrl": result["functionUrl"]}
    return {**curves, "curveByTariff": result["tariffs"], "curveBeyondIdle": beyond, "others": others}


def usual(result: Mapping[str, Any]) -> str:
    """Usual loads, beside EventBridge Scheduler."""
    other = OTHERS[0]
    heads = [USUAL_HEAD, "jobs/s", "million a month", *(f"{_size(size)} each" for size in SIZES), other.name]
    rows = [
        [
            f"{says}: {_SAYS[path]}",
            _number(rate),
            f"{RATES[rate] * _MONTH_MILLIONS:,.1f}",
            *(_dollars(result["bySize"][str(size)][path][rate]) for size in SIZES),
            f"{other.dollars_per_million:.2f}",
        ]
        for path, rate, says in USUAL
    ]
    return table(heads, rows)


def _curve(result: Mapping[str, Any], size: int) -> str:
    heads = [f"dollars per million, {_size(size)} each; jobs/s:", *map(_number, RATES)]
    curve = result["bySize"][str(size)]
    rows = [[f"`{path}`: {_SAYS[path]}", *(_dollars(curve[path][rate]) for rate in RATES)] for path in curve]
    return table(heads, rows)


def _parts(result: Mapping[str, Any]) -> str:
    """The parts of the sum, the mean batch, and the sums by another tariff."""
    columns = [(path, rate) for path, rate, _ in USUAL]
    heads = ["where it goes, 200 bytes each", *(f"`{path}` {_number(rate)}/s" for path, rate in columns)]
    rows = [
        [f"{part}: {says}", *(_dollars(result["parts"][path][rate][part]) for path, rate in columns)]
        for part, says in PARTS.items()
    ]
    sums = {name: result["tariffs"][name] for name in _TARIFFS} | {"`api: functionUrl`": result["functionUrl"]}
    others = [[f"in all, {name}", *(_dollars(by[path][rate]) for path, rate in columns)] for name, by in sums.items()]
    means = ["jobs of a deliverer's batch, mean", *(f"{result['batches'][path][rate]:.1f}" for path, rate in columns)]
    return table(heads, [*rows, *others, means])


def _others() -> str:
    rows = [
        [f"[{one.name}]({one.source})", f"{one.dollars_per_million:.2f}", _told(one.units), one.says] for one in OTHERS
    ]
    return table(["elsewhere, at any rate", "dollars per million jobs", "units per job", ""], rows)


def _told(units: Mapping[str, float]) -> str:
    return ", ".join(f"{amount:g} {_UNITS[name]}" for name, amount in units.items())


def _size(size: int) -> str:
    return f"{size} bytes" if size < 1_000 else f"{size / 1_024:.0f} KB"


def _number(rate: str) -> str:
    return f"{RATES[rate]:,g}"


def _dollars(amount: float) -> str:
    return f"{amount:.2f}"
