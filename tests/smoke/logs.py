"""The output of the Lambdas: their lines of metrics, Lambda's own reports, and every refusal of access."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_INIT = re.compile(r"Init Duration: ([0-9.]+) ms")
_DURATION = re.compile(r"^REPORT .*?\tDuration: ([0-9.]+) ms")
_DENIED = re.compile(r"AccessDenied|is not authorized to perform|KMSAccessDenied")
#: Of a line that is shown.
_SHOWN = 300
#: The results of one invocation of a deliverer for its messages, by the metrics of its line.
_OF_MESSAGES = ("Delivered", "Failed", "DuplicatesAbsorbed", "Deferred", "Expired", "Parked")


@dataclass(frozen=True)
class Told:
    """The facts in the lines. `metrics` has the sum of each metric, or how often one of several values was written."""

    metrics: Mapping[str, float] = field(default_factory=dict)
    #: Instants (epoch ms) of the deliverers' invocations, and how many messages each had.
    deliveries: Sequence[tuple[int, int]] = ()
    #: Initialisations (ms) by Lambda.
    init_ms: Mapping[str, Sequence[float]] = field(default_factory=dict)
    denied: Sequence[str] = ()
    #: How long each invocation took (ms), by Lambda, as far as Lambda reports it as text.
    durations_ms: Mapping[str, Sequence[float]] = field(default_factory=dict)


def read(lines: Mapping[str, Iterable[str]]) -> Told:
    """Read the lines of each Lambda. Pure. A line that is no metrics line and no report may be anything."""
    metrics: Counter[str] = Counter()
    deliveries, denied = [], []
    init_ms: defaultdict[str, list[float]] = defaultdict(list)
    durations_ms: defaultdict[str, list[float]] = defaultdict(list)
    for moment, some in lines.items():
        for line in some:
            if _DENIED.search(line):
                denied.append(f"{moment}: {line.strip()[:_SHOWN]}")
            if (initialised := _init_of(line)) is not None:
                init_ms[moment].append(initialised)
            if took := _DURATION.search(line):
                durations_ms[moment].append(float(took[1]))
            emitted = _metrics_of(line)
            for name, value in emitted.items():
                metrics[name] += len(value) if isinstance(value, list) else value
            if emitted and "deliverer" in moment.lower():
                handled = sum(int(emitted.get(name, 0)) for name in _OF_MESSAGES)
                deliveries.append((int(json.loads(line)["_aws"]["Timestamp"]), handled))
    return Told(dict(metrics), sorted(deliveries), dict(init_ms), denied, dict(durations_ms))


def _init_of(line: str) -> float | None:
    """The initialisation that Lambda reports, as text or as JSON."""
    if found := _INIT.search(line):
        return float(found[1])
    if '"initDurationMs"' in line:
        return float(json.loads(line)["record"]["metrics"]["initDurationMs"])
    return None


def _metrics_of(line: str) -> dict[str, Any]:
    """The values of a line of embedded metrics by name; none of another line, nor of a metric without values."""
    if '"_aws"' not in line:
        return {}
    body = json.loads(line)
    names = [one["Name"] for directive in body["_aws"]["CloudWatchMetrics"] for one in directive["Metrics"]]
    return {name: body[name] for name in names if body[name] != []}


def lines_of(client: Callable[[str], Any], functions: Mapping[str, str], since: int) -> dict[str, list[str]]:
    """The lines of each of these functions since an instant (epoch ms)."""
    return {moment: list(_lines(client, function, since)) for moment, function in functions.items()}


def _lines(client: Callable[[str], Any], function: str, since: int) -> Iterator[str]:
    config = client("lambda").get_function_configuration(FunctionName=function)
    group = config["LoggingConfig"]["LogGroup"]
    pages = client("logs").get_paginator("filter_log_events").paginate(logGroupName=group, startTime=since)
    for page in pages:
        yield from (event["message"] for event in page["events"])
