"""The ticker Lambda: once a minute, starts a poller for each shard."""

from __future__ import annotations

from typing import Any

from clockwork import bootstrap
from clockwork.flows.poll.tick import tick


def make_handler(app: bootstrap.App) -> bootstrap.Handler:
    """The handler of one environment."""

    def handle(_event: dict[str, Any], _context: Any) -> dict[str, int]:
        report = tick(app.world)
        app.emit(
            {
                "Ticks": 1,
                "CursorLagMs": report.lag_ms,
                "PollersStarted": report.started,
                "PollersNotStarted": report.failed,
                "SettingsRefused": int(report.refused),
                "LookaheadNarrowed": int(report.narrowed),
            }
        )
        return {"started": report.started, "failed": report.failed}

    return handle


lambda_handler = bootstrap.entry_point(make_handler)
