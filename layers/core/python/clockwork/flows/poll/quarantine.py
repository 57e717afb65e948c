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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import msgspec

from clockwork.domain import keys
from clockwork.domain.lifecycle import quarantine as domain
from clockwork.domain.lifecycle.quarantine import Untold, group_in, kept_in, key_of, key_of_row, quarantine_of
from clockwork.domain.storage.codec import encode_row
from clockwork.domain.timeline import Page, Row
from clockwork.flows.containment import contained, put_each
from clockwork.flows.outages import tolerated
from clockwork.flows.poll.visit import Visit
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: A visit looks at the quarantine for so long (ms) before it reads its shard, and begins no other row then. In an
#: ordered shard, whose rows are due when they are read, it looks for a shorter time.
LOOKED_FOR_MS, ORDERED_LOOKED_FOR_MS = 2_000, 300
#: The number of rows of the quarantine that are read at once.
PAGE = 100
#: After so many rows of a group that gave no answer the others of the group wait for another visit.
MOST_SILENT = 2
#: An ordered shard in whose quarantine more clients wait is stuck: what its table does not answer is not one client's.
MOST_HELD = 200


class Again(msgspec.Struct, frozen=True):
    """The result for a row of the quarantine: `untold` has to go there again; `is_done`: nothing else is left of it."""

    untold: Sequence[Untold] = ()
    is_done: bool = False


@dataclass(frozen=True)
class Ways:
    """The ways to handle a row that the quarantine names.

    `release` it: all of it, or the execution with a tag. `end`: record it as DEAD; returns whether that is certain.
    """

    release: Callable[[Visit, Row, str], Again]
    end: Callable[[Visit, Row], bool]


def keep_aside(visit: Visit, rows: Sequence[Row], untold: Sequence[Untold]) -> int:
    """Put what nothing came of into the quarantine; returns how many of the rows, from the first one on, may be passed.

    `untold`: of these rows, and of others, which are left out.
    """
    row_keys = [row.key for row in rows]
    told = [one for one in untold if one.key in row_keys]
    return len(rows) if is_kept(visit, _keyed(visit, told)) else min(row_keys.index(one.key) for one in told)


def is_kept(visit: Visit, untold: Mapping[str, Untold]) -> bool:
    """Put rows into the quarantine, given by their keys there. False if it is not certain that they are there."""
    if not untold:
        return True
    world, partition_id = visit.world, visit.lease.partition_id
    expires_at = world.clock.now() + _kept_ms(world)
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


def _keyed(visit: Visit, untold: Sequence[Untold]) -> dict[str, Untold]:
    return {_key_of(visit, one): one for one in untold}


def _key_of(visit: Visit, untold: Untold) -> str:
    with contained(visit.world.environment.faults, lambda _: None, untold.key):
        return key_of(untold)
    # What cannot be named is kept with all of its row, whose key is Clockwork's own.
    return key_of_row(untold.key)


def _kept_ms(world: World) -> int:
    """For how long a row of the quarantine is kept (ms): it says by its end since when it has been there."""
    return world.row_expires_at(domain.OUTLIVES_MS)


def look_again(visit: Visit, ways: Ways) -> None:
    """Look at the quarantine of the visit's shard, as far as LOOKED_FOR_MS go. A row that cannot be done now stays."""
    if visit.lease.quarantined:
        extra = {"action": "quarantine_left", "shard": visit.lease.partition_id}
        # Nothing else waits for it: the visit goes on, and the next one looks again.
        with tolerated(visit.world, log, "the quarantine is not read: %s", extra):
            _Look(visit, ways).at_all()


def knows_held(visit: Visit) -> bool:
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


