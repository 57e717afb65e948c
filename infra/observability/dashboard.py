"""The CloudWatch dashboard: one page that shows whether jobs start on time, the backlog, failures and costs."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.functions import Functions
from infra.observability.metrics import metric
from infra.options import Options
from infra.queues import Pair, Queues
from infra.storage import Storage

_MINUTE = cdk.Duration.minutes(1)


class Dashboard(Construct):
    """The dashboard: Clockwork's own metrics in four narrow graphs, then wider graphs, two to a row."""

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
                _own(options),
                [*_queues(queues), _graph("Writes (units)", _writes(storage))],
                [
                    _graph("Errors", [one.metric_errors(period=_MINUTE) for one in every]),
                    _graph("Duration", [one.metric_duration(period=_MINUTE) for one in every]),
                ],
            ],
        )


def _own(options: Options) -> list[cloudwatch.IWidget]:
    settings = options.settings
    lateness = [
        *(metric(settings, "LatenessMs", statistic) for statistic in ("p50", "p99", "Maximum")),
        metric(settings, "OwnLatenessMs"),
    ]
    work = [
        metric(settings, name) for name in ("Released", "Delivered", "Failed", "Deferred", "Dead", "DuplicatesAbsorbed")
    ]
    lag = [metric(settings, name) for name in ("CursorLagMs", "HorizonAheadMs")]
    beat = [metric(settings, name) for name in ("Ticks", "Polls", "Sweeps")]
    return [
        _graph("Lateness (ms)", lateness, width=6),
        _graph("Occurrences", work, width=6),
        _graph("Shards (ms behind, ms ahead)", lag, width=6),
        _graph("Heartbeats", beat, width=6),
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
