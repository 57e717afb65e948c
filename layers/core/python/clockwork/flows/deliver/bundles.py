"""Bundles, which are messages of several occurrences: take them apart, and send failed occurrences again alone.

The deliverer attempts each occurrence of a bundle by itself, and acknowledges the bundle for all of them. A bundle that
is received a second time may hold the occurrence that took its first deliverer down. Such a bundle is split before any
attempt, and so are failed occurrences of a bundle: alone, an occurrence retries alone and ends alone.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

from clockwork.domain.releases import Release
from clockwork.domain.storage.codec import decode_message
from clockwork.flows.containment import why
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.items import Item
from clockwork.flows.world import World

log = logging.getLogger(__name__)


class Message(msgspec.Struct, frozen=True):
    """A message of the release queue, received `receive_count` times by now."""

    message_id: str
    body: str
    receive_count: int = 1


def unbundled(batch: Batch, messages: Sequence[Message]) -> list[Item]:
    """The items of all messages, except for bundles that come a second time: these are to be split, and acknowledged.

    A message that cannot be decoded fails.
    """
    items: list[Item] = []
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
        found = [Item(message.message_id, one, bundled=bundled, came_back=came_back) for one in releases]
        if bundled and came_back:
            batch.report.deferred += len(found)
            batch.failed_of_bundles += found
        else:
            items += found
    return items


def resend_alone(batch: Batch) -> None:
    """Send the failed occurrences of bundles again, each alone; if one is not taken, its bundle comes back whole."""
    items = batch.failed_of_bundles
    for index in send_alone(batch.world, [item.release for item in items]):
        batch.report.fail_message(items[index].message_id)


def send_alone(world: World, releases: Sequence[Release]) -> list[int]:
    """Send each release in a message of its own; returns the indexes of those that were not taken."""
    alone = [msgspec.structs.replace(release, alone=True) for release in releases]
    refused = world.releases.send(alone, world.clock.now()) if alone else ()
    return [refusal.index for refusal in refused]
