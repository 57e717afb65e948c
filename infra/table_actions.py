"""The DynamoDB actions that each Lambda may call on each table.

The file needs no CDK, so that simulated runs can check every call against it.
"""

from __future__ import annotations

from collections.abc import Mapping

#: DynamoDB actions by Lambda and table.
TABLE_ACTIONS: Mapping[str, Mapping[str, str]] = {
    "api": {
        "timeline": "GetItem BatchGetItem PutItem BatchWriteItem UpdateItem Query",
        "jobs": "GetItem BatchGetItem PutItem Query",
        "executions": "GetItem BatchGetItem PutItem UpdateItem Query",
        "shards": "GetItem BatchGetItem PutItem UpdateItem Scan",
        "clients": "GetItem PutItem UpdateItem DeleteItem Query Scan",
    },
    "workers": {
        "timeline": "GetItem BatchGetItem PutItem",
        "jobs": "GetItem BatchGetItem",
        "executions": "GetItem BatchGetItem PutItem UpdateItem Query",
        "shards": "GetItem BatchGetItem PutItem UpdateItem Scan",
        "clients": "GetItem PutItem UpdateItem DeleteItem Query",
    },
    "ingester": {
        "timeline": "GetItem BatchGetItem PutItem UpdateItem",
        "jobs": "GetItem BatchGetItem PutItem",
        "executions": "GetItem BatchGetItem PutItem UpdateItem Query",
        "shards": "GetItem BatchGetItem PutItem UpdateItem Scan",
        "clients": "GetItem PutItem UpdateItem",
    },
    "ticker": {
        "shards": "GetItem BatchGetItem PutItem UpdateItem Scan",
    },
    "poller": {
        "timeline": "GetItem BatchGetItem PutItem BatchWriteItem Query",
        "jobs": "GetItem BatchGetItem",
        "executions": "PutItem Query",
        "shards": "GetItem PutItem UpdateItem",
        "clients": "GetItem",
    },
    "deliverer": {
        "timeline": "GetItem PutItem",
        "jobs": "GetItem BatchGetItem",
        "executions": "GetItem BatchGetItem PutItem UpdateItem Query",
        "shards": "GetItem PutItem UpdateItem",
        "clients": "GetItem PutItem UpdateItem DeleteItem Query",
    },
    "sweeper": {
        "timeline": "GetItem BatchGetItem PutItem BatchWriteItem UpdateItem Query",
        "jobs": "GetItem BatchGetItem PutItem Query Scan",
        "executions": "GetItem BatchGetItem PutItem UpdateItem Query",
        "shards": "GetItem BatchGetItem PutItem UpdateItem Scan",
        "clients": "GetItem PutItem UpdateItem DeleteItem Query",
    },
}
