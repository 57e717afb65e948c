"""The ticker Lambda: once a minute, starts a poller for each shard."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from clockwork import bootstrap
from clockwork.flows.poll.tick import tick

#: Pollers that are started at the same time: as many connections to Lambda as a client has.
AT_ONCE = 10
#: The end of an invocation (ms) in which no further poller is started: a start may be slow, and the report comes last.
SPARE_MS = 8_000


def make_handler(app: bootstrap.App) -> bootstrap.Handler:
    """The handler of one environment."""

    def handle(_event: dict[str, Any], context: Any) -> dict[str, int]:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            report = tick(app.world, side_by_side=threads.map, until=app.deadline_at(context) - SPARE_MS)
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