class _Look:
    """One look at the quarantine of a shard. `left`: so many rows stay there; `is_whole`: there are no others."""

    def __init__(self, visit: Visit, ways: Ways) -> None:
        self._visit, self._ways, self._world = visit, ways, visit.world
        self._partition_id = quarantine_of(visit.lease.partition_id)
        looked_for_ms = ORDERED_LOOKED_FOR_MS if visit.keeps_order else LOOKED_FOR_MS
        self._until = self._world.clock.now() + looked_for_ms
        self._left, self._is_whole = 0, True
        #: Groups to which this look has added since it was there.
        self._added: set[str] = set()

    def at_all(self) -> None:
        """Look at group by group, from a random one on, so that each has its turn whatever the others hold."""
        world = self._world
        start = "chr"[world.random.below(3)] + world.random.token()
        for after, end in ((start, keys.END), ("", start)):
            self._look(after, end)
        left = max(self._left, bool(self._added))
        left = left if self._is_whole else max(left, self._visit.lease.quarantined)
        self._visit.lease = msgspec.structs.replace(self._visit.lease, quarantined=left)

    def _look(self, after: str, end: str) -> None:
        more = True
        while more:
            if not self._has_time:
                self._is_whole = False
                return
            page = self._read(after, end)
            more = page.more
            for group, found in groupby(page.rows, lambda row: group_in(row.key)):
                rows = list(found)
                is_cut = page.more and rows[-1] is page.rows[-1]
                self._at_group(group, rows, is_cut)
                # However many rows the group has: the next page begins behind it.
                after = group + keys.END

    def _at_group(self, group: str, rows: Sequence[Row], more: bool) -> None:
        """Try a group's rows, page by page as long as none is left of a page."""
        self._added.discard(group)
        left = self._tried(group, rows)
        while (more or group in self._added) and not left and self._has_time:
            self._added.discard(group)
            page = self._read(group, group + keys.END)
            more = page.more
            left = self._tried(group, page.rows) if page.rows else 0
        self._left += left
        self._is_whole = self._is_whole and not more
        if not left and not more and group not in self._added:
            self._visit.silence.is_over(group)

    def _tried(self, group: str, rows: Sequence[Row]) -> int:
        """Try rows of a group; returns how many are left. In an ordered shard none passes another of its client."""
        now, tick_ms = self._world.clock.now(), self._world.settings.tick_seconds * 1000
        if not domain.is_tried(group, rows[0].expires_at - _kept_ms(self._world), now, tick_ms):
            return len(rows)
        keeps_order = self._visit.keeps_order and group.startswith(domain.HOLDING)
        first = 0 if keeps_order else self._world.random.below(len(rows))
        done: list[str] = []
        silent = 0
        for row in [*rows[first:], *rows[:first]]:
            if silent >= (1 if keeps_order else MOST_SILENT) or not self._has_time:
                break
            if self._is_done(row):
                done.append(row.key)
            else:
                silent += keeps_order or group.startswith(domain.HOLDING)
        if done:
            # What is released leaves afterwards: if this is lost, it is released once more.
            self._world.timeline.forget(self._partition_id, done)
        return len(rows) - len(done)

    def _is_done(self, row: Row) -> bool:
        """Try one row; whatever it raises, the others go on."""
        is_done = False
        with contained(self._world.environment.faults, self._note_left, row.key):
            row_key, tag = kept_in(row.key)
            found = self._read_row(row_key)
            if found is None:
                _lose(self._visit, row.key, "its row has gone")
                return True
            if domain.is_at_end(found.expires_at, self._world.clock.now(), self._world.row_expires_at(0)):
                return self._is_ended(found, row.key, tag)
            again = self._ways.release(self._visit, found, tag)
            others = _keyed(self._visit, again.untold)
            is_left = not again.is_done or others.pop(row.key, None) is not None
            is_done = not is_left and is_kept(self._visit, others)
            self._added.update(map(group_in, others if is_done else ()))
        return is_done

    def _is_ended(self, found: Row, key: str, tag: str) -> bool:
        """End what has been tried for as long as its row lives."""
        if tag:
            _lose(self._visit, key, "neither its queue nor a table took it")
            return True
        return self._ways.end(self._visit, found)

    def _note_left(self, why_not: str) -> None:
        extra = {"action": "quarantine_left", "shard": self._visit.lease.partition_id}
        log.warning("a row stays in the quarantine: %s", why_not, extra=extra)

    @property
    def _has_time(self) -> bool:
        return self._visit.has_time and self._world.clock.now() < self._until

    def _read(self, after: str, end: str) -> Page:
        return self._world.timeline.read(self._partition_id, after, end, PAGE)

    def _read_row(self, key: str) -> Row | None:
        partition_id = self._visit.lease.partition_id
        rows = self._world.timeline.read(partition_id, keys.edge_before(key), key, 1).rows
        return rows[0] if rows else None


def _lose(visit: Visit, key: str, why_not: str) -> None:
    """Tell in the log alone what can be kept no longer."""
    told = "a death is not recorded, and its row is passed"
    visit.world.environment.faults.lost("death_not_recorded", told, why_not, key=key)
