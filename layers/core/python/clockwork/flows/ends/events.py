"""The events of services that tell ends, as EventBridge puts them into their queue."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any

from clockwork.flows.containment import contained
from clockwork.flows.deliver.items import DeliverReport
from clockwork.flows.ends.tell import tell
from clockwork.flows.world import World
from clockwork.targets.message import Told
from clockwork.targets.registry import SERVICE_TARGETS

#: The end of the name of their queue.
ENDS = "Ends"
log = logging.getLogger(__name__)


def take_ends(world: World, messages: Sequence[tuple[str, str]]) -> DeliverReport:
    """Record the ends of which messages tell, each with its id. The report names those that come back.

    A message that is no such event is logged and done with: a watch asks about what it may have told.
    """
    report = DeliverReport()
    for message_id, body in messages:
        told = told_in(body)
        if told is None:
            report.absorbed += 1
            continue

        def fail(why_not: str, message_id: str = message_id) -> None:
            log.warning("an end is not recorded: %s", why_not, extra={"action": "end_not_recorded"})
            report.fail_message(message_id)

        with contained(world.environment.faults, fail, told.execution_id):
            is_awaited = tell(world, told)
            report.absorbed += not is_awaited
            report.ends_told += is_awaited
    return report


def told_in(body: str) -> Told | None:
    """The word of an event. None if it is none of ours, or does not say of which execution it tells."""
    try:
        event: dict[str, Any] = json.loads(body)
        for target in SERVICE_TARGETS:
            wanted = target.end_events
            if wanted and (event["source"], event["detail-type"]) == (wanted.source, wanted.detail_type):
                return target.told_by(event["detail"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        extra = {"action": "unreadable_event", "fault": type(fault).__name__}
        log.error("an event of a service cannot be read", extra=extra)
    return None
