"""The stub's answers: a shard of the timeline with one page of due rows; stores and queues that accept every call."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator
from typing import Any

from clockwork.domain import ids, keys
from clockwork.domain.clients import Client
from clockwork.domain.jobs import Occurrence
from clockwork.domain.storage.codec import encode
from clockwork.domain.storage.rows import row_of_job
from clockwork.domain.timeline import Row
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload

NOW = 1_800_000_000_000
PARTITION = "p000"
CLIENT = "acme"
PRINCIPAL = "arn:aws:iam::111111111111:user/caller"
TARGET = HttpTarget("https://example.com/hook")
PAYLOAD_BYTES = 200
#: Rows per page: as many as a poller asks for at once.
PAGE = 500
MINUTE_MS = 60_000
_YEAR_MS = 365 * 86_400_000


def payloads(seed: int = 0) -> Iterator[Payload]:
    """Random payloads of 200 bytes, the same for the same seed."""
    rng = random.Random(seed)
    while True:
        yield Payload(b'"' + base64.b64encode(rng.randbytes(PAYLOAD_BYTES * 3 // 4))[:-2] + b'"')


def due_rows(count: int, since: int = NOW, seed: int = 0) -> list[Row]:
    """Rows of one job each, due within the minute from `since` (ms) on, in key order."""
    rng = random.Random(seed)
    due_ats = sorted(since + rng.randrange(MINUTE_MS) for _ in range(count))
    return [
        row_of_job(PARTITION, ids.derive(seed, place), _occurrence(due_at, payload), due_at + 3 * 86_400_000)
        for place, (due_at, payload) in enumerate(zip(due_ats, payloads(seed), strict=False))
    ]


def answers() -> dict[str, Any]:
    """The stub's answers by operation."""
    shard = _shard()
    return {
        "BatchGetItem": {"Responses": {"shards": [shard]}, "UnprocessedKeys": {}},
        "BatchWriteItem": {"UnprocessedItems": {}},
        "GetItem clients": {"Item": _client()},
        "GetItem shards": {"Item": shard},
        "PutItem": {},
        "Scan shards": {"Items": [shard], "Count": 1, "ScannedCount": 1},
        "Query clients": {"Items": [], "Count": 0, "ScannedCount": 0},
        "Query timeline": {"Items": [_item(row) for row in due_rows(PAGE)], "Count": PAGE, "ScannedCount": PAGE},
        "UpdateItem clients": {},
        "UpdateItem shards": {"Attributes": shard},
    }


def _occurrence(due_at: int, payload: Payload) -> Occurrence:
    return Occurrence(client_id=CLIENT, due_at=due_at, created_at=NOW - 1000, target=TARGET, payload=payload)


def _item(row: Row) -> dict[str, Any]:
    """A row as DynamoDB sends it."""
    return {
        "partitionId": {"S": row.partition_id},
        "scheduleTime": {"S": row.key},
        "occurrences": {"B": base64.b64encode(row.blob).decode()},
        "expiresAt": {"N": str(row.expires_at // 1000)},
    }


def _shard() -> dict[str, Any]:
    """A shard whose lease does not end while it is polled, and whose horizon lies before all jobs that are created."""
    return {
        "partitionId": {"S": PARTITION},
        "owner": {"S": "c2hhcmQtb3duZXItMDAwMQ"},
        "epoch": {"N": "7"},
        "leaseUntil": {"N": str(NOW + _YEAR_MS)},
        "cursor": {"S": keys.edge_key(NOW - MINUTE_MS)},
        "horizon": {"S": keys.edge_key(NOW + MINUTE_MS)},
    }


def _client() -> dict[str, Any]:
    definition = base64.b64encode(encode(Client(client_id=CLIENT, principals=(PRINCIPAL,)))).decode()
    return {"clientId": {"S": CLIENT}, "item": {"S": "client"}, "definition": {"B": definition}}
