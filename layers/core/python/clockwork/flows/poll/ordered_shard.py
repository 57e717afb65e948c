"""Poll an ordered shard: release no job before it is due, so that none overtakes a job that is created later.

The poller publishes now as the horizon. A job that is created at least a moment before it is due is therefore left to
the one poller, which reads the shard in the order of its keys. That poller stays for as long as work is near.
"""

from __future__ import annotations

import logging

from clockwork.domain import keys
from clockwork.flows.outages import tolerated
from clockwork.flows.poll.looking import look_again
from clockwork.flows.poll.quarantine import read_held
from clockwork.flows.poll.release import WAYS
from clockwork.flows.poll.shard import drain
from clockwork.flows.poll.visit import STOP_MARGIN_MS, PollReport, Visit, begin_visit, commit
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: A poller that waits reads the shard this often, for work that has come meanwhile (ms).
LOOK_EVERY_MS = 500
#: This long before its end a poller that still has work near starts its successor (ms).
HAND_OVER_MS = 8_000
#: A successor checks this often whether the lease is free (ms), and gives up this long after it began (ms).
TAKE_EVERY_MS = 200
MOST_TAKING_MS = 30_000
#: A poller that stays looks at the quarantine this often (ms).
QUARANTINE_EVERY_MS = 5_000


def poll_ordered_shard(
    world: World, partition_id: str, deadline_at: int, *, succeeds: bool = False, near_ms: int | None = None
) -> PollReport:
    """Release the occurrences that are due, and stay until none is due within `near_ms`.

    `near_ms` None: the longest time between two ticks. `succeeds`: this poller is the successor of one that is about to
    end, so it waits for the lease. The poller commits and stops before `deadline_at` (ms).
    """
    near_ms = 2 * world.settings.tick_seconds * 1000 if near_ms is None else near_ms
    visit = _begin(world, partition_id, deadline_at, succeeds)
    if visit is None:
        return PollReport(outcome="no_lease")
    stay = _Stay(visit, near_ms)
    while True:
        # 1. Release the occurrences that are due, in their order behind what is in the quarantine, then wait for those
        #    that are near.
        visit.report.outcome = stay.release()
        if visit.report.outcome == "dry":
            visit.report.outcome = stay.wait()
        if visit.report.outcome == "due":
            continue
        if visit.report.outcome == "out_of_time":
            stay.hand_over()
        if visit.report.outcome != "dry":
            return visit.report
        # 2. Nothing is near. Release the lease, and only then read for the last time: a create that still saw the lease
        #    started no poller, so this read must see its row.
        if not commit(visit, visit.lease.cursor, release_lease=True):
            visit.report.outcome = "fenced"
            return visit.report
        if not stay.is_near():
            return visit.report
        again = begin_visit(world, partition_id, deadline_at, 0)
        if again is None:
            return visit.report
        visit.lease, visit.committed_at = again.lease, again.committed_at


class _Stay:
    """A poller's wait between one due occurrence and the next."""

    def __init__(self, visit: Visit, near_ms: int) -> None:
        self._visit = visit
        self._near_ms = near_ms
        self._handed_over = False
        self._look_at = 0

    def wait(self) -> str:
        """Return `due` once a row is due, with the horizon moved to now; `dry` if none is near; or why to stop."""
        visit = self._visit
        clock, settings = visit.world.clock, visit.world.settings
        while (due_at := self._next_at()) is not None:
            now = clock.now()
            if now > visit.deadline_at - STOP_MARGIN_MS:
                return "out_of_time" if commit(visit, visit.lease.cursor, release_lease=True) else "fenced"
            if due_at <= now:
                return "due" if commit(visit, visit.lease.cursor) else "fenced"
            if now > visit.deadline_at - HAND_OVER_MS:
                self.hand_over()
            if now >= visit.committed_at + settings.commit_seconds * 1000 and not commit(visit, visit.lease.cursor):
                return "fenced"
            clock.hold_until(min(due_at, now + LOOK_EVERY_MS))
        return "dry"

    def release(self) -> str:
        """Release what is due; returns why it ended. The quarantine comes first, if the last look is long ago."""
        visit = self._visit
        if self._look_at == 0 and not read_held(visit):
            return "stuck" if commit(visit, visit.lease.cursor, release_lease=True) else "fenced"
        if visit.world.clock.now() >= self._look_at:
            look_again(visit, WAYS)
            self._look_at = visit.world.clock.now() + QUARANTINE_EVERY_MS
        return drain(visit, release_lease=False)

    def is_near(self) -> bool:
        """Whether a row is due already, or soon."""
        return self._next_at() is not None

    def hand_over(self) -> None:
        """Start the successor, once. It takes the lease as soon as this poller has released it."""
        if self._handed_over:
            return
        self._handed_over = True
        partition_id = self._visit.lease.partition_id
        # Without a successor the next tick starts a poller: late, not lost.
        with tolerated(
            self._visit.world, log, "no successor: %s", {"action": "poller_not_started", "shard": partition_id}
        ):
            self._visit.world.invoker.poll(partition_id, succeeds=True)

    def _next_at(self) -> int | None:
        """When the next row is due or the next look (ms); None if none is soon. This read releases nothing."""
        visit = self._visit
        until = keys.edge_key(visit.world.clock.now() + self._near_ms)
        rows = visit.world.timeline.read(visit.lease.partition_id, visit.lease.cursor, until, 1).rows
        # What the quarantine holds up is looked at without waiting for a row.
        looks = [self._look_at] if visit.silence.held else []
        return min([*looks, *(keys.instant_of(row.key) for row in rows)], default=None)


def _begin(world: World, partition_id: str, deadline_at: int, succeeds: bool) -> Visit | None:
    began_at = world.clock.now()
    while True:
        now = world.clock.now()
        is_free = not succeeds or world.shards.get([partition_id])[partition_id].lease_until < now
        visit = begin_visit(world, partition_id, deadline_at, 0) if is_free else None
        if visit is not None or not succeeds or now > began_at + MOST_TAKING_MS:
            return visit
        world.clock.hold_until(now + TAKE_EVERY_MS)
