"""Deliverer: takes released occurrences from the queue and delivers each when it is due."""

from __future__ import annotations

from typing import Any

from clockwork import bootstrap
from clockwork.flows.deliver import deliver_batch
from clockwork.flows.unbundle import Message


def make_handler(app: bootstrap.App) -> bootstrap.Handler:
    """The handler of one environment."""

    def handle(event: dict[str, Any], context: Any) -> dict[str, list[dict[str, str]]]:
        messages = [_message(record) for record in event["Records"]]
        report = deliver_batch(app.world, messages, app.deadline_at(context))
        app.emit(
            {
                "LatenessMs": report.lateness_ms,
                "Early": report.early,
                "Delivered": report.succeeded,
                "Failed": report.failed,
                "Dead": report.dead,
                "Expired": report.expired,
                "DuplicatesAbsorbed": report.absorbed,
                "Deferred": report.deferred,
                "Parked": report.parked,
                "MessagesFailed": len(report.failed_messages),
            }
        )
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in report.failed_messages]}

    return handle


def _message(record: dict[str, Any]) -> Message:
    return Message(record["messageId"], record["body"], int(record["attributes"]["ApproximateReceiveCount"]))


lambda_handler = bootstrap.entry_point(make_handler, delivers=True)
