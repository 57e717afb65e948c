"""Poller: releases what is due soon in one shard."""

from __future__ import annotations

from typing import Any

from clockwork import bootstrap
from clockwork.flows.pollers import poll_any


def make_handler(app: bootstrap.App) -> bootstrap.Handler:
    """The handler of one environment."""

    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        partition_id = event["partitionId"]
        report = poll_any(app.world, partition_id, app.deadline_at(context), succeeds=event.get("succeeds", False))
        if report.outcome != "no_lease":
            app.emit(
                {
                    "Polls": 1,
                    "Released": report.released,
                    "Dead": report.dead,
                    "Expired": report.expired,
                    "Stuck": int(report.outcome == "stuck"),
                    "CursorLagMs": report.cursor_lag_ms,
                    # An ordered shard is never polled ahead.
                    **({} if report.horizon_ahead_ms is None else {"HorizonAheadMs": report.horizon_ahead_ms}),
                },
                shard=partition_id,
                outcome=report.outcome,
            )
        return {"partitionId": partition_id, "outcome": report.outcome, "released": report.released}

    return handle


lambda_handler = bootstrap.entry_point(make_handler)
