"""The activity of one client: the sum of what all environments have noted, and of what this one has counted since."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.requests.activity import HOUR_MS, MINUTE_MS, Counts, Tally, part_of, summed
from clockwork.flows.activity.budget import Budget
from clockwork.flows.world import World

#: The notes that one answer reads: about as many as 30 busy environments write in an hour.
MOST_NOTES = 2_000


class Found(msgspec.Struct, frozen=True):
    """The counts of a client, by the begin (ms) of each step that has any.

    From `complete_from` (ms) on no note is missing, but for the `unreadable` ones, which this version cannot read.
    """

    steps: Mapping[int, Tally]
    complete_from: int
    unreadable: int


def activity_of(world: World, client: Client, from_at: int, to_at: int, step_ms: int, budget: Budget) -> Found:
    """The activity between two instants (ms), in steps of whole minutes: the latest hours first, until its Budget ends.

    A step is whole: the first and the last one may reach beyond the instants. Raises Unavailable.
    """
    begin, end = from_at - from_at % step_ms, to_at + step_ms - to_at % step_ms
    unreadable, complete_from = 0, begin
    notes = world.environment.counters.left(world.clock.now(), world.environment.name)
    part, left = part_of(client.client_id), MOST_NOTES
    for hour_at in range(end - 1 - (end - 1) % HOUR_MS, begin - HOUR_MS, -HOUR_MS):
        found = world.activity.list(part, hour_at, begin, left)
        readable = [one for one in found if isinstance(one, Counts)]
        unreadable += len(found) - len(readable)
        notes += readable
        left -= len(found)
        if left <= 0:
            complete_from = max(begin, min((one.minute_at for one in readable), default=hour_at) + MINUTE_MS)
            break
        if hour_at > begin and not budget.note_read():
            complete_from = hour_at
            break
    # Another client may have had the id before, also in the minute in which this one began.
    since_at = max(begin, client.since_at + -client.since_at % MINUTE_MS)
    own = [one for one in notes if since_at <= one.minute_at < end]
    return Found(summed(own, client.client_id, step_ms), complete_from, unreadable)
