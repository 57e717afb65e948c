"""Look again at what is in the quarantine of a shard: group by group, in turns.

A group is the work of one client, or one row whose client nobody knows. A look draws the order of the groups anew, and
each gets a turn of TURN_MS. A group whose rows are done gets further turns, and tries twice as many rows together each
time: a client that answers again is drained at once. A group ends its turns after MOST_SILENT rows of which nothing
came. If its client gave an answer, its other rows get the time that all groups leave. Groups that have been there for
long come last, and end their turns after one row. Nothing is written for that.

How it fails. One call that takes seconds may use up a look: the next one draws another order, so no group is behind the
same one each time. The poller dies after a release, before the row leaves the quarantine: the row is released once
more, and the claim absorbs the duplicate. A row that raises stays, and the look goes on. Of rows that are tried
together and not all done, the rest is tried again in halves: one row holds up no other for more than a few calls. If
the quarantine itself cannot be read, the visit goes on, and the next one looks again.
"""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import msgspec

from clockwork.domain import keys
from clockwork.domain.lifecycle import quarantine as domain
from clockwork.domain.lifecycle.quarantine import Untold, group_in, kept_in, quarantine_of
from clockwork.domain.timeline import Page, Row
from clockwork.flows.containment import contained
from clockwork.flows.outages import tolerated
from clockwork.flows.poll.portions import portions
from clockwork.flows.poll.quarantine import kept_ms, keyed, put_in_quarantine
from clockwork.flows.poll.visit import Visit

log = logging.getLogger(__name__)

#: A visit looks at the quarantine for so long (ms) before it reads its shard, and begins no other row then. In an
#: ordered shard, whose rows are due when they are read, it looks for a shorter time.
LOOKED_FOR_MS, ORDERED_LOOKED_FOR_MS = 2_000, 300
#: The turn of a group (ms): it begins no other row then.
TURN_MS = 100
#: The number of rows of the quarantine that are read at once, and of groups that have their turns in one look.
PAGE, MOST_GROUPS = 100, 100
#: After so many rows of a group of which nothing came the others of the group wait for another visit.
MOST_SILENT = 2
ROW_GONE = "its row has gone"
#: Rows of a group that are tried together, at the most.
MOST_TOGETHER = 50


class Again(msgspec.Struct, frozen=True):
    """The result for a row of the quarantine: `untold` has to go there again; `is_done`: nothing else is left of it."""

    untold: Sequence[Untold] = ()
    is_done: bool = False


class Ways(msgspec.Struct, frozen=True):
    """The ways to handle rows that the quarantine names.

    `release` rows: all of them, or of the only one the execution with a tag. It answers for each, in their order. `end`
    a row: record it as DEAD; returns whether that is certain.
    """

    release: Callable[[Visit, Sequence[Row], str], Sequence[Again]]
    end: Callable[[Visit, Row], bool]


class _Group(msgspec.Struct):
    """A group in one look. `rows`: read, and not tried yet; `more` come behind the key `after`.

    `together`: so many are tried at once. `silent`: of so many nothing came, and the turns end at `most_silent`.
    `left`: so many were tried and stay.
    """

    name: str
    rows: list[Row]
    after: str
    more: bool
    most_silent: int
    together: int
    silent: int = 0
    left: int = 0

    @property
    def stays(self) -> int:
        """How many of the rows that were read stay in the quarantine."""
        return self.left + len(self.rows)


def look_again(visit: Visit, ways: Ways) -> None:
    """Look at the quarantine of the visit's shard, as far as LOOKED_FOR_MS go. A row that cannot be done now stays."""
    if visit.lease.quarantined:
        extra = {"action": "quarantine_left", "shard": visit.lease.partition_id}
        # Nothing else waits for it: the visit goes on, and the next one looks again.
        with tolerated(visit.world, log, "the quarantine is not read: %s", extra):
            _Look(visit, ways).at_all()


