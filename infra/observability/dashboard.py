"""The CloudWatch dashboard: one page that shows whether jobs start on time, the backlog, failures and costs."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from clockwork.settings import FAULT_METRICS
from infra.functions import Functions
from infra.observability.metrics import metric
from infra.options import Options
from infra.queues import Pair, Queues
from infra.storage import Storage

_MINUTE = cdk.Duration.minutes(1)


class Dashboard(Construct):
    """The dashboard: Clockwork's own metrics in four narrow graphs, if it has any, then AWS's in wider ones."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        options: Options,
        storage: Storage,
        queues: Queues,
        functions: Functions,
    ) -> None:
        super().__init__(scope, construct_id)
        every = [*functions.by_moment.values(), *functions.further.values()]
        cloudwatch.Dashboard(
            self,
            "Page",
            widgets=[
                *([own] if (own := _own(options)) else []),
                [*_queues(queues), _graph("Writes (units)", _writes(storage))],
                [
                    _graph("Errors", [one.metric_errors(period=_MINUTE) for one in every], width=8),
                    _graph("Duration", [one.metric_duration(period=_MINUTE) for one in every], width=8),
                    _graph("Invocations", [one.metric_invocations(period=_MINUTE) for one in every], width=8),
                ],
            ],
        )


def _own(options: Options) -> list[cloudwatch.IWidget]:
    """Graphs of those own metrics that the deployment has."""
    settings = options.settings
    if settings.own_metrics == "none":
        return []
    lateness = [
        *(metric(settings, "LatenessMs", statistic) for statistic in ("p50", "p99", "Maximum")),
        metric(settings, "OwnLatenessMs"),
    ]
    has_all = settings.own_metrics == "all"
    work = ["Released", "Delivered", "Failed", "Dead", *(["Deferred", "DuplicatesAbsorbed"] if has_all else [])]
    shards = ["Polls", "CursorLagMs", *(["HorizonAheadMs"] if has_all else [])]
    return [
        _graph("Lateness (ms)", lateness, width=6),
        _graph("Occurrences", [metric(settings, name) for name in work], width=6),
        _graph("Shards (polls, ms behind)", [metric(settings, name) for name in shards], width=6),
        _graph("Should not happen", [metric(settings, name) for name in FAULT_METRICS], width=6),
    ]


def _queues(queues: Queues) -> list[cloudwatch.IWidget]:
    further = list(queues.further.values())
    return [_queue(moment, pair, further if moment == "deliverer" else []) for moment, pair in queues.pairs.items()]


def _queue(moment: str, pair: Pair, further: Sequence[sqs.IQueue]) -> cloudwatch.IWidget:
    waiting = [
        metric
        for queue in (pair.release, *further)
        for metric in (
            queue.metric_approximate_number_of_messages_delayed(period=_MINUTE),
            queue.metric_approximate_number_of_messages_visible(period=_MINUTE),
            queue.metric_approximate_number_of_messages_not_visible(period=_MINUTE),
        )
    ]
    dead = pair.dead_letters.metric_approximate_number_of_messages_visible(period=_MINUTE, label="Dead letters")
    return _graph(f"Release queue of the {moment.replace('_', ' ')}", [*waiting, dead])


def _writes(storage: Storage) -> list[cloudwatch.IMetric]:
    return [
        table.metric_consumed_write_capacity_units(period=_MINUTE, statistic="Sum", label=name)
        for name, table in storage.tables.items()
    ]


def _graph(title: str, metrics: Sequence[cloudwatch.IMetric], width: int = 12) -> cloudwatch.IWidget:
    return cloudwatch.GraphWidget(title=title, left=list(metrics), width=width)
