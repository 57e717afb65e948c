"""Ends that AWS tells: a rule on the account's default bus, and the queue from which the deliverer takes its events.

Both are there only if `targetArns` opens targets that tell their ends. The rule takes the events of what Clockwork
began at these targets, and no others. An event may be lost: the deliverer asks AWS, too. The queue therefore has no
dead letters, and forgets what nobody has read for a day.

With the option `keyArn` the key's policy has to let events.amazonaws.com use it, or no event arrives.
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-patterns-content-based-filtering.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from aws_cdk.aws_events_targets import SqsQueue
from aws_cdk.aws_lambda_event_sources import SqsEventSource
from constructs import Construct

from clockwork.queue_names import queue_name
from clockwork.targets.registry import LISTED
from clockwork.targets.service import EndEvents, ServiceTarget
from infra.options import Options, service_of
from infra.permissions import CONSUME, allow, allow_at, may_be
from infra.queues import encrypt

#: Events that one invocation of the deliverer takes.
BATCH = 10
KEPT = cdk.Duration.days(1)
#: An ARN has so many parts before its last one, which may have several.
HEAD = 5


class Ends(Construct):
    """The rules of all types of targets that tell their ends, and their one queue."""

    def __init__(self, scope: Construct, construct_id: str, *, options: Options) -> None:
        super().__init__(scope, construct_id)
        self._options = options
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=queue_name(options.name, "Ends"),
            visibility_timeout=cdk.Duration.seconds(options.settings.visibility_seconds),
            retention_period=KEPT,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
        )
        encrypt(self.queue, options.key_arn)
        for target in LISTED:
            opened = watched(target, options)
            if target.end_events is not None and opened:
                pattern = pattern_of(target.end_events, opened)
                events.Rule(self, target.service.client, event_pattern=pattern, targets=[SqsQueue(self.queue)])

    def feed(self, deliverer: lambda_.Function) -> None:
        """Let the deliverer take the events, ask how something goes that it began, and stop that."""
        allow(deliverer, CONSUME, self.queue.queue_arn)
        source = SqsEventSource(
            self.queue,
            batch_size=BATCH,
            report_batch_item_failures=True,
            max_concurrency=self._options.shares.ingester,
        )
        deliverer.add_event_source(source)
        for target in LISTED:
            opened = opened_of(target.service.in_arns, self._options.target_arns)
            for resource, actions in target.service.of_ends.items():
                named = [resource.format(arn=arn, head=head, name=name) for arn, head, name in map(parts_of, opened)]
                if named:
                    allow_at(deliverer, target.service, tuple(actions), dict.fromkeys(named), opened)


def tells_ends(options: Options) -> bool:
    """Whether a deployment opens targets that tell their ends."""
    return any(watched(target, options) for target in LISTED)


def watched(target: type[ServiceTarget], options: Options) -> list[str]:
    """The opened ARNs, and patterns of ARNs, whose events tell ends of a type of target."""
    wanted = target.end_events
    if wanted is None:
        return []
    opened = opened_of(target.service.in_arns, options.target_arns)
    return [arn for arn in opened if may_be(arn, wanted.kind)]


def opened_of(service: str, target_arns: Sequence[str]) -> list[str]:
    """Those of the opened ARNs, or patterns of ARNs, that are of a service."""
    return [arn for arn in target_arns if service_of(arn) == service]


def parts_of(arn: str) -> tuple[str, str, str]:
    """An ARN or pattern, its part before the resource, and the resource's name without version or alias."""
    parts = arn.split(":")
    head = [*parts[:HEAD], *["*"] * (HEAD - len(parts))]
    resource = ":".join(parts[HEAD:])
    name = re.split("[:/]", resource)[1] if re.search("[:/]", resource) else "*"
    return arn, ":".join(head), name


def pattern_of(wanted: EndEvents, opened: Sequence[str]) -> events.EventPattern:
    """The pattern of the events that tell ends at these targets, of what Clockwork began."""
    named = [f"{head}:{wanted.kind}{name}" for _, head, name in map(parts_of, opened)]
    detail = {wanted.arn_field: [*_matching(dict.fromkeys(named))], **wanted.details}
    return events.EventPattern(source=[wanted.source], detail_type=[wanted.detail_type], detail=detail)


def _matching(arns: Sequence[str] | dict[str, Any]) -> Iterator[Any]:
    """Each ARN as EventBridge matches it. IAM's `?` becomes a `*`, which takes more: the deliverer looks closer."""
    for arn in arns:
        loose = re.sub(r"[*?]+", "*", arn)
        yield {"wildcard": loose} if "*" in loose else arn
