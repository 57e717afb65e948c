"""The ingester Lambda: takes messages that create and cancel jobs from a FIFO queue or a Kafka topic."""

from __future__ import annotations

from typing import Any

from clockwork import bootstrap
from clockwork.edge.ingestion.event_sources import failures_of, messages_of
from clockwork.edge.ingestion.messages import make_ingester


def make_handler(app: bootstrap.App) -> bootstrap.Handler:
    """The handler of one environment."""
    take = make_ingester(app.world, app.rejects)

    def handle(event: dict[str, Any], _context: Any) -> dict[str, list[dict[str, Any]]]:
        report = take(messages_of(event))
        app.emit(
            {
                "Accepted": report.created,
                "CancelledByMessage": report.cancelled,
                "CancelledTooLate": report.too_late,
                "MessagesRejected": report.rejected,
                "MessagesFailed": len(report.failed),
            }
        )
        return {"batchItemFailures": failures_of(event, report.failed)}

    return handle


lambda_handler = bootstrap.entry_point(make_handler)
