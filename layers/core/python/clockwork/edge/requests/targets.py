"""Any target of a job or a callback, as a request names it, and as it is kept."""

from __future__ import annotations

from typing import get_args

from clockwork.domain import jobs
from clockwork.edge.http.checks import Checks
from clockwork.edge.http.fields import kept
from clockwork.edge.requests.aws_targets import EventBridgeTargetBody, LambdaTargetBody, SnsTargetBody, SqsTargetBody
from clockwork.edge.requests.http_target import HttpTargetBody
from clockwork.edge.requests.kafka_target import KafkaTargetBody
from clockwork.edge.requests.pool_target import PoolTargetBody

TargetBody = (
    HttpTargetBody
    | SqsTargetBody
    | KafkaTargetBody
    | LambdaTargetBody
    | EventBridgeTargetBody
    | SnsTargetBody
    | PoolTargetBody
)
_KEPT: dict[str, type[jobs.Target]] = {str(kind.__struct_config__.tag): kind for kind in get_args(jobs.Target)}


def kept_target(body: TargetBody, checks: Checks) -> jobs.Target:
    """The target as it is kept: the struct of the domain that has its type."""
    given = {"private": body.is_private(checks)} if isinstance(body, HttpTargetBody) else {}
    return kept(_KEPT[body.type], body, **given)
