"""Logs and metrics by Powertools for AWS Lambda: one metrics line per batch, never one per job, and no payload in any.

Its Logger writes the lines of all modules: https://docs.aws.amazon.com/powertools/python/latest/core/logger/
Its Metrics makes the lines of CloudWatch's embedded metric format, which needs no call:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

#: The variable that says which lines are written.
LEVEL = "POWERTOOLS_LOG_LEVEL"
#: The most values that one metric of a line may have, by the specification.
MOST_VALUES = 100

Value = float | Sequence[float]

#: ASCII alone: a lone surrogate in a text could not be written, and its line would be lost.
_to_json = partial(json.dumps, default=str, separators=(",", ":"))


def level_asked(environment: Mapping[str, str]) -> int:
    """The level of `POWERTOOLS_LOG_LEVEL`, such as `DEBUG`; INFO without it, or for a name that is no level."""
    level = logging.getLevelName(environment.get(LEVEL, "INFO").strip().upper())
    return level if isinstance(level, int) else logging.INFO


def make_logger(service: str, environment: Mapping[str, str]) -> Logger:
    """The Logger that writes the lines of all modules to standard output, in place of the handlers of Lambda's runtime.

    The level is found here: Powertools would stop at a name that is no level, and Lambda's own level would go before
    the one that is asked for. No other variable of Powertools has an effect: at a value that it cannot read, it would
    stop each Lambda. A line has no `stack_trace`, which would tell an exception once more.
    """
    root, level = logging.getLogger(), level_asked(environment)
    for name in [name for name in os.environ if name.startswith("POWERTOOLS_") and name != LEVEL]:
        del os.environ[name]
    # A stack may be called like the root logger: Powertools would take a handler that is there for its own.
    root.handlers.clear()
    logger = Logger(
        service,
        level,
        name="%(name)s",
        utc=True,
        use_rfc3339=True,
        serialize_stacktrace=False,
        json_serializer=_to_json,
    )
    # Whatever the stack is called, its name may be that of a logger which modules use.
    logging.getLogger(service).propagate = False
    root.handlers[:] = logger.handlers
    root.setLevel(level)
    logging.getLogger("botocore").setLevel(max(level, logging.WARNING))
    return logger


def chosen(metrics: Mapping[str, Value], names: Collection[str] | None) -> Mapping[str, Value]:
    """Of the metrics that an invocation has those that are written: the named ones, unless 0 or without any value.

    Without names all are.
    """
    if names is None:
        return metrics
    return {name: value for name, value in metrics.items() if name in names and value}


def metrics_line(namespace: str, stack: str, metrics: Mapping[str, Value], properties: Mapping[str, object]) -> str:
    """One line of embedded metrics of this instant. Names ending in Ms are milliseconds, others counts.

    The only dimension is the stack, so that several of an account stay apart. Each further value of a dimension would
    be billed as a metric of its own; properties can be searched and cost nothing. All is given at once: a Metrics that
    collects writes a line of its own at the hundredth value, and what it holds would outlive a failed invocation.
    """
    described = {name: {"Unit": _unit(name).value, "Value": _spread(value)} for name, value in metrics.items()}
    powertools = EphemeralMetrics(namespace=namespace)
    return _to_json(powertools.serialize_metric_set(described, {"stack": stack}, dict(properties)))


def _unit(name: str) -> MetricUnit:
    return MetricUnit.Milliseconds if name.endswith("Ms") else MetricUnit.Count


def _spread(value: Value) -> Value:
    """A value, or at most `MOST_VALUES` of several, evenly from the sorted ones, both ends among them."""
    if not isinstance(value, Sequence) or len(value) <= MOST_VALUES:
        return value
    ordered = sorted(value)
    return [ordered[index * (len(ordered) - 1) // (MOST_VALUES - 1)] for index in range(MOST_VALUES)]


def delay_errors_ms(records: Sequence[Mapping[str, Any]]) -> list[int]:
    """How much later than its delay says each message of an event of SQS was received first (ms); negative if earlier.

    Only of messages that tell their delay, and when they are received for the first time. It includes the way to the
    event source, and a backlog.
    """
    errors = []
    for record in records:
        told, facts = record.get("messageAttributes", {}).get("delay"), record["attributes"]
        if told and facts["ApproximateReceiveCount"] == "1" and "ApproximateFirstReceiveTimestamp" in facts:
            took_ms = int(facts["ApproximateFirstReceiveTimestamp"]) - int(facts["SentTimestamp"])
            errors.append(took_ms - 1_000 * int(told["stringValue"]))
    return errors
