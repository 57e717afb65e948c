"""Predicts Clockwork's lateness and costs on AWS at loads that no machine here can make: a model, not a measurement.

The model runs in virtual time. It has AWS's limits: partitions' write rates and splits, unprocessed items, the ramps of
event sources, pollers and Lambda environments, messages in flight, latencies as distributions. Clockwork's decisions
are made by its own code: keys, the draw of a shard, horizon and cursor, sizes of pages and batches, delays, pauses
between repeats, all settings.

`bench.lateness` calibrates it: with the local stack's constants it must predict that benchmark's figures, each within a
bound (`bench/model/calibration.py`). With any one constant twice as large, or a third of it, it must miss a bound. The
command exits with 1 if it does not, or if nothing was measured yet. Figures that `make smoke` has measured in an
account (docs/measured) replace the model's assumptions about AWS.

    python -m bench.capacity [--json] [--docs] [--scenario NAME ...]

The tables go to standard error, with --docs also into docs/performance.md, beside a chart; the last line of standard
output is one JSON object. Takes less than a minute. `throttles` counts writes, requests and invocations that AWS
refused for the moment. `dollarsPerMillion` has writes, reads, SQS and Lambda with its duration, per job delivered; it
leaves out the API's requests, storage, logs and idle pollers, all of which the curve of `bench.units` has. Beside the
scenarios, `sources` says where each constant comes from.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from bench.arrivals.lateness_jobs import LONE
from bench.lateness import RESULT
from bench.model.calibration import BOUNDS, NOT_SHOWN, Calibration, calibrate, measured_from
from bench.model.chart import Bar, chart
from bench.model.limits import ASSUMED
from bench.model.measured import MEASURED, constants
from bench.model.run import Outcome
from bench.model.scenarios import SCENARIOS
from bench.model.starts import measure_starts
from bench.reporting.report import publish
from bench.reporting.results import kept
from bench.reporting.tables import paragraph, table
from infra import ROOT

CHART = ROOT / "docs/capacity.svg"
#: Scenarios that the chart has and the table has not; `--json` has all.
_CHART_ALONE = ("deliver_23k", "missed_tick", "lost_poller", "no_lookahead", "one_queue", "herd_1m_three_queues")
_BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


def outcomes_table(outcomes: Mapping[str, Outcome]) -> str:
    """The outcome of each scenario beside its deployment, as a Markdown table."""
    heads = ["scenario", "", "shards", "warmed for writes/s", "queues x pollers", "concurrency", "p50 ms", "p99 ms"]
    heads += ["max ms", "refused", "$ per million", "deliverers at once", "pollers, $/h"]
    return table(heads, [_row(*one) for one in outcomes.items()])


def _row(name: str, one: Outcome) -> list[str]:
    how, settings = _BY_NAME[name].deployment, _BY_NAME[name].deployment.settings
    pollers = str(how.pollers) if how.pollers else "Lambda's own"
    queues = f"{settings.release_queues} x {pollers}"
    deployed = [f"{settings.shards:,}", f"{how.warm_writes:,}", queues, f"{how.concurrency:,}"]
    late = [f"{ms:,.0f}" for ms in (one.p50_ms, one.p99_ms, one.max_ms)]
    fixed = [f"{one.dollars_per_million:.2f}", f"{one.environments:,}", f"{one.fixed_dollars_per_hour:.2f}"]
    return [f"`{name}`", _BY_NAME[name].says, *deployed, *late, f"{one.refused:,}", *fixed]


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
    starts = replace(measure_starts(), first_ms=result["lateMs"][LONE]["p25"])
    return calibrate(measured_from(result, {name: cost["ours"] for name, cost in kept("cpu").items()}), starts)


def told_of_constants(sources: Mapping[str, str]) -> str:
    """Which constants an account has measured and which are assumed, in two sentences."""
    measured = [f"`{name}`" for name, source in sources.items() if source.startswith(MEASURED)]
    assumed = [f"`{name}`" for name, source in sources.items() if source.startswith(ASSUMED)]
    where = {source for source in sources.values() if source.startswith(MEASURED)}
    said = f"{', '.join(measured)}: {where.pop()}" if measured else "Nobody has measured a constant in an account"
    return f"{said}. Assumed: {', '.join(assumed)}."


def report(outcomes: Mapping[str, Outcome], calibration: Calibration | None, sources: Mapping[str, str]) -> None:
    """Write the block in the documentation and the chart. The chart has all scenarios, the table those that decide."""
    bars = [Bar(name, (one.p50_ms, one.p99_ms, one.max_ms)) for name, one in outcomes.items()]
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
    outcomes = {}
    for name in options.scenario or _BY_NAME:
        started = time.monotonic()
        outcomes[name] = _BY_NAME[name].run(_BY_NAME[name].deployment, used.limits)
        say(f"  {name}: {time.monotonic() - started:.1f} s\n")
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
