"""A Kafka topic as a request names it, and whether the deployment has a cluster and its client may send there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from clockwork.domain.targets.permissions import against_topic
from clockwork.edge.http.checks import Checks
from clockwork.edge.http.forms import Earlier, FieldCheck, TargetForm
from clockwork.edge.requests.own_resources import not_own_topic

#: The name of a topic, as Kafka checks it:
#: https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/common/internals/Topic.java
TOPIC = r"^[a-zA-Z0-9._-]{1,249}\Z"
LONGEST_KEY = 256


def _listed_topic(topic: str, checks: Checks, _: Earlier) -> str:
    """The topic, if the client's allowedTopics list it. Raises ValueError."""
    if (reason := against_topic(topic, checks.client)) is not None:
        raise ValueError(reason)
    return not_own_topic(topic, checks)


class KafkaTargetBody(TargetForm, tag="kafka"):
    """A topic that the client's allowedTopics list, if the deployment has a Kafka cluster."""

    topic: Annotated[str, Meta(pattern=TOPIC)]
    key: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=LONGEST_KEY,
                description="the orderingKey, or else the jobId, unless given",
            ),
        ]
        | None
    ) = None

    field_checks: ClassVar[Mapping[str, FieldCheck]] = {"topic": _listed_topic}

    @classmethod
    def before(cls, value: dict[str, Any], checks: Checks) -> None:  # noqa: ARG003 - whatever it says
        """Report that this deployment has no cluster."""
        if not checks.settings.has_kafka:
            checks.report("/target/type", "is not supported by this deployment")
