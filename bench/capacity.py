"""Predicts Clockwork's lateness and costs on AWS at loads that no machine here can make: a model, not a measurement.

The model runs in virtual time. It has AWS's limits: partitions' write rates and splits, unprocessed items, the ramps of
event sources, pollers and Lambda environments, messages in flight, latencies as distributions. Clockwork's decisions
are made by its own code: keys, the draw of a shard, horizon and cursor, sizes of pages and batches, delays, pauses
between repeats, all settings.

`bench.lateness` calibrates it: with the constants of one half of that benchmark's figures the model must predict the
other half, each within a bound (`bench/model/calibration.py`). With any one constant twice as large, or a third of it,
the model must miss a bound. The command exits with 1 if it does not, or if nothing was measured yet. Figures that `make
smoke` has measured in an account (docs/measured) replace the model's assumptions about AWS.

    python -m bench.capacity [--json] [--docs] [--scenario NAME ...]

The tables go to standard error, with --docs also into docs/performance.md, beside a chart; the last line of standard
output is one JSON object. Takes some minutes. A scenario is run with full batches and with the fewest messages of an
invocation; where both differ, a cell has `full / fewest`. `throttles` counts writes, requests and invocations that AWS
refused for the moment. `dollarsPerMillion` has writes, reads, SQS and Lambda with its duration, per job delivered; it
leaves out the API's requests, storage, logs and idle pollers, all of which the curve of `bench.units` has. Beside the
scenarios, `sources` says where each constant comes from.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

from bench.lateness import RESULT
from bench.model.calibration import BOUNDS, NOT_SHOWN, Calibration, calibrate, measured_from
from bench.model.chart import Bar, chart
from bench.model.limits import ASSUMED, FEWEST, Limits
from bench.model.measured import MEASURED, constants
from bench.model.run import Outcome
from bench.model.scenarios import SCENARIOS
from bench.reporting.report import publish
from bench.reporting.results import kept
from bench.reporting.tables import paragraph, table
from infra import ROOT

CHART = ROOT / "docs/capacity.svg"
#: Scenarios that the chart has and the table has not; `--json` has all.
_CHART_ALONE = ("deliver_23k", "missed_tick", "lost_poller", "no_lookahead", "one_queue", "herd_1m_three_queues")
_BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


@dataclass(frozen=True)
class Ends:
    """The outcomes of a scenario with full batches, and with the fewest messages that an invocation may have."""

    full: Outcome
    fewest: Outcome

    def as_json(self) -> dict[str, Any]:
        """The printed object: the figures of full batches, and below `fewestMessages` the others."""
        return {**self.full.as_json(), "fewestMessages": self.fewest.as_json()}


def both_ends(name: str, limits: Limits, fewest: int) -> Ends:
    """Run a scenario with the limits' messages of an invocation, and with `fewest` of them."""
    run, deployment = _BY_NAME[name].run, _BY_NAME[name].deployment
    full = run(deployment, limits)
    if fewest == limits.messages_per_invocation:
        return Ends(full, full)
    return Ends(full, run(deployment, replace(limits, messages_per_invocation=fewest)))


def outcomes_table(outcomes: Mapping[str, Ends]) -> str:
    """The outcome of each scenario beside its deployment, as a Markdown table."""
    heads = ["scenario", "", "shards", "warmed for writes/s", "queues x pollers", "concurrency", "p50 ms", "p99 ms"]
    heads += ["max ms", "refused", "$ per million", "deliverers at once", "pollers, $/h"]
    return table(heads, [_row(*one) for one in outcomes.items()])


def _row(name: str, ends: Ends) -> list[str]:
    how, settings, full = _BY_NAME[name].deployment, _BY_NAME[name].deployment.settings, ends.full
    pollers = str(how.pollers) if how.pollers else "Lambda's own"
    queues = f"{settings.release_queues} x {pollers}"
    deployed = [f"{settings.shards:,}", f"{how.warm_writes:,}", queues, f"{how.concurrency:,}"]
    late = [_cell(f"{getattr(one, ms):,.0f}" for one in (full, ends.fewest)) for ms in ("p50_ms", "p99_ms", "max_ms")]
    dollars = _cell(f"{one.dollars_per_million:.2f}" for one in (full, ends.fewest))
    most = _cell(f"{one.environments:,}" for one in (full, ends.fewest))
    fixed = f"{full.fixed_dollars_per_hour:.2f}"
    return [f"`{name}`", _BY_NAME[name].says, *deployed, *late, f"{full.refused:,}", dollars, most, fixed]


