"""Takes what `make smoke` has measured in an account, in place of what the model assumes.

The newest file of an account in docs/measured counts, with each figure that it has. Files of another stage measured a
machine and no AWS, and count for nothing here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.model.chances import Latency, Spread
from bench.model.limits import AWS, BATCH, SOURCES, Limits
from infra import ROOT
from infra.memory import DELIVERER_MEMORY_MB

FOLDER = ROOT / "docs/measured"
#: The stage of a smoke that ran in an account.
ACCOUNT = "account"
#: How the source of a constant begins that comes from such a file.
MEASURED = "measured in an account"


@dataclass(frozen=True)
class Constants:
    """The model's constants, and by name where each comes from."""

    limits: Limits
    sources: Mapping[str, str]


def constants(folder: Path = FOLDER) -> Constants:
    """The constants with what was measured last in an account; without such a file all are as in `AWS`.

    Raises ValueError if a file of the folder is none of a smoke.
    """
    found = {path: _read(path) for path in folder.glob("*.json")}
    runs = sorted((run["at"], path) for path, run in found.items() if run["stage"] == ACCOUNT)
    if not runs:
        return Constants(AWS, SOURCES)
    at, path = runs[-1]
    run = found[path]
    told = f"{MEASURED} at {at} in {run['region']} (docs/measured/{path.name})"
    try:
        values = {name: value for name, take in _TAKEN.items() if (value := take(run["figures"])) is not None}
    except (KeyError, TypeError, ValueError) as fault:
        raise ValueError(f"{path}: its figures are not those of a smoke: {fault!r}") from fault
    return Constants(replace(AWS, **values), {**SOURCES, **dict.fromkeys(values, told)})


def _read(path: Path) -> dict[str, Any]:
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as fault:
        raise ValueError(f"{path} is not JSON: {fault}") from fault
    if not isinstance(run, dict) or not {"at", "region", "stage", "figures"} <= run.keys():
        raise ValueError(f"{path} is not what a smoke wrote")
    return run


def _cold_start(figures: Mapping[str, Any]) -> Latency | None:
    """The Init Duration of deliverers. Lambda reports no more: that it makes the environment is not in it."""
    starts = [one for moment, one in figures["initMs"].items() if "deliverer" in moment.lower()]
    if not starts:
        return None
    most = max(starts, key=lambda one: int(one["count"]))
    if not 0 < most["p50"] <= most["p99"]:
        raise ValueError(f"initMs {most}")
    return Latency(most["p50"], most["p99"])


def _delay_error(figures: Mapping[str, Any]) -> Spread | None:
    errors = figures["sqsDelayErrorMs"]
    counts = {int(lower): int(count) for lower, count in errors["counts"].items()}
    return Spread(counts, int(errors["classMs"])) if counts else None


def _messages(figures: Mapping[str, Any]) -> int | None:
    """Messages of the invocations that carried a herd, where more messages waited than one could take."""
    counts = {int(size): int(count) for size, count in figures["messagesPerInvocationOfHerd"].items()}
    invocations = sum(counts.values())
    if not invocations:
        return None
    return min(BATCH, max(1, round(sum(size * count for size, count in counts.items()) / invocations)))


def _first_start(figures: Mapping[str, Any]) -> float | None:
    """Half of the lone jobs are later, which includes the way to the target; so much as it would be on a whole core."""
    late = figures["loneLatenessMs"]
    return max(0.0, float(late["p50"])) * AWS.cores(DELIVERER_MEMORY_MB / 1_024) if late else None


_TAKEN: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "cold_start": _cold_start,
    "delay_error": _delay_error,
    "messages_per_invocation": _messages,
    "first_start_ms": _first_start,
}
