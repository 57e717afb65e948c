"""Batches of messages from Lambda's event sources, and the answers by which a source delivers failed ones again.

SQS: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
Kafka: https://docs.aws.amazon.com/lambda/latest/dg/with-msk-process.html
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from clockwork.domain.ids import derive
from clockwork.flows.requests.ingest import Message


def messages_of(event: dict[str, Any]) -> list[Message]:
    """The messages of an event in their order, each in the lane of its message group, or of its partition."""
    if "Records" in event:
        return [
            Message(one["messageId"], one["attributes"]["MessageGroupId"], one["body"].encode())
            for one in event["Records"]
        ]
    return [
        Message(_id_of(event, one), lane, base64.b64decode(one.get("value") or "")) for lane, one in _records(event)
    ]


def failures_of(event: dict[str, Any], failed: Sequence[str]) -> list[dict[str, Any]]:
    """The failures for the event source, one object each: SQS delivers each of these messages again.

    Kafka gets the first failed message of each partition, and delivers the partition again from there on.
    """
    if "Records" in event:
        return [{"itemIdentifier": message_id} for message_id in failed]
    first: dict[str, int] = {}
    for lane, one in _records(event):
        if _id_of(event, one) in failed:
            first[lane] = min(one["offset"], first.get(lane, one["offset"]))
    return [{"itemIdentifier": {"partition": lane, "offset": offset}} for lane, offset in first.items()]


def _records(event: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for lane, records in event["records"].items():
        for record in records:
            yield lane, record


def _id_of(event: dict[str, Any], record: dict[str, Any]) -> str:
    """The id of a message of a topic, made of its place in the cluster: the same whenever it is delivered again."""
    cluster = event.get("eventSourceArn") or event.get("bootstrapServers") or ""
    return derive("kafka", cluster, record["topic"], record["partition"], record["offset"])
