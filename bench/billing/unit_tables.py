"""The results of `bench.units` as tables; the dollars in them can be reckoned from the units and prices beside them."""

from __future__ import annotations

from collections.abc import Mapping

from bench.billing.paths import PATHS
from bench.billing.prices import ON_DEMAND, TARIFFS
from bench.billing.usage import Usage
from bench.reporting.tables import paragraph, table

HEADS = {
    "writeUnits": "writes",
    "readUnits": "reads",
    "sqsRequests": "SQS",
    "lambdaInvocations": "Lambda",
    "heldBatches": "holds",
    "apiRequests": "API",
    "logKilobytes": "log KB",
}

#: The paths on the page, each of which decides something; `--json` has all.
SHOWN = (
    "none_single",
    "none_batch",
    "packed_bundled",
    "none_spread",
    "full_single",
    "full_single_soon",
    "full_batch",
    "retry_full",
    "cancel_full",
    "cancel_packed",
    "named_oneshot",
    "recurring_fire",
    "overlap_skip",
    "capped",
    "parked",
    "workflow_chain_10",
    "pool_full",
    "pool_beat_checkpointed",
)
#: Their dollars are those of the curve, which has them at each rate.
_ON_THE_CURVE = frozenset(("none_single", "none_batch", "full_single", "full_batch"))
SHOWN_TARIFFS = ("on demand", "provisioned, 70% used")


def page(usages: Mapping[str, Usage], controls: Mapping[str, Usage]) -> str:
    """The block in the documentation. Counts are the same on every machine, so the block names none."""
    return f"{_units(usages)}\n\n{_controls(controls)}"


def _units(usages: Mapping[str, Usage]) -> str:
    names = list(next(iter(usages.values())).as_json())
    prices = ["dollars per million", *(f"{ON_DEMAND.per_million()[name]:.3f}" for name in names), "", "", ""]
    rows = [
        [
            f"`{path}`",
            *(f"{amount:.3f}" for amount in usage.as_json().values()),
            *_dollars(path, usage),
            PATHS[path].says,
        ]
        for path, usage in usages.items()
        if path in SHOWN
    ]
    heads = ["units per job", *(HEADS[name] for name in names), *(f"$, {one}" for one in SHOWN_TARIFFS), ""]
    return table(heads, [prices, *rows])


def _dollars(path: str, usage: Usage) -> list[str]:
    """The price of a million jobs by tariff, in full batches of ten."""
    if path in _ON_THE_CURVE:
        return ["above"] * len(SHOWN_TARIFFS)
    return [f"{TARIFFS[name].dollars_per_million(usage.as_json()):.2f}" for name in SHOWN_TARIFFS]


def _controls(controls: Mapping[str, Usage]) -> str:
    told = ", ".join(f"`{name}` {usage.dollars_per_million:.2f}" for name, usage in controls.items())
    return paragraph(f"Dollars per million calls: {told}.")
