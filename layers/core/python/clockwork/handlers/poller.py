"""The poller Lambda: releases the occurrences that are due soon in one shard, or in several quiet shards."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
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
            return {"visits": _poll_together(app, world, event["partitionIds"], deadline_at)}
        partition_id = event["partitionId"]
        report = poll_any(world, partition_id, deadline_at, succeeds=event.get("succeeds", False))
        return _told(app, partition_id, report)

    return handle


def _poll_together(app: bootstrap.App, world: World, partition_ids: list[str], deadline_at: int) -> list[Any]:
    """Poll each shard in its own thread, so that none waits for another; once all have ended, raise the first error."""
    with ThreadPoolExecutor(len(partition_ids)) as threads:
        visits = {one: threads.submit(poll_among_others, world, one, deadline_at) for one in partition_ids}
    told = [_told(app, one, visit.result()) for one, visit in visits.items() if visit.exception() is None]
    for visit in visits.values():
        visit.result()
    return told


def _told(app: bootstrap.App, partition_id: str, report: PollReport) -> dict[str, Any]:
    if report.outcome != "no_lease":
        app.emit(
            {
                "Polls": 1,
                "Released": report.released,
                "Dead": report.dead,
                "Expired": report.expired,
                "Stuck": int(report.outcome == "stuck"),
                "SetAside": report.set_aside,
                "CursorLagMs": report.cursor_lag_ms,
                # None for an ordered shard, which is never polled ahead.
                **({} if report.horizon_ahead_ms is None else {"HorizonAheadMs": report.horizon_ahead_ms}),
            },
            shard=partition_id,
            outcome=report.outcome,
        )
    return {"partitionId": partition_id, "outcome": report.outcome, "released": report.released}


lambda_handler = bootstrap.entry_point(make_handler)
