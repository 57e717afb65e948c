"""Kinesis targets: a record in a data stream. An attempt succeeds once the stream has the record.

Kinesis keeps the order of records with one partition key, in the order in which it took them:
https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecord.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Self

import msgspec

from clockwork.domain.ids import derive
from clockwork.targets.message import Message, envelope_of
from clockwork.targets.service import Entry, Envelope, RoleArn, Service, ServiceTarget, Taken
from clockwork.targets.target import Asked

KINESIS = Service(
    name="Kinesis",
    client="kinesis",
    arn_field="stream_arn",
    resource="stream/[a-zA-Z0-9_.-]+",
    a_thing="a stream",
    things="streams",
    action="kinesis:PutRecord",
    permanent=frozenset({"InvalidArgumentException", "ValidationException"}),
    takes="record",
    uses_keys=True,
)
#: In characters: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecord.html
LONGEST_KEY = 256


class KinesisTarget(ServiceTarget, frozen=True, tag="kinesis"):
    """A Kinesis data stream that the client's allowedTargetArns list."""

    stream_arn: Annotated[str, KINESIS.asked(max_length=300)]
    #: It chooses the shard.
    partition_key: Annotated[
        str | None,
        Asked(min_length=1, max_length=LONGEST_KEY, description="the orderingKey, or else the jobId, unless given"),
    ] = None
    role_arn: RoleArn = None
    envelope: Envelope = None

    shown_as: ClassVar[str] = "A Kinesis data stream."
    service: ClassVar[Service] = KINESIS

    def in_order(self, ordering_key: str) -> Self:
        """The ordering key is the partition key."""
        return self if self.partition_key is not None else msgspec.structs.replace(self, partition_key=ordering_key)

    def entry(self, message: Message) -> Entry:
        """The parameters of PutRecord. A key derived from the jobId stands for one that is too long."""
        key = self.partition_key or message.job_id
        key = key if len(key) <= LONGEST_KEY else derive("partition-key", key)
        data = message.payload.body if self.is_bare else envelope_of(message)
        return {"StreamARN": self.stream_arn, "PartitionKey": key, "Data": data}

    def send(self, client: Any, entries: Sequence[Entry]) -> Taken:
        """Put one record."""
        client.put_record(**entries[0])
        return {0: None}