def _cell(both: Iterable[str]) -> str:
    """Both ends, or one of them if they are the same."""
    return " / ".join(dict.fromkeys(both))


def told(calibration: Calibration | None) -> str:
    """The calibration in a few sentences."""
    if calibration is None:
        return "Not calibrated: `bench.lateness` has not run yet."
    errors = ", ".join(f"`{name}` {calibration.errors[name]:.2f} ({bound:g})" for name, bound in BOUNDS.items())
    unnoticed = [f"`{name}`" for name, noticed in calibration.sensitivity.items() if not noticed]
    says = f"these were not noticed: {', '.join(unnoticed)}" if unnoticed else "each was noticed"
    return (
        f"The calibration {'holds' if calibration.holds else 'DOES NOT HOLD'}. Errors, as a share of the measured "
        f"value (bound): {errors}. Of {len(calibration.sensitivity)} constants, tried at twice their values and at a "
        f"third, {says}."
    )


def calibrated() -> Calibration | None:
    """The calibration with what `bench.lateness` kept; None if it has kept nothing yet."""
    try:
        result = kept(RESULT)
    except FileNotFoundError:
        return None
    return calibrate(measured_from(result))


def told_of_constants(sources: Mapping[str, str]) -> str:
    """Which constants an account has measured and which are assumed, in two sentences."""
    measured = [f"`{name}`" for name, source in sources.items() if source.startswith(MEASURED)]
    assumed = [f"`{name}`" for name, source in sources.items() if source.startswith(ASSUMED)]
    where = {source for source in sources.values() if source.startswith(MEASURED)}
    said = f"{', '.join(measured)}: {where.pop()}" if measured else "Nobody has measured a constant in an account"
    return f"{said}. Assumed: {', '.join(assumed)}."


def report(outcomes: Mapping[str, Ends], calibration: Calibration | None, sources: Mapping[str, str]) -> None:
    """Write the block in the documentation and the chart. The chart has all scenarios, the table those that decide."""
    bars = [Bar(name, (one.full.p50_ms, one.full.p99_ms, one.full.max_ms)) for name, one in outcomes.items()]
    CHART.write_text(chart("Lateness by the model (logarithmic; the figure is the p99)", bars), encoding="utf-8")
    decisive = {name: one for name, one in outcomes.items() if name not in _CHART_ALONE}
    about = paragraph(f"{told(calibration)} {told_of_constants(sources)}")
    publish("capacity", f"{about}\n\n{outcomes_table(decisive)}\n\n![Lateness by scenario](capacity.svg)")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line. It exits with 1 unless the calibration holds."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.capacity", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="no tables, the JSON alone")
    parser.add_argument("--docs", action="store_true", help="write tables and chart into docs/")
    parser.add_argument("--scenario", action="append", choices=_BY_NAME, help="only this one; may be repeated")
    options = parser.parse_args(arguments)
    if options.docs and options.scenario:
        parser.error("--docs writes the table of all scenarios, so it does not go with --scenario")
    say = (lambda _: None) if options.json else sys.stderr.write
    calibration, used = calibrated(), constants()
    say(f"{told(calibration)} {told_of_constants(used.sources)}\n")
    names = list(options.scenario or _BY_NAME)
    is_measured = used.sources["messages_per_invocation"].startswith(MEASURED)
    fewest = used.limits.messages_per_invocation if is_measured else FEWEST
    with ProcessPoolExecutor(os.cpu_count()) as processes:
        outcomes = {}
        for name, ends in zip(names, processes.map(both_ends, names, repeat(used.limits), repeat(fewest)), strict=True):
            outcomes[name] = ends
            say(f"  {name}\n")
    say(outcomes_table(outcomes) + "\n")
    if options.docs:
        report(outcomes, calibration, used.sources)
    calibrating = {"assumed": list(NOT_SHOWN)} if calibration is None else calibration.as_json()
    scenarios = {name: one.as_json() for name, one in outcomes.items()}
    print(json.dumps({**scenarios, "calibration": calibrating, "sources": dict(used.sources)}))
    if calibration is None or not calibration.holds:
        sys.exit(1)


if __name__ == "__main__":
    main()
