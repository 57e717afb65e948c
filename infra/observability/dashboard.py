"""The CloudWatch dashboard: one screen that answers whether all is well, what is late and why, and what costs.

AWS bills no dashboard of up to 50 metrics: https://aws.amazon.com/cloudwatch/pricing/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from clockwork.settings import FAULT_METRICS
from infra.functions import Functions
from infra.observability.alarms import Alarms
from infra.observability.metrics import metric
from infra.options import Options
from infra.queues import Queues
from infra.storage import Storage

_MINUTE = cdk.Duration.minutes(1)
#: A screen shows a grid of 24 columns and about 15 rows without scrolling.
COLUMNS, ROWS = 24, 15
_ALARMS_ROWS = 3


class Dashboard(Construct):
    """The dashboard, in three rows. Without own metrics the second has AWS's alone."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        options: Options,
        storage: Storage,
        queues: Queues,
        functions: Functions,
        alarms: Alarms,
    ) -> None:
        super().__init__(scope, construct_id)
        well = cloudwatch.AlarmStatusWidget(
            alarms=alarms.waking, title="Is all well?", width=COLUMNS, height=_ALARMS_ROWS
        )
        late, costs = [*_own(options), *_backlog(queues)], _costs(storage, queues, functions)
        cloudwatch.Dashboard(self, "Page", widgets=[[well], _filled(late), _filled(costs)])


def _own(options: Options) -> Iterator[tuple[str, Sequence[cloudwatch.IMetric]]]:
    """Titles and metrics of the graphs of own metrics, if the deployment has any."""
    settings = options.settings
    if settings.own_metrics == "none":
        return
    lateness = [*(metric(settings, "LatenessMs", statistic) for statistic in ("p50", "p99")), *_late(options)]
    yield "What is late (ms)?", lateness
    further = ["Deferred", "DuplicatesAbsorbed", "Polls"] if settings.own_metrics == "all" else []
    yield "Why? What should not happen", [metric(settings, name) for name in (*FAULT_METRICS, *further)]


def _late(options: Options) -> list[cloudwatch.IMetric]:
    """Explanations of lateness: its part that no client waited for, and how far behind a shard is."""
    further = ["HorizonAheadMs"] if options.settings.own_metrics == "all" else []
    return [metric(options.settings, name) for name in ("OwnLatenessMs", "CursorLagMs", *further)]


def _backlog(queues: Queues) -> Iterator[tuple[str, Sequence[cloudwatch.IMetric]]]:
    every: list[sqs.IQueue] = [pair.release for pair in queues.pairs.values()]
    waiting = [
        one
        for queue in (*every, *queues.further.values())
        for one in (
            queue.metric_approximate_number_of_messages_visible(period=_MINUTE),
            queue.metric_approximate_age_of_oldest_message(period=_MINUTE),
        )
    ]
    yield "Why? Due messages that wait", waiting


def _costs(
    storage: Storage, queues: Queues, functions: Functions
) -> Iterator[tuple[str, Sequence[cloudwatch.IMetric]]]:
    every = [*functions.by_moment.values(), *functions.further.values()]
    writes = [
        table.metric_consumed_write_capacity_units(period=_MINUTE, statistic="Sum", label=name)
        for name, table in storage.tables.items()
    ]
    release = queues.pairs["deliverer"].release
    messages = [
        release.metric_number_of_messages_sent(period=_MINUTE, label="released"),
        release.metric_number_of_messages_deleted(period=_MINUTE, label="delivered"),
    ]
    yield "What costs? Writes (units)", writes
    yield "What costs? Lambda (ms)", [one.metric_duration(period=_MINUTE, statistic="Sum") for one in every]
    yield "What costs? Messages, invocations", [*messages, *(one.metric_invocations(period=_MINUTE) for one in every)]


def _filled(row: Iterable[tuple[str, Sequence[cloudwatch.IMetric]]]) -> list[cloudwatch.IWidget]:
    """Graphs that share a row of the screen evenly."""
    graphs = list(row)
    width, height = COLUMNS // len(graphs), (ROWS - _ALARMS_ROWS) // 2
    return [cloudwatch.GraphWidget(title=one, left=list(found), width=width, height=height) for one, found in graphs]
