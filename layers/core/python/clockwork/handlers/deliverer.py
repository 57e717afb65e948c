"""The deliverer Lambda: takes released occurrences from the one queue of its event source; delivers each when due."""

from __future__ import annotations

from typing import Any

from clockwork import bootstrap
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.deliver.items import DeliverReport
from clockwork.flows.deliver.ordered import OrderedMessage, deliver_ordered
from clockwork.flows.ends.events import ENDS, take_ends

_COUNTS = {"Early": "early", "Delivered": "succeeded", "Failed": "failed", "Dead": "dead", "Expired": "expired"}
_COUNTS |= {"DuplicatesAbsorbed": "absorbed", "Deferred": "deferred", "Parked": "parked"}
_COUNTS |= {"WorkersLost": "workers_lost", "ForcedCancels": "forced_cancels", "EndsTold": "ends_told"}
_WAITED = {"WaitedCapMs": "cap", "WaitedPermitMs": "permit", "WaitedPauseMs": "pause"}
_WAITED |= {"WaitedCircuitMs": "circuit", "WaitedOrderedMs": "ordered"}


def make_handler(app: bootstrap.App) -> bootstrap.Handler:
    """The handler of one environment."""

    def handle(event: dict[str, Any], context: Any) -> dict[str, list[dict[str, str]]]:
        report = _deliver(app, event["Records"], app.deadline_at(context))
        app.emit(
            {
                "LatenessMs": report.lateness_ms,
                "OwnLatenessMs": report.own_lateness_ms,
                **{name: getattr(report, count) for name, count in _COUNTS.items()},
                "MessagesFailed": len(report.failed_messages),
                "DelayErrorMs": app.delay_errors_ms(event["Records"]),
                **{name: report.waited_ms[cause] for name, cause in _WAITED.items() if cause in report.waited_ms},
            }
        )
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in report.failed_messages]}

    return handle


def _deliver(app: bootstrap.App, records: list[dict[str, Any]], deadline_at: int) -> DeliverReport:
    if records[0]["eventSourceARN"].endswith(f"-{ENDS}"):
        return take_ends(app.world, [(record["messageId"], record["body"]) for record in records])
    if records[0]["eventSourceARN"].endswith(".fifo"):
        return deliver_ordered(app.world, [_ordered_message(record) for record in records], deadline_at)
    return deliver_batch(app.world, [Message(*_content(record)) for record in records], deadline_at)


def _ordered_message(record: dict[str, Any]) -> OrderedMessage:
    facts = {"receipt": record["receiptHandle"], "group": record["attributes"]["MessageGroupId"]}
    return OrderedMessage(*_content(record), sent_at=int(record["attributes"]["SentTimestamp"]), **facts)


def _content(record: dict[str, Any]) -> tuple[str, str, int]:
    return record["messageId"], record["body"], int(record["attributes"]["ApproximateReceiveCount"])


lambda_handler = bootstrap.entry_point(make_handler, delivers=True)
