"""Calibrates the model: with the local stack's constants it must predict what was measured on the local stack.

The predicted figures were measured apart from the constants of the prediction. The constants are those of `EMULATOR`.
For a lone job the time from a due instant to an arrival comes from `bench.lateness`. The times between the starts of a
batch come from `bench.model.starts`, and the CPU of a job from `bench.cpu`. It can fail: for each error there is a
bound, and every constant is tried at twice its value and at a third of it. Unless each of these breaks a bound, too,
the calibration is worth nothing, and fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bench.arrivals.lateness_jobs import BEYOND, STEADY, Load
from bench.model.buckets import Ramp
from bench.model.chances import Latency
from bench.model.limits import EMULATOR, Limits
from bench.model.rows import row_kind
from bench.model.run import Stack
from bench.model.starts import Starts
from bench.model.world import Deployment
from clockwork.settings import Settings

#: The most by which a prediction may be off, as a share of the measured value. `p50`, `p90` and `p99` belong to a
#: steady load. `lateCreates` is the median of jobs that are due at their create, so without a hold. `herd` is the
#: larger error of the median and the p90 of more batches than the event source takes at once. `calls` is the largest
#: error of single calls, and of the CPU of a claim and of a release.
BOUNDS = {"p50": 0.3, "p90": 0.5, "p99": 1.0, "lateCreates": 0.3, "herd": 0.5, "calls": 0.5}
FACTORS = (2.0, 1 / 3)
#: The constants that were measured, and are tried.
MEASURED = (
    "write",
    "query",
    "send",
    "target",
    "queue_to_lambda",
    "event_source",
    "server_ms",
    "first_start_ms",
    "record_ms_per_job",
    "poller_ms_per_job",
)
#: Constants that the stack cannot show. They are not calibrated: the model has AWS's own figures or assumptions.
NOT_SHOWN = (
    "time between the starts of a batch: measured anew for each calibration, and small beside the rest",
    "invoke: asynchronous invocations of pollers hide behind the lookahead",
    "tails of all latencies of AWS",
    "ramps of event sources, provisioned pollers",
    "partitions, their throttles and splits",
    "the throttle of the account's APIs",
    "new environments: cold starts, ramp, account's quota, retirement",
    "short batches of event sources",
    "TLS to targets and to AWS, the latency of targets",
    "memory's part of a core",
)
BEGINS_AT = 120_000
_SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


@dataclass(frozen=True)
class Measured:
    """Lateness by part and percentile, and the times of single calls by constant, all in ms."""

    late_ms: Mapping[str, Mapping[str, float]]
    calls_ms: Mapping[str, float]
    load: Load


@dataclass(frozen=True)
class Calibration:
    """The errors of the predictions, and for each constant whether a wrong value would have been noticed."""

    errors: Mapping[str, float]
    sensitivity: Mapping[str, bool]

    @property
    def holds(self) -> bool:
        """Whether every error is within its bound, and every constant counts."""
        return not broken(self.errors) and all(self.sensitivity.values())

    def as_json(self) -> dict[str, Any]:
        """The printed object."""
        rounded = {name: round(error, 3) for name, error in self.errors.items()}
        return {**rounded, "sensitivity": dict(self.sensitivity), "assumed": list(NOT_SHOWN)}


def calibrate(measured: Measured, starts: Starts) -> Calibration:
    """Predict and compare; then do so with each constant wrong."""
    limits = replace(EMULATOR, first_start_ms=starts.first_ms, next_start_ms=starts.next_ms)
    errors = errors_of(predict(measured.load, limits), limits, measured)

    def noticed(name: str) -> bool:
        for factor in FACTORS:
            wrong = scaled(limits, name, factor)
            if not broken(errors_of(predict(measured.load, wrong), wrong, measured)) - broken(errors):
                return False
        return True

    return Calibration(errors, {name: noticed(name) for name in MEASURED})


def broken(errors: Mapping[str, float]) -> set[str]:
    """The errors that are out of their bounds.

    An error that is always out of its bound shows nothing about a single constant.
    """
    return {name for name, bound in BOUNDS.items() if errors[name] > bound}


def scaled(limits: Limits, name: str, factor: float) -> Limits:
    """The limits with one constant at so many times its value."""
    value = getattr(limits, name)
    if isinstance(value, Latency):
        changed: Any = Latency(value.p50 * factor, value.p99 * factor)
    elif isinstance(value, Ramp):
        changed = Ramp(value.start * factor, value.per_second * factor, value.most * factor)
    else:
        changed = value * factor
    return replace(limits, **{name: changed})


def predict(load: Load, limits: Limits) -> Mapping[str, Mapping[str, float]]:
    """The percentiles of lateness, by part, that the model predicts for the local stack. Each part runs by itself."""
    offsets: dict[str, list[int]] = {STEADY: [], BEYOND: []}
    for job in load.jobs(calibrating=True):
        if job.part in offsets:
            offsets[job.part].append(job.offset_ms)
    stacks = {part: _stack(limits) for part in offsets}
    for part, stack in stacks.items():
        for offset_ms in offsets[part]:
            shard = stack.shards[stack.world.rng.randrange(len(stack.shards))]
            shard.put(BEGINS_AT + offset_ms, row_kind(1))
    stacks["late"] = late = _stack(limits)
    late.creates.start(1_000 / load.late_step_ms, load.late * load.late_step_ms // 1_000, 0, 1, 1, BEGINS_AT)
    predicted = {}
    for part, stack in stacks.items():
        lateness = stack.run(BEGINS_AT + (load.seconds + 60) * 1_000).lateness
        predicted[part] = {name: lateness.percentile(share) for name, share in _SHARES.items()}
    return predicted


def errors_of(predicted: Mapping[str, Mapping[str, float]], limits: Limits, measured: Measured) -> dict[str, float]:
    """The errors by the names of BOUNDS."""

    def error(part: str, name: str) -> float:
        return relative_error(predicted[part][name], measured.late_ms[part][name])

    assumed = {name: _ms(getattr(limits, name)) for name in measured.calls_ms}
    calls = [relative_error(assumed[name], ms) for name, ms in measured.calls_ms.items()]
    return {
        **{name: error(STEADY, name) for name in ("p50", "p90", "p99")},
        "lateCreates": error("late", "p50"),
        "herd": max(error(BEYOND, "p50"), error(BEYOND, "p90")),
        "calls": max(calls),
    }


def relative_error(predicted: float, measured: float) -> float:
    """The distance as a share of the measured value, which is not 0."""
    return abs(predicted - measured) / measured


def measured_from(kept: Mapping[str, Any], cpu_us: Mapping[str, float]) -> Measured:
    """The kept results of `bench.lateness` and `bench.cpu`."""
    calls = {
        **kept["probesMs"],
        "record_ms_per_job": cpu_us["deliver"] / 2 / 1_000,
        "poller_ms_per_job": cpu_us["poll_release"] / 1_000,
    }
    return Measured(kept["lateMs"], calls, Load(**{**kept["load"], "warm_up_offsets_ms": ()}))


def _stack(limits: Limits) -> Stack:
    deployment = Deployment(settings=Settings.for_local(), warm_writes=EMULATOR.partition_writes, warm_environments=10)
    return Stack(deployment, limits, jittered_ticks=False)


def _ms(value: Any) -> float:
    return float(value.p50 if isinstance(value, Latency) else value)
