"""Clockwork's own metrics, which its Lambdas write into their logs, and the statistic that suits each best."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch

from clockwork.settings import Settings

#: Metric -> its most useful statistic over a minute.
STATISTICS = {
    "Accepted": "Sum",
    "CancelledByMessage": "Sum",
    "CancelledTooLate": "Sum",
    "MessagesRejected": "Sum",
    "LatenessMs": "p99",
    "OwnLatenessMs": "p99",
    "DelayErrorMs": "p99",
    "WaitedCapMs": "p99",
    "WaitedPermitMs": "p99",
    "WaitedPauseMs": "p99",
    "WaitedCircuitMs": "p99",
    "WaitedOrderedMs": "p99",
    "Early": "Sum",
    "Released": "Sum",
    "Delivered": "Sum",
    "Failed": "Sum",
    "Dead": "Sum",
    "Expired": "Sum",
    "DuplicatesAbsorbed": "Sum",
    "Deferred": "Sum",
    "Parked": "Sum",
    "MessagesFailed": "Sum",
    "CursorLagMs": "Maximum",
    "HorizonAheadMs": "Minimum",
    "Stuck": "Sum",
    "SetAside": "Sum",
    "Quarantined": "Maximum",
    "FaultsContained": "Sum",
    "TablesThrottled": "Sum",
    "Ticks": "Sum",
    "PollersStarted": "Sum",
    "PollersNotStarted": "Sum",
    "SettingsRefused": "Sum",
    "LookaheadNarrowed": "Sum",
    "Polls": "Sum",
    "Sweeps": "Sum",
    "DeadLettersReleased": "Sum",
    "DeadLettersAbsorbed": "Sum",
    "DeadLettersLeft": "Sum",
    "ChainsAudited": "Sum",
    "ChainsRepaired": "Sum",
    "ChainsLeft": "Sum",
    "WorkersLost": "Sum",
    "ForcedCancels": "Sum",
    "EndsTold": "Sum",
    "StaleTokens": "Sum",
    "TimeToStartMs": "p99",
    "ParkedReleased": "Sum",
    "ParkedDiscarded": "Sum",
    "ParkedLeft": "Sum",
    "ParkedTooLong": "Sum",
    "ParkedNearEnd": "Maximum",
    "OperationTurns": "Sum",
    "OperationsLeft": "Sum",
    "ShardsRemoved": "Sum",
    "ShardsKept": "Sum",
}


def metric(settings: Settings, name: str, statistic: str | None = None, minutes: int = 1) -> cloudwatch.Metric:
    """One metric over periods of `minutes`, with its own statistic unless one is given.

    Its only dimension is the stack: AWS would bill every further value of a dimension as a metric.
    """
    return cloudwatch.Metric(
        namespace=settings.metrics_namespace,
        metric_name=name,
        dimensions_map={"stack": settings.stack_name},
        statistic=statistic or STATISTICS[name],
        period=cdk.Duration.minutes(minutes),
    )
