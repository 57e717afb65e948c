"""Kafka targets, as they are stored and as requests name them. `KafkaTargets` delivers to them."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

import msgspec

from clockwork.settings import Settings
from clockwork.targets.target import Asked, StoredTarget

#: The name of a topic, as Kafka checks it:
#: https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/common/internals/Topic.java
TOPIC = r"^[a-zA-Z0-9._-]{1,249}\Z"
LONGEST_KEY = 256


class KafkaTarget(StoredTarget, frozen=True, tag="kafka"):
    """A topic that the client's allowedTopics list, if the deployment has a Kafka cluster."""

    topic: Annotated[str, Asked(listed="allowed_topics", pattern=TOPIC)]
    #: It chooses the partition.
    key: Annotated[
        str | None,
        Asked(min_length=1, max_length=LONGEST_KEY, description="the orderingKey, or else the jobId, unless given"),
    ] = None

    shown_as: ClassVar[str] = "A Kafka topic."

    @classmethod
    def is_supported(cls, settings: Settings) -> bool:
        """Whether the deployment has a cluster."""
        return settings.has_kafka

    def in_order(self, ordering_key: str) -> Self:
        """The ordering key is the key of the message."""
        return self if self.key is not None else msgspec.structs.replace(self, key=ordering_key)

    @property
    def destination(self) -> str:
        """The topic: the producer sends many messages at once."""
        return f"topic {self.topic}"

    @property
    def lane(self) -> str:
        """The deliverer to Kafka."""
        return "kafka"

    def seconds(self, settings: Settings) -> float:
        """How long the producer tries (s)."""
        return settings.kafka_timeout_seconds
