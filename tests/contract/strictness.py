"""Strictness: refuses, in every call of a contract test, requests that AWS refuses and the stand-ins let pass."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NAME = re.compile(r"(?<![#:\w])[A-Za-z_]\w*")
_WORDS = frozenset(
    {"ADD", "AND", "BETWEEN", "DELETE", "OR", "SET"}
    | {"attribute_exists", "attribute_not_exists", "attribute_type", "if_not_exists"}
)


def enforce(events: Any) -> None:
    """Check every DynamoDB and SQS call of the clients that share these events."""
    events.register("before-parameter-build.dynamodb", _refuse_plain_names)
    events.register("before-parameter-build.dynamodb", _refuse_weak_reads)
    events.register("before-parameter-build.sqs.SendMessageBatch", _refuse_what_sqs_refuses)


def _refuse_plain_names(params: Mapping[str, Any], **_: object) -> None:
    """Refuse plain attribute names in expressions: only aliases are safe, since 573 words are reserved."""
    for parameter, expression in params.items():
        if parameter.endswith("Expression"):
            plain = set(_NAME.findall(expression)) - _WORDS
            assert not plain, f"{parameter} {expression!r} names {sorted(plain)} without #"


def _refuse_weak_reads(params: Mapping[str, Any], model: Any, **_: object) -> None:
    """Refuse eventually consistent reads: on AWS they may miss an acknowledged write; a stand-in's reads never do."""
    if model.name == "BatchGetItem":
        assert all(keys.get("ConsistentRead") for keys in params["RequestItems"].values()), "a weak BatchGetItem"
    elif model.name in ("GetItem", "Query", "Scan") and "IndexName" not in params:
        assert params.get("ConsistentRead"), f"a weak {model.name}"


def _refuse_what_sqs_refuses(params: Mapping[str, Any], **_: object) -> None:
    entries = params["Entries"]
    assert 1 <= len(entries) <= 10, f"{len(entries)} messages in a batch"
    assert sum(len(entry["MessageBody"]) for entry in entries) <= 1_048_576, "a batch above 1 MiB"
    assert all(0 <= entry.get("DelaySeconds", 0) <= 900 for entry in entries), "a delay beyond 900 s"
