"""The schema of the tables that the adapters expect: keys and the two indexes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

KEYS = {
    "timeline": ("partitionId", "scheduleTime"),
    "jobs": ("clientId", "jobKey"),
    "executions": ("jobId", "executionId"),
    "shards": ("partitionId",),
    "clients": ("clientId", "item"),
}
ATTENTION = ("attentionClientId", "attentionKey")
RUNS = ("runsClientId", "runsKey")


def create_table(dynamodb: Any, kind: str, name: str) -> str:
    """Create an empty table of a kind, and wait until it takes requests; returns its name."""
    request: dict[str, Any] = {"TableName": name, "BillingMode": "PAY_PER_REQUEST", "KeySchema": _schema(KEYS[kind])}
    attributes = set(KEYS[kind])
    if kind == "executions":
        attributes |= set(ATTENTION) | set(RUNS)
        request["GlobalSecondaryIndexes"] = [
            {
                "IndexName": "attention",
                "KeySchema": _schema(ATTENTION),
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            },
            {
                "IndexName": "runs",
                "KeySchema": _schema(RUNS),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["state"]},
            },
        ]
    request["AttributeDefinitions"] = [{"AttributeName": name, "AttributeType": "S"} for name in sorted(attributes)]
    # The name is new: a table that is there is that of a first try whose answer came too late on a busy machine.
    with suppress(dynamodb.exceptions.ResourceInUseException):
        dynamodb.create_table(**request)
    # dynalite answers before the table is active, and knows no such table until then.
    dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 0.01, "MaxAttempts": 6_000})
    return name


def _schema(key: tuple[str, ...]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(key, ("HASH", "RANGE"), strict=False)]
