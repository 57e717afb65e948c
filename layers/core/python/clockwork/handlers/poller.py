"""The poller Lambda: releases the occurrences that are due soon in one shard, or in several quiet shards."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from clockwork import bootstrap
from clockwork.flows.poll.poller import poll_among_others, poll_any
from clockwork.flows.poll.pool import Waits
from clockwork.flows.poll.reports import by_outcome, summed
from clockwork.flows.poll.visit import PollReport
from clockwork.flows.world import World


def make_handler(app: bootstrap.App) -> bootstrap.Handler:
    """The handler of one environment."""

    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        deadline_at = app.deadline_at(context)
        world = app.world.looking_ahead(event.get("lookaheadSeconds"))
        if "partitionIds" in event:
            visits = _poll_together(world, event["partitionIds"], Waits(deadline_at))
            told = _told(app, {p: v.result() for p, v in visits.items() if v.exception() is None})
            for visit in visits.values():  # the first error fails the invocation, once all have been told
                visit.result()
            return {"visits": told}
        report = poll_any(world, event["partitionId"], deadline_at, succeeds=event.get("succeeds", False))
        return _told(app, {event["partitionId"]: report})[0]

    return handle


def _poll_together(world: World, partition_ids: list[str], waits: Waits) -> dict[str, Future[PollReport]]:
    """Poll each shard in its own thread, so that none waits for another, until all have ended."""
    with ThreadPoolExecutor(len(partition_ids)) as threads:
        return {one: threads.submit(poll_among_others, world, one, waits.latest_at, waits) for one in partition_ids}


def _told(app: bootstrap.App, reports: Mapping[str, PollReport]) -> list[dict[str, Any]]:
    """Write one line of metrics about all visits together; returns what the invocation answers about each."""
    if polled := [report for report in reports.values() if report.outcome != "no_lease"]:
        counted = {
            "Polls": len(polled),
            "Released": (whole := summed(polled)).released,
            "Dead": whole.dead,
            "Expired": whole.expired,
            "Stuck": sum(report.outcome == "stuck" for report in polled),
            "Quarantined": whole.quarantined,
            "SetAside": whole.set_aside,
            **({} if whole.horizon_ahead_ms is None else {"HorizonAheadMs": whole.horizon_ahead_ms}),
        }
        app.emit(counted, shards=by_outcome(reports))
    return [{"partitionId": p, "outcome": one.outcome, "released": one.released} for p, one in reports.items()]


lambda_handler = bootstrap.entry_point(make_handler)
