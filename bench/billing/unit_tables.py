"""The results of `bench.units` as tables; the dollars in them can be reckoned from the units and prices beside them."""

from __future__ import annotations

from collections.abc import Mapping

from bench.billing.others import OTHERS
from bench.billing.paths import PATHS
from bench.billing.prices import ON_DEMAND, TARIFFS
from bench.billing.usage import Usage
from bench.reporting.tables import machine, table

_HEADS = {
    "writeUnits": "writes",
    "readUnits": "reads",
    "sqsRequests": "SQS",
    "lambdaInvocations": "Lambda",
    "heldBatches": "holds",
    "apiRequests": "API",
    "logKilobytes": "log KB",
    "gbSeconds": "GB-seconds",
    "schedulerInvocations": "Scheduler",
    "stateTransitions": "transitions",
}


def page(usages: Mapping[str, Usage]) -> str:
    """The block in the documentation."""
    return "\n\n".join([_units(usages), _dollars(usages), _others(), machine()])


def _units(usages: Mapping[str, Usage]) -> str:
    names = list(next(iter(usages.values())).as_json())
    prices = ["dollars per million", *(f"{ON_DEMAND.per_million()[name]:.3f}" for name in names), ""]
    rows = [
        [f"`{path}`", *(f"{amount:.3f}" for amount in usage.as_json().values()), PATHS[path].says]
        for path, usage in usages.items()
    ]
    return table(["units per job", *(_HEADS[name] for name in names), ""], [prices, *rows])


def _dollars(usages: Mapping[str, Usage]) -> str:
    rows = [
        [f"`{path}`", *(f"{tariff.dollars_per_million(usage.as_json()):.2f}" for tariff in TARIFFS.values())]
        for path, usage in usages.items()
    ]
    return table(["dollars per million jobs", *TARIFFS], rows)


def _others() -> str:
    rows = [
        [f"[{one.name}]({one.source})", f"{one.dollars_per_million:.2f}", _told(one.units), one.says] for one in OTHERS
    ]
    return table(["elsewhere", "dollars per million jobs, on demand", "units per job", ""], rows)


def _told(units: Mapping[str, float]) -> str:
    return ", ".join(f"{amount:g} {_HEADS[name]}" for name, amount in units.items())
