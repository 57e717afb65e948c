"""The poller Lambda: releases the occurrences that are due soon in one shard, or in several quiet shards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from clockwork import bootstrap
from clockwork.flows.poll.poller import poll_among_others, poll_any
from clockwork.flows.poll.shard import PollReport
from clockwork.flows.world import World


def make_handler(app: bootstrap.App) -> bootstrap.Handler:
    """The handler of one environment."""

    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        deadline_at = app.deadline_at(context)
        world = app.world.looking_ahead(event.get("lookaheadSeconds"))
        if "partitionIds" in event:
            visits = _poll_together(world, event["partitionIds"], deadline_at)
            told = _told(app, {one: visit.result() for one, visit in visits.items() if visit.exception() is None})
            # Once all have ended and been told, the first error fails the invocation.
            for visit in visits.values():
                visit.result()
            return {"visits": told}
        partition_id = event["partitionId"]
        report = poll_any(world, partition_id, deadline_at, succeeds=event.get("succeeds", False))
        return _told(app, {partition_id: report})[0]

    return handle


def _poll_together(world: World, partition_ids: list[str], deadline_at: int) -> dict[str, Future[PollReport]]:
    """Poll each shard in its own thread, so that none waits for another, until all have ended."""
    with ThreadPoolExecutor(len(partition_ids)) as threads:
        return {one: threads.submit(poll_among_others, world, one, deadline_at) for one in partition_ids}


def _told(app: bootstrap.App, reports: Mapping[str, PollReport]) -> list[dict[str, Any]]:
    """Write one line of metrics about all visits together; returns what the invocation answers about each."""
    shards: defaultdict[str, list[str]] = defaultdict(list)
    for partition_id, report in reports.items():
        shards[report.outcome].append(partition_id)
    if polled := [report for report in reports.values() if report.outcome != "no_lease"]:
        app.emit(_counted(polled), shards=shards)
    return [
        {"partitionId": partition_id, "outcome": report.outcome, "released": report.released}
        for partition_id, report in reports.items()
    ]


def _counted(polled: Sequence[PollReport]) -> dict[str, int]:
    # None in an ordered shard, which is never polled ahead.
    ahead_ms = [report.horizon_ahead_ms for report in polled if report.horizon_ahead_ms is not None]
    return {
        "Polls": len(polled),
        "Released": sum(report.released for report in polled),
        "Dead": sum(report.dead for report in polled),
        "Expired": sum(report.expired for report in polled),
        "Stuck": sum(report.outcome == "stuck" for report in polled),
        "SetAside": sum(report.set_aside for report in polled),
        "CursorLagMs": max(report.cursor_lag_ms for report in polled),
        **({"HorizonAheadMs": min(ahead_ms)} if ahead_ms else {}),
    }


lambda_handler = bootstrap.entry_point(make_handler)
