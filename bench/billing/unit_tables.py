"""The results of `bench.units` as tables; the dollars in them can be reckoned from the units and prices beside them."""

from __future__ import annotations

from collections.abc import Mapping

from bench.billing.controls import CONTROLS
from bench.billing.paths import PATHS
from bench.billing.prices import ON_DEMAND, TARIFFS
from bench.billing.usage import Usage
from bench.reporting.tables import machine, table

HEADS = {
    "writeUnits": "writes",
    "readUnits": "reads",
    "sqsRequests": "SQS",
    "lambdaInvocations": "Lambda",
    "heldBatches": "holds",
    "apiRequests": "API",
    "logKilobytes": "log KB",
}


#: Their dollars are those of the curve, which has them at each rate.
_ON_THE_CURVE = frozenset(
    f"{record}_{way}" for record in ("none", "full") for way in ("single", "single_1k", "batch", "batch_1k", "packed")
)


def page(usages: Mapping[str, Usage], controls: Mapping[str, Usage]) -> str:
    """The block in the documentation."""
    return "\n\n".join([_units(usages), _dollars(usages), _controls(controls), machine()])


def _units(usages: Mapping[str, Usage]) -> str:
    names = list(next(iter(usages.values())).as_json())
    prices = ["dollars per million", *(f"{ON_DEMAND.per_million()[name]:.3f}" for name in names), ""]
    rows = [
        [f"`{path}`", *(f"{amount:.3f}" for amount in usage.as_json().values()), PATHS[path].says]
        for path, usage in usages.items()
    ]
    return table(["units per job", *(HEADS[name] for name in names), ""], [prices, *rows])


def _dollars(usages: Mapping[str, Usage]) -> str:
    rows = [
        [f"`{path}`", *(f"{tariff.dollars_per_million(usage.as_json()):.2f}" for tariff in TARIFFS.values())]
        for path, usage in usages.items()
        if path not in _ON_THE_CURVE
    ]
    return table(["dollars per million jobs, in full batches of ten", *TARIFFS], rows)


def _controls(controls: Mapping[str, Usage]) -> str:
    shown = ("writeUnits", "readUnits", "logKilobytes")
    rows = [
        [f"`{name}`", *(f"{usage.as_json()[unit]:.2f}" for unit in shown), f"{usage.dollars_per_million:.2f}", says]
        for name, usage in controls.items()
        for says in (CONTROLS[name].says,)
    ]
    return table(["units per call", *(HEADS[unit] for unit in shown), "dollars per million calls", ""], rows)
