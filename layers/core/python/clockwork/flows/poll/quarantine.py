"""The quarantine of a shard: rows of which nothing came are passed, and looked at again, each by itself.

A table may give no answer about one client's job. A row may be of a format that only a newer version reads. A release
may be refused by queue, timeline and records alike. To wait for any of these would hold up the work of all others in
the shard. Each is therefore named in a row of the shard's quarantine, and the cursor passes it. Visits look there
first, for a bounded time, group by group from a random one on: the rows of one client, however many, keep no other
client's waiting. A row that has been there for long is looked at less often. Nothing is given up while its row lives.
At the row's end an occurrence that cannot be read is recorded as DEAD, and one that cannot even be recorded is logged.

How it fails. A row is put before the cursor passes what it names, and says so in the shard's row by the commit that
moves the cursor. If the poller dies between, the next one reads the shard's row again; its key in the quarantine is the
same. If the put gets no answer, the visit ends as `stuck`. A row leaves the quarantine after its release: if the poller
dies between the two, the row is released once more, and the claim absorbs the duplicate. In an ordered shard nothing of
a client passes what holds its order.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import msgspec

from clockwork.domain import keys
from clockwork.domain.lifecycle import quarantine as domain
from clockwork.domain.lifecycle.quarantine import Untold, group_in, key_of, key_of_row, quarantine_of
from clockwork.domain.storage.codec import encode_row
from clockwork.domain.timeline import Row
from clockwork.flows.containment import contained, put_each
from clockwork.flows.outages import tolerated
from clockwork.flows.poll.visit import Visit
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: An ordered shard in whose quarantine more clients wait is stuck: what its table does not answer is not one client's.
MOST_HELD = 200


def keep_aside(visit: Visit, rows: Sequence[Row], untold: Sequence[Untold]) -> int:
    """Put what nothing came of into the quarantine; returns how many of the rows, from the first one on, may be passed.

    `untold`: of these rows, and of others, which are left out.
    """
    row_keys = [row.key for row in rows]
    told = [one for one in untold if one.key in row_keys]
    return len(rows) if put_in_quarantine(visit, keyed(visit, told)) else min(row_keys.index(one.key) for one in told)


def put_in_quarantine(visit: Visit, untold: Mapping[str, Untold]) -> bool:
    """Put rows into the quarantine, given by their keys there. False if it is not certain that they are there."""
    if not untold:
        return True
    world, partition_id = visit.world, visit.lease.partition_id
    expires_at = world.clock.now() + kept_ms(world)
    made = [Row(quarantine_of(partition_id), key, encode_row([]), expires_at) for key in untold]
    with tolerated(world, log, "not in the quarantine: %s", {"action": "not_quarantined", "shard": partition_id}):
        for index, why_not in put_each(world.timeline, world.environment.faults, made).items():
            # For a reason of its own, which would be so again: nobody else's work waits for that.
            told = "its row is passed, and neither a record nor the quarantine tells of it"
            world.environment.faults.lost("death_not_recorded", told, why_not, key=made[index].key)
        visit.lease = msgspec.structs.replace(visit.lease, quarantined=visit.lease.quarantined + len(made))
        visit.silence.held.update(map(group_in, (key for key in untold if key.startswith(domain.HOLDING))))
        first = next(iter(untold.values()))
        extra = {"action": "quarantined", "shard": partition_id, "key": first.key}
        log.warning("%d rows go into the quarantine: %s", len(made), first.why_not, extra=extra)
        return True
    return False


def keyed(visit: Visit, untold: Sequence[Untold]) -> dict[str, Untold]:
    """Work that goes into the quarantine, by its keys there."""
    return {_key_of(visit, one): one for one in untold}


def _key_of(visit: Visit, untold: Untold) -> str:
    with contained(visit.world.environment.faults, lambda _: None, untold.key):
        return key_of(untold)
    # What cannot be named is kept with all of its row, whose key is Clockwork's own.
    return key_of_row(untold.key)


def kept_ms(world: World) -> int:
    """For how long a row of the quarantine is kept (ms): it says by its end since when it has been there."""
    return world.retention.rows_ms + domain.OUTLIVES_MS


def read_held(visit: Visit) -> bool:
    """Read whose order the quarantine of an ordered shard holds; False if they are too many. Raises Unavailable."""
    after, end = domain.HOLDING, domain.HOLDING + keys.END
    while visit.lease.quarantined:
        rows = visit.world.timeline.read(quarantine_of(visit.lease.partition_id), after, end, 1).rows
        if not rows:
            break
        if len(visit.silence.held) >= MOST_HELD:
            return False
        group = group_in(rows[0].key)
        visit.silence.held.add(group)
        after = group + keys.END
    return True
