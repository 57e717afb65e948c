"""Hand the metered units of jobs to the console, which shows the price of a run: `metered.json` beside its pages.

    python -m bench.billing.handed

The units are those of docs/performance.md, where `bench.units --docs` writes them. A test holds both together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from bench.billing.prices import ON_DEMAND
from bench.billing.unit_tables import HEADS
from infra import ROOT

#: The paths that a page of the console may be about, and two whose difference is the price of being delivered alone.
PATHS = ("named_oneshot", "recurring_fire", "overlap_skip", "pool_full", "none_single", "none_spread")
FILE = ROOT / "sdk/python/clockwork_client/console/metered.json"


def handed() -> Mapping[str, Mapping[str, float]]:
    """The units of each path by the table of the documentation, and the prices of units."""
    text = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    prices = ON_DEMAND.per_million()
    found: dict[str, Mapping[str, float]] = {"prices": {unit: round(prices[unit], 3) for unit in HEADS}}
    for path in PATHS:
        (row,) = re.findall(rf"^\| `{path}` \|((?: [0-9.]+ \|){{{len(HEADS)}}})", text, re.MULTILINE)
        found[path] = dict(zip(HEADS, map(float, row.rstrip("|").split("|")), strict=True))
    return found


def written() -> str:
    """The text of the file."""
    return json.dumps(handed(), indent=1) + "\n"


def main() -> None:
    """Write the file."""
    FILE.write_text(written(), encoding="utf-8")


if __name__ == "__main__":
    main()