class _Look:
    """One look at the quarantine of a shard. `is_whole`: it has met all groups."""

    def __init__(self, visit: Visit, ways: Ways) -> None:
        self._visit, self._ways, self._world = visit, ways, visit.world
        self._partition_id = quarantine_of(visit.lease.partition_id)
        self._until = self._world.clock.now() + (ORDERED_LOOKED_FOR_MS if visit.keeps_order else LOOKED_FOR_MS)
        self._is_whole = True
        #: Groups to which this look has added since they were read.
        self._added: set[str] = set()

    def at_all(self) -> None:
        """Give each group its turns, in an order of its own."""
        groups = self._found()
        self._take_turns(groups)
        # Where a client gives no answer its other rows are not asked about. Any other row tells of itself alone.
        rest = [one for one in groups if one.most_silent == MOST_SILENT and not one.name.startswith(domain.HOLDING)]
        for group in rest:
            group.most_silent = sys.maxsize
        self._take_turns(rest)
        for group in groups:
            is_over = not group.stays and not group.more and group.name not in self._added
            if is_over:
                self._visit.silence.note_over(group.name)
            self._is_whole = self._is_whole and (is_over or not group.more)
        left = max(sum(group.stays for group in groups), bool(self._added))
        left = left if self._is_whole else max(left, self._visit.lease.quarantined)
        self._visit.lease = msgspec.structs.replace(self._visit.lease, quarantined=left)

    def _take_turns(self, groups: Sequence[_Group]) -> None:
        ring = deque(groups)
        while ring and self._has_time:
            group = ring.popleft()
            if self._try_for_a_turn(group):
                ring.append(group)

    def _found(self) -> list[_Group]:
        """The groups in a drawn order, those that are tried less often behind the others; at most MOST_GROUPS.

        Each kind of group gives one in turn: rows of unknown clients, a group each, leave clients their places.
        """
        found, kinds = list[_Group](), deque(map(self._of_kind, (domain.HOLDING, domain.PASSED, domain.ALONE)))
        while kinds and len(found) < MOST_GROUPS and self._has_time:
            if (group := next(kinds[0], None)) is None:
                kinds.popleft()
            else:
                found.append(group)
                kinds.rotate(-1)
        self._is_whole = self._is_whole and not kinds
        drawn = [(group.most_silent < MOST_SILENT, self._world.random.fraction(), group) for group in found]
        return [group for *_, group in sorted(drawn, key=lambda one: one[:2])]

    def _of_kind(self, letter: str) -> Iterator[_Group]:
        """The groups of a letter, from a random one on, and round to it. Pages are read as they are needed."""
        start = letter + self._world.random.token()
        for first, end in ((start, letter + keys.END), (letter, start)):
            after, more = first, True
            while more:
                page = self._read(after, end)
                more = page.more
                for name, some in groupby(page.rows, lambda row: group_in(row.key)):
                    rows = list(some)
                    # However many rows the group has: the next page begins behind it.
                    after = name + keys.END
                    yield self._group(name, rows, more=page.more and rows[-1] is page.rows[-1])

    def _group(self, name: str, rows: list[Row], *, more: bool) -> _Group:
        now, tick_ms = self._world.clock.now(), self._world.settings.tick_seconds * 1000
        is_often = domain.is_tried(name, rows[0].expires_at - kept_ms(self._world), now, tick_ms)
        after = rows[-1].key
        if self._keeps_order(name):
            return _Group(name, rows, after, more, most_silent=1, together=1)
        first = self._world.random.below(len(rows))
        return _Group(name, [*rows[first:], *rows[:first]], after, more, MOST_SILENT if is_often else 1, 1)

    def _try_for_a_turn(self, group: _Group) -> bool:
        """Try rows of a group for the time of a turn; returns whether it has another one."""
        ends_at = self._world.clock.now() + TURN_MS
        while group.silent < group.most_silent and (group.rows or self._reads_on(group)):
            if not self._has_time or self._world.clock.now() >= ends_at:
                return True
            some = group.rows[: group.together]
            del group.rows[: len(some)]
            done = self._tried(group, some)
            if done:
                # What is released leaves afterwards: if this is lost, it is released once more.
                self._world.timeline.forget(self._partition_id, done)
            group.left += len(some) - len(done)
            all_done = len(done) == len(some) and not self._keeps_order(group.name)
            group.together = min(2 * group.together, MOST_TOGETHER) if all_done else 1
        return False

    def _reads_on(self, group: _Group) -> bool:
        """Read the group's next page, or what this look has added if none of the others stays."""
        if not group.more and (group.left or group.name not in self._added):
            return False
        if not group.more:
            self._added.discard(group.name)
            group.after = group.name
        page = self._read(group.after, group.name + keys.END)
        group.rows, group.more = list(page.rows), page.more
        group.after = page.rows[-1].key if page.rows else group.after
        return bool(group.rows)

    def _tried(self, group: _Group, rows: Sequence[Row]) -> list[str]:
        """Try rows of a group; returns the keys of those that are done."""
        told = [kept_in(row.key) for row in rows]
        found = self._world.timeline.find([(self._visit.lease.partition_id, row_key) for row_key, _ in told])
        done: list[str] = []
        whole: list[tuple[str, Row]] = []
        for row, one, (_, tag) in zip(rows, found, told, strict=True):
            if one is not None and not tag and not self._is_at_end(one):
                whole.append((row.key, one))
            elif self._may_try(group):
                is_done = self._try_alone(row.key, one, tag)
                done += [row.key] * is_done
                group.silent += not is_done
        return done + self._released(group, whole)

    def _released(self, group: _Group, whole: Sequence[tuple[str, Row]]) -> list[str]:
        """Release whole rows together, and the rest of them in halves; returns the keys of those that are done."""
        if not whole or not self._may_try(group):
            return []
        (some, *_) = portions([row for _, row in whole])
        done: list[str] = []
        with contained(self._world.environment.faults, self._note_left, whole[0][0]):
            answers = self._ways.release(self._visit, some, "")
            done = [key for (key, _), again in zip(whole, answers, strict=False) if self._settle(key, again)]
        left = [one for one in whole if one[0] not in done]
        if len(whole) == 1:
            group.silent += len(left)
            return done
        half = (len(left) + 1) // 2
        return done + self._released(group, left[:half]) + self._released(group, left[half:])

    def _try_alone(self, key: str, found: Row | None, tag: str) -> bool:
        """Try one row by itself; True if it is done. Whatever it raises, the others go on."""
        with contained(self._world.environment.faults, self._note_left, key):
            if found is None:
                lose(self._visit, key, ROW_GONE)
                return True
            if not self._is_at_end(found):
                (again,) = self._ways.release(self._visit, [found], tag)
                return self._settle(key, again)
            # End what has been tried for as long as its row lives.
            if not tag:
                return self._ways.end(self._visit, found)
            lose(self._visit, key, "neither its queue nor a table took it")
            return True
        return False

    def _settle(self, key: str, again: Again) -> bool:
        """Give what has to come again of a row rows of its own; True if nothing is left of the row itself."""
        others = keyed(self._visit, again.untold)
        is_left = not again.is_done or others.pop(key, None) is not None
        is_done = not is_left and put_in_quarantine(self._visit, others)
        self._added.update(map(group_in, others if is_done else ()))
        return is_done

    def _is_at_end(self, found: Row) -> bool:
        return domain.is_at_end(found.expires_at, self._world.clock.now(), self._world.retention.rows_ms)

    def _keeps_order(self, name: str) -> bool:
        return self._visit.keeps_order and name.startswith(domain.HOLDING)

    def _may_try(self, group: _Group) -> bool:
        return group.silent < group.most_silent and self._has_time

    @property
    def _has_time(self) -> bool:
        return self._visit.has_time and self._world.clock.now() < self._until

    def _note_left(self, why_not: str) -> None:
        extra = {"action": "quarantine_left", "shard": self._visit.lease.partition_id}
        log.warning("a row stays in the quarantine: %s", why_not, extra=extra)

    def _read(self, after: str, end: str) -> Page:
        return self._world.timeline.read(self._partition_id, after, end, PAGE)


def lose(visit: Visit, key: str, why_not: str) -> None:
    """Tell in the log alone what can be kept no longer."""
    told = "a death is not recorded, and its row is passed"
    visit.world.environment.faults.lost("death_not_recorded", told, why_not, key=key)
