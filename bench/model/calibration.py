"""Calibrates the model: with the local stack's constants it must predict what was measured on the local stack.

`bench.lateness` measures twice. One half of its figures are the constants of the prediction, in place of those of
`EMULATOR`, and the other half judges the prediction. A slower machine therefore makes no error, and a wrong model makes
one. For each error there is a bound, and every constant is tried at twice its value and at a third of it. Unless each
of these breaks a bound, too, the calibration is worth nothing, and fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bench.arrivals.lateness_jobs import BEYOND, LATE, ON_TIME_MS, STEADY, Load
from bench.model.buckets import Ramp
from bench.model.chances import Latency
from bench.model.limits import EMULATOR, Limits
from bench.model.rows import row_kind
from bench.model.run import Stack
from bench.model.world import Deployment
from clockwork.settings import Settings

#: The most by which a prediction may be off, as a share of the measured value. `p50`, `p99` and `onTime` belong to a
#: steady load. `onTime` is the difference of two shares of jobs: nine in ten wait for nothing and the others for a
#: core. A p90 would be one or the other by chance. `lateCreates` is the median of jobs that are due at their create,
#: so without a hold. `herd` is the larger error of the median and the p90 of more batches than the event source takes
#: at once. `calls` is the largest error of single calls, of the way from a queue to a Lambda, and of the CPU of a
#: claim and of a release.
BOUNDS = {"p50": 0.3, "onTime": 0.1, "p99": 1.0, "lateCreates": 0.3, "herd": 0.5, "calls": 0.5}
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
    "time between the starts of a batch: measured once, and small beside the rest",
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
#: The constants that `bench.lateness` measures by themselves, in both halves.
_CALLS = ("write", "query", "send", "target", "server_ms", "record_ms_per_job", "poller_ms_per_job")
_LEAST_QUEUE_MS = 1.0
_SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


@dataclass(frozen=True)
class Measured:
    """Lateness by part and percentile, and the times of single calls by constant, all in ms.

    `fit_ms`: the constants from the other half, and `lateCreates`, the median lateness of its late creates.
    """

    late_ms: Mapping[str, Mapping[str, float]]
    calls_ms: Mapping[str, float]
    load: Load
    fit_ms: Mapping[str, float]


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


def calibrate(measured: Measured) -> Calibration:
    """Fit, predict and compare; then do so with each constant wrong."""
    limits = fitted(measured)
    judged, errors = judge(measured, limits)

    def noticed(name: str) -> bool:
        for factor in FACTORS:
            wrong = scaled(limits, name, factor)
            if not broken(errors_of(predict(measured.load, wrong), wrong, judged)) - broken(errors):
                return False
        return True

    return Calibration(errors, {name: noticed(name) for name in MEASURED})


def judge(measured: Measured, limits: Limits) -> tuple[Measured, dict[str, float]]:
    """The measurements, with the way from a queue to a Lambda among the calls; and the errors of the prediction."""
    predicted = predict(measured.load, limits)
    # The model's time for the rest of a late create is no time between queue and Lambda.
    queue_ms = measured.late_ms[LATE]["p50"] - _rest_ms(predicted, limits)
    judged = replace(measured, calls_ms={**measured.calls_ms, "queue_to_lambda": max(_LEAST_QUEUE_MS, queue_ms)})
    return judged, errors_of(predicted, limits, judged)


def fitted(measured: Measured) -> Limits:
    """The local stack's limits with the constants of the fit; tails keep their distance to the median."""
    fit = measured.fit_ms
    limits = replace(EMULATOR, first_start_ms=fit["first_start_ms"], next_start_ms=fit["next_start_ms"])
    for name in _CALLS:
        limits = replace(limits, **{name: _with_median(getattr(limits, name), fit[name])})
    queue_ms = fit["lateCreates"] - _rest_ms(predict(measured.load, limits), limits)
    queue = _with_median(limits.queue_to_lambda, max(_LEAST_QUEUE_MS, queue_ms))
    return replace(limits, queue_to_lambda=queue)


def _with_median(value: Any, ms: float) -> Any:
    return Latency(ms, ms + value.p99 - value.p50) if isinstance(value, Latency) else ms


def _rest_ms(predicted: Mapping[str, Mapping[str, float]], limits: Limits) -> float:
    """The median time of a late create without the way from its queue to a Lambda."""
    return predicted[LATE]["p50"] - limits.queue_to_lambda.p50


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
    stacks[LATE] = late = _stack(limits)
    late.creates.start(1_000 / load.late_step_ms, load.late * load.late_step_ms // 1_000, 0, 1, 1, BEGINS_AT)
    predicted = {}
    for part, stack in stacks.items():
        lateness = stack.run(BEGINS_AT + (load.seconds + 60) * 1_000).lateness
        predicted[part] = {name: lateness.percentile(share) for name, share in _SHARES.items()}
        predicted[part]["onTime"] = lateness.share_within(ON_TIME_MS)
    return predicted


def errors_of(predicted: Mapping[str, Mapping[str, float]], limits: Limits, measured: Measured) -> dict[str, float]:
    """The errors by the names of BOUNDS."""

    def error(part: str, name: str) -> float:
        return relative_error(predicted[part][name], measured.late_ms[part][name])

    assumed = {name: _ms(getattr(limits, name)) for name in measured.calls_ms}
    calls = [relative_error(assumed[name], ms) for name, ms in measured.calls_ms.items()]
    return {
        **{name: error(STEADY, name) for name in ("p50", "p99")},
        "onTime": abs(predicted[STEADY]["onTime"] - measured.late_ms[STEADY]["onTime"]),
        "lateCreates": error(LATE, "p50"),
        "herd": max(error(BEYOND, "p50"), error(BEYOND, "p90")),
        "calls": max(calls),
    }


def relative_error(predicted: float, measured: float) -> float:
    """The distance as a share of the measured value, which is not 0."""
    return abs(predicted - measured) / measured


def measured_from(kept: Mapping[str, Any]) -> Measured:
    """The kept result of `bench.lateness`."""
    load = Load(**{**kept["load"], "warm_up_offsets_ms": ()})
    return Measured(kept["lateMs"], kept["callsMs"], load, kept["fitMs"])


def _stack(limits: Limits) -> Stack:
    deployment = Deployment(settings=Settings.for_local(), warm_writes=EMULATOR.partition_writes, warm_environments=10)
    return Stack(deployment, limits, jittered_ticks=False)


def _ms(value: Any) -> float:
    return float(value.p50 if isinstance(value, Latency) else value)
