"""A Kafka topic as a request names it, and whether the deployment has a cluster and its client may send there."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from clockwork.domain.targets.permissions import against_topic
from clockwork.edge.http.checks import EdgeModel, checks_of
from clockwork.edge.requests.own_resources import not_own_topic

#: The name of a topic, as Kafka checks it:
#: https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/common/internals/Topic.java
TOPIC = r"^[a-zA-Z0-9._-]{1,249}$"
LONGEST_KEY = 256


class KafkaTargetBody(EdgeModel):
    """A topic that the client's allowedTopics list, if the deployment has a Kafka cluster."""

    type: Literal["kafka"]
    topic: str = Field(pattern=TOPIC)
    key: str | None = Field(
        None, min_length=1, max_length=LONGEST_KEY, description="the orderingKey, or else the jobId, unless given"
    )

    @field_validator("type")
    @classmethod
    def _is_deployed(cls, kind: Literal["kafka"], info: ValidationInfo) -> Literal["kafka"]:
        if not checks_of(info).settings.has_kafka:
            raise ValueError("is not supported by this deployment")
        return kind

    @field_validator("topic")
    @classmethod
    def _is_listed(cls, topic: str, info: ValidationInfo) -> str:
        if (reason := against_topic(topic, checks_of(info).client)) is not None:
            raise ValueError(reason)
        return not_own_topic(topic, info)
