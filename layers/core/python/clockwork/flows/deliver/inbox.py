"""The inbox of a batch: its messages, decoded once, and apart by the kind of their releases.

The deliverer attempts each occurrence of a bundle by itself, and acknowledges the bundle for all of them. A bundle that
is received a second time may hold the occurrence that took its first deliverer down. Such a bundle is split before any
attempt, and so are failed occurrences of a bundle: alone, an occurrence retries alone and ends alone.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

from clockwork.domain.fires.hints import hinted
from clockwork.domain.releases import Check, Deliver, Release, Watch
from clockwork.domain.storage.codec import decode_message, expect_messages
from clockwork.flows.containment import contained, why
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.items import Item, Received
from clockwork.flows.world import World

log = logging.getLogger(__name__)
expect_messages()


class Message(msgspec.Struct, frozen=True):
    """A message of the release queue, received `receive_count` times by now."""

    message_id: str
    body: str
    receive_count: int = 1


class Inbox(msgspec.Struct):
    """The releases of a batch by kind: those to deliver, the watches, and the checks."""

    items: list[Item] = []
    watches: list[Received] = []
    checks: list[Received] = []

    def take(self, received: Received) -> None:
        """Put a release among those of its kind."""
        release = received.release
        match release:
            case Deliver():
                message_id, bundled, came_back = received.message_id, received.bundled, received.came_back
                self.items.append(Item(message_id, release, bundled=bundled, came_back=came_back))
            case Watch():
                self.watches.append(received)
            case Check():
                self.checks.append(received)


def opened(batch: Batch, messages: Sequence[Message]) -> Inbox:
    """The releases of all messages, but for bundles that come a second time: these are to be split, and acknowledged.

    A message that cannot be decoded fails.
    """
    inbox = Inbox()
    for message in messages:
        try:
            releases = decode_message(message.body)
        except Exception as error:  # noqa: BLE001 - whatever one message raises, the others are delivered
            # The message comes back until the dead-letter queue takes it: a newer version, or an operator, will know.
            fault = why(batch.world.environment.faults, error, message.message_id)
            log.error("undecodable message: %s", fault, extra={"action": "undecodable_message"})
            batch.report.fail_message(message.message_id)
            continue
        bundled = len(releases) > 1
        came_back = message.receive_count > 1
        found = [Received(message.message_id, one, bundled=bundled, came_back=came_back) for one in releases]
        if bundled and came_back:
            batch.report.deferred += len(found)
            batch.failed_of_bundles += found
        else:
            for one in found:
                inbox.take(one)
    return inbox


def resend_alone(batch: Batch) -> None:
    """Send the failed occurrences of bundles again, each alone; if one is not taken, its bundle comes back whole.

    The look at its job had completed an occurrence that failed behind it. That is stripped again; an occurrence for
    which the strip raises is sent as it is.
    """
    items = batch.failed_of_bundles
    alone = [item.release for item in items]
    for place, item in enumerate(items):
        with contained(batch.world.environment.faults, _log_whole, item.release.execution_id):
            alone[place] = hinted(item.release)
    for index in send_alone(batch.world, alone):
        batch.report.fail_message(items[index].message_id)


def _log_whole(why_not: str) -> None:
    log.warning("an occurrence of a bundle is sent on whole: %s", why_not, extra={"action": "sent_on_whole"})


def send_alone(world: World, releases: Sequence[Release]) -> list[int]:
    """Send each release in a message of its own; returns the indexes of those that were not taken."""
    alone = [release.sent_alone() for release in releases]
    refused = world.releases.send(alone, world.clock.now()) if alone else ()
    return [refusal.index for refusal in refused]
