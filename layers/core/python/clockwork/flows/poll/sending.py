"""Send the releases of a visit: aligned to a grid of instants where that pays, otherwise at once.

A visit that works ahead pools its releases, page by page. At its end it sends the pool in one sweep of the next second
(`domain.messages.alignment`): each message whole seconds before its due instant, less a margin. The cursor passes the
rows of a sweep when all its releases are sent.

A full pool is swept, too, and later releases begin the next pool. Releases that are due soon cannot wait: they are sent
at once, together with the pool, and so is a backlog. A pool that is too small does not wait, either.

How it fails. A poller that dies within a sweep has committed no part of it: the next one reads the rows again, and may
send at most a pool a second time. A poller that wakes up too late for an instant of the grid, and not just whole
seconds late, counts delays from the clock. Its messages then arrive up to a second early, as without a grid. If sends
are slow, the sweep ends while lease and invocation last, and the cursor stops at the first row with an unsent release.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

from clockwork.domain.messages.alignment import SECOND_MS, Aligned, Bin, Sweep, plan_sweep
from clockwork.domain.messages.bundles import Bundle, plan_bundles
from clockwork.domain.releases import Refused, Release
from clockwork.flows.containment import contained
from clockwork.flows.poll.visit import Visit

log = logging.getLogger(__name__)

#: A visit with little that could wait looks after this time (ms) whether the visits beside it have more.
SETTLE_MS = 50
#: Messages of a sweep that are sent in one call, between two looks at the clock: as many as go out together.
AT_ONCE = 100
#: A sweep begins with at least so much time left (ms): its second, and some for the calls.
LEAST_TIME_MS = 3 * SECOND_MS


class Sent(msgspec.Struct, frozen=True):
    """The unsent releases, by index: the queue refused them, or there was no time."""

    refused: Sequence[Refused] = ()
    unsent: Sequence[int] = ()


def send_at_once(visit: Visit, releases: Sequence[Release]) -> Sent:
    """Send releases now, each with the delay that is left."""
    return Sent(visit.world.releases.send(releases, visit.world.clock.now()) if releases else ())


def send_aligned(visit: Visit, releases: Sequence[Release]) -> Sent:
    """Send releases in a sweep of the next second; at once what is due soon, and all of it if waiting does not pay."""
    planned = _planned(visit, releases)
    if planned is None or not _weigh_wait(visit, planned.sweep.waiting):
        return send_at_once(visit, releases)
    bundles, exact, sweep = planned.bundles, planned.exact, planned.sweep
    sending = _Sending(visit, releases, bundles)
    waiting = {exact[index] for one in sweep.bins for index in one.indexes}
    sending.send([number for number in range(len(bundles)) if number not in waiting], None)
    for one in sweep.bins:
        visit.wait_until(one.at)
        sending.send_bin(Bin(one.at, tuple(exact[index] for index in one.indexes)))
    return Sent(sorted(sending.refused, key=lambda one: one.index), sending.unsent)


class _Planned(msgspec.Struct, frozen=True):
    """The messages of a sweep; the numbers of the `exact` ones, which are held for their instants; and when they go."""

    bundles: Sequence[Bundle]
    exact: Sequence[int]
    sweep: Sweep


def _planned(visit: Visit, releases: Sequence[Release]) -> _Planned | None:
    """The sweep of releases. None if one of them makes its planning raise: sent at once, it fails alone."""
    now = visit.world.clock.now()
    with contained(visit.world.environment.faults, _log_unaligned, visit.lease.partition_id):
        bundles = plan_bundles(releases, now)
        # What may come a second late is not held, whenever it is sent.
        exact = [number for number, bundle in enumerate(bundles) if bundle.is_exact]
        return _Planned(bundles, exact, plan_sweep([bundles[number].run_at for number in exact], now, visit.grid))
    return None


def _log_unaligned(why_not: str) -> None:
    log.error("a visit sends at once: %s", why_not, extra={"action": "not_aligned"})


def _weigh_wait(visit: Visit, waiting: int) -> bool:
    """Count the messages that wait; True if waiting for them pays, and there is time for it.

    Visits of one invocation count together, and none waits for all others: one with few messages looks once more.
    """
    visit.waits.add(waiting)
    if waiting > 0 and not visit.waits.pay and visit.is_among_others:
        visit.wait_until(visit.world.clock.now() + SETTLE_MS)
    return waiting > 0 and visit.waits.pay and visit.time_left_ms >= LEAST_TIME_MS


class _Sending:
    """The sends of one sweep. Messages are numbered as `plan_bundles` made them, so none is split between two sends."""

    def __init__(self, visit: Visit, releases: Sequence[Release], bundles: Sequence[Bundle]) -> None:
        self._visit, self._releases, self._bundles = visit, releases, bundles
        self.refused: list[Refused] = []
        self.unsent: list[int] = []

    def send_bin(self, one: Bin) -> None:
        """Send the messages of a bin, whose instant has come, as long as there is time."""
        grid = self._visit.grid
        for first in range(0, len(one.indexes), AT_ONCE):
            now = self._visit.world.clock.now()
            aligned = Aligned(grid.counts_from(one.at, now), grid.margin_ms)
            self.send(one.indexes[first : first + AT_ONCE], aligned)

    def send(self, numbers: Sequence[int], aligned: Aligned | None) -> None:
        """Send messages by their numbers."""
        indexes = sorted(index for number in numbers for index in self._bundles[number].indexes)
        if not indexes:
            return
        if self._visit.time_left_ms <= 0:
            self.unsent += indexes
            return
        world = self._visit.world
        going = [self._releases[index] for index in indexes]
        answers = world.releases.send(going, world.clock.now(), aligned)
        self.refused += [msgspec.structs.replace(one, index=indexes[one.index]) for one in answers]
