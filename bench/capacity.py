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
from bench.model.scenarios import SCENARIOS, Scenario
from bench.model.starts import measure_starts
from bench.reporting.report import publish
from bench.reporting.results import kept
from bench.reporting.tables import machine, table
from infra import ROOT

CHART = ROOT / "docs/capacity.svg"
_BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


def outcomes_table(outcomes: Mapping[str, Outcome]) -> str:
    """The outcome of each scenario, as a Markdown table."""
    heads = ["scenario", "", "p50 ms", "p99 ms", "warm p99 ms", "max ms", "throttles", "refused", "drained in s"]
    heads += ["$ per million", "deliverers at once", "pollers, $/h"]
    return table(heads, [_row(*one) for one in outcomes.items()])


def _row(name: str, one: Outcome) -> list[str]:
    late = [f"{ms:,.0f}" for ms in (one.p50_ms, one.p99_ms, one.warm_p99_ms, one.max_ms)]
    counts = [f"{one.throttles:,}", f"{one.refused:,}", f"{one.drain_seconds:g}", f"{one.dollars_per_million:.2f}"]
    fixed = [f"{one.environments:,}", f"{one.fixed_dollars_per_hour:.2f}"]
    return [f"`{name}`", _BY_NAME[name].says, *late, *counts, *fixed]


def settings_table(scenarios: Sequence[Scenario]) -> str:
    """The deployment of each scenario, as a Markdown table."""
    heads = ["deployed", "shards", "lookahead s", "timeline warmed for writes/s *", "release queues"]
    rows = []
    for one in scenarios:
        how, settings = one.deployment, one.deployment.settings
        warm = f"{how.warm_writes:,}" if how.warm_writes > 4_000 else "new table: 4,000"
        pollers = str(how.pollers) if how.pollers else "Lambda's own"
        counts = [
            settings.shards,
            settings.lookahead_seconds,
            warm,
            settings.release_queues,
            pollers,
            f"{how.concurrency:,}",
        ]
        rows.append([f"`{one.name}`", *map(str, counts)])
    return table([*heads, "pollers per queue", "account's concurrency *"], rows)


def told(calibration: Calibration | None) -> str:
    """The calibration as a table and in a few sentences."""
    if calibration is None:
        return "Not calibrated: `bench.lateness` has not run yet.\n"
    rows = [[name, f"{calibration.errors[name]:.2f}", f"{bound:g}"] for name, bound in BOUNDS.items()]
    tried = ", ".join(f"`{name}`" for name in calibration.sensitivity)
    unnoticed = [name for name, noticed in calibration.sensitivity.items() if not noticed]
    says = f"not noticed: {', '.join(unnoticed)}" if unnoticed else "each of them noticed"
    assumed = ";\n".join(f"- {one}" for one in NOT_SHOWN)
    return (
        f"The calibration {'holds' if calibration.holds else 'DOES NOT HOLD'}.\n\n"
        f"{table(['off by, as a share of what was measured', 'error', 'bound'], rows)}\n\n"
        f"Tried at twice their values and at a third, {says}: {tried}.\n\n"
        "The local stack cannot show these, so they are assumed:\n\n"
        f"{assumed}.\n"
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
    return f"{said}. Assumed: {', '.join(assumed)}.\n"


def report(outcomes: Mapping[str, Outcome], calibration: Calibration | None, sources: Mapping[str, str]) -> None:
    """Write the block in the documentation and the chart."""
    bars = [Bar(name, (one.p50_ms, one.p99_ms, one.max_ms)) for name, one in outcomes.items()]
    CHART.write_text(chart("Lateness by the model (logarithmic; the figure is the p99)", bars), encoding="utf-8")
    parts = [
        told(calibration),
        told_of_constants(sources),
        outcomes_table(outcomes) + "\n",
        "![Lateness by scenario](capacity.svg)\n",
        "Deployed as follows; what is marked with * is set at the table and the account.\n",
        settings_table([_BY_NAME[name] for name in outcomes]) + "\n",
        f"Modelled on {machine()}",
    ]
    publish("capacity", "\n".join(parts))


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
    say(told(calibration) + told_of_constants(used.sources))
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
