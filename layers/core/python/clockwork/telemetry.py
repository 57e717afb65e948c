"""Logs and metrics as lines of JSON: one metrics line per batch, never one per job, and no payload in any.

Metrics go out in CloudWatch's embedded metric format, which needs no call and no library:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

#: The most values that one metric of a line may have, by the specification.
MOST_VALUES = 100
_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}

Value = float | Sequence[float]


#: The fields of the invocation under way, in each line: an environment has one at a time.
_invocation: dict[str, object] = {}


def begin_invocation(request_id: str) -> None:
    """Let the lines from now on tell this invocation, and whether it is the first of its environment."""
    trace = os.environ.get("_X_AMZN_TRACE_ID", "").partition(";")[0].removeprefix("Root=")
    is_first = "cold_start" not in _invocation
    _invocation.update(
        cold_start=is_first, function_request_id=request_id, **({"xray_trace_id": trace} if trace else {})
    )


def level_asked(environment: Mapping[str, str]) -> int:
    """The level of `POWERTOOLS_LOG_LEVEL`, such as `DEBUG`; INFO without it, or for a name that is no level."""
    level = logging.getLevelName(environment.get("POWERTOOLS_LOG_LEVEL", "INFO").strip().upper())
    return level if isinstance(level, int) else logging.INFO


class JsonLines(logging.Formatter):
    """Formats a log record as one line of JSON with its stable `action` and its other extra fields.

    The other keys are those of Powertools for AWS Lambda, whose import costs more than a cold start may take:
    https://docs.aws.amazon.com/powertools/python/latest/core/logger/
    """

    def __init__(self, service: str) -> None:
        super().__init__()
        self._service = service

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON; a value that JSON does not know becomes its text."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, object] = {
            "level": record.levelname,
            "message": record.getMessage(),
            "timestamp": at.replace("+00:00", "Z"),
            "service": self._service,
            "logger": record.name,
            **_invocation,
        }
        line |= {name: value for name, value in vars(record).items() if name not in _PLAIN}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure_logging(service: str, level: int = logging.INFO) -> None:
    """Send all logs to standard output as lines of JSON, in place of the handlers that the Lambda runtime set up."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonLines(service))
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
