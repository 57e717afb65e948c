"""Permissions: which targets a client may name. They are asked at create and again before each attempt.

Every function returns why not, as the end of a sentence that begins with the field or the target, or None.
"""

from __future__ import annotations

from clockwork.domain.clients import Client
from clockwork.domain.jobs import (
    EventBridgeTarget,
    HttpTarget,
    KafkaTarget,
    LambdaTarget,
    PoolTarget,
    SnsTarget,
    SqsTarget,
    Target,
)
from clockwork.domain.targets.urls import check_url, is_listed


def against_host(url: str, client: Client | None) -> str | None:
    """Why the client may not call the URL's host. A client that lists no host may call any."""
    if client is None or is_listed(url, client):
        return None
    return "leads to a host that the client's allowedTargetHosts do not list"


def against_queue(queue_arn: str, client: Client | None) -> str | None:
    """Why the client may not send to the queue."""
    is_allowed = client is not None and client.allows_queue(queue_arn)
    return None if is_allowed else "is not among the client's allowedQueueArns"


def against_topic(topic: str, client: Client | None) -> str | None:
    """Why the client may not send to the Kafka topic."""
    is_allowed = client is not None and client.allows_topic(topic)
    return None if is_allowed else "is not among the client's allowedTopics"


def against_pool(pool: str, client: Client | None) -> str | None:
    """Why the client may not name the pool."""
    is_allowed = client is not None and client.allows_pool(pool)
    return None if is_allowed else "is not among the client's allowedPools"


def against_arn(arn: str, client: Client | None) -> str | None:
    """Why the client may not name a function, a bus, an SNS topic or a role."""
    is_allowed = client is not None and client.may_target(arn)
    return None if is_allowed else "is not among the client's allowedTargetArns"


def against(target: Target, client: Client | None) -> str | None:
    """Why the client, as it is now, may not send to a target that it could name once: a whole sentence, or None."""
    match target:
        case HttpTarget():
            return _sentence(target.url, _against_url(target, client))
        case KafkaTarget():
            return _sentence(target.topic, against_topic(target.topic, client))
        case PoolTarget():
            return _sentence(f"pool {target.pool}", against_pool(target.pool, client))
        case SqsTarget():
            named = target.queue_arn, against_queue(target.queue_arn, client)
        case LambdaTarget():
            named = target.function_arn, against_arn(target.function_arn, client)
        case EventBridgeTarget():
            named = target.bus_arn, against_arn(target.bus_arn, client)
        case SnsTarget():
            named = target.topic_arn, against_arn(target.topic_arn, client)
    if named[1] is None and target.role_arn is not None:
        named = target.role_arn, against_arn(target.role_arn, client)
    return _sentence(*named)


def _against_url(target: HttpTarget, client: Client | None) -> str | None:
    if target.private and not check_url(target.url, client.allowed_private_targets if client else ()).private:
        return "leads to a host and port that the client's allowedPrivateTargets do not list"
    return against_host(target.url, client)


def _sentence(named: str, reason: str | None) -> str | None:
    return None if reason is None else f"{named} {reason}"
