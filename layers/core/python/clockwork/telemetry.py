"""Logs and metrics as lines of JSON: one metrics line per batch, never one per job, and no payload in any.

Metrics go out in CloudWatch's embedded metric format, which needs no call and no library:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

#: The most values that one metric of a line may have, by the specification.
MOST_VALUES = 100
_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}

Value = float | Sequence[float]


class JsonLines(logging.Formatter):
    """Formats a log record as one line of JSON with its stable `action` and its other extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON; a value that JSON does not know becomes its text."""
        line = {"level": record.levelname, "logger": record.name, "message": record.getMessage()}
        line |= {name: value for name, value in vars(record).items() if name not in _PLAIN}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure_logging(level: int = logging.INFO) -> None:
    """Send all logs to standard output as lines of JSON, in place of the handlers that the Lambda runtime set up."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.getLogger("botocore").setLevel(max(level, logging.WARNING))


def chosen(metrics: Mapping[str, Value], names: Collection[str] | None) -> Mapping[str, Value]:
    """Of the metrics that an invocation has those that are written: the named ones, unless 0 or without any value.

    Without names all are.
    """
    if names is None:
        return metrics
    return {name: value for name, value in metrics.items() if name in names and value}


def metrics_line(
    namespace: str, stack: str, at: int, metrics: Mapping[str, Value], properties: Mapping[str, object]
) -> str:
    """One line of embedded metrics at the instant `at` (ms). Names ending in Ms are milliseconds, others counts.

    The only dimension is the stack, so that several of an account stay apart. Each further value of a dimension would
    be billed as a metric of its own; properties can be searched and cost nothing.
    """
    units = [{"Name": name, "Unit": "Milliseconds" if name.endswith("Ms") else "Count"} for name in metrics]
    directive = {"Namespace": namespace, "Dimensions": [["stack"]], "Metrics": units}
    values = {name: _spread(value) if isinstance(value, Sequence) else value for name, value in metrics.items()}
    line = {"_aws": {"Timestamp": at, "CloudWatchMetrics": [directive]}, "stack": stack, **properties, **values}
    return json.dumps(line, separators=(",", ":"))


def _spread(values: Sequence[float]) -> Sequence[float]:
    """At most `MOST_VALUES` of the values, evenly from the sorted ones, both ends among them."""
    if len(values) <= MOST_VALUES:
        return list(values)
    ordered = sorted(values)
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
