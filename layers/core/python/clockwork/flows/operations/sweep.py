"""Run the operations of all clients, in turns: the client whose calls have taken the least time is next.

How it fails. A client's calls fail, or take long: it waits, and the others have their turns meanwhile. A list of open
operations cannot be read: that client's operations wait, and a line of the log names it. There are more clients than a
sweep has time for: each sweep begins with another one.
"""

from __future__ import annotations

import logging
from collections import deque

import msgspec

from clockwork.domain.errors import Unreadable
from clockwork.domain.requests.operations import Open
from clockwork.flows.operations.turn import turn
from clockwork.flows.outages import tolerated
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: One call may take this long at the most (ms), before a sweep has to end.
STOP_MARGIN_MS = 10_000


class OperationsReport(msgspec.Struct):
    """How many turns operations had, and how many operations wait for the next sweep."""

    turns: int = 0
    left: int = 0


class _Line:
    """The operations of one client in this sweep. `used_ms`: the time that its turns took."""

    def __init__(self, of: Open) -> None:
        self.client_id = of.client_id
        #: When the next turn of each may begin (ms), its id, and since when it is open (ms).
        self.waiting = deque((0, one, since) for one, since in sorted(of.since.items()))
        self.used_ms = 0

    @property
    def ready_at(self) -> int:
        return min(at for at, _, _ in self.waiting)

    def next(self, now: int) -> tuple[int, str, int]:
        """Take out the first operation that is ready."""
        for _ in range(len(self.waiting)):
            one = self.waiting.popleft()
            if one[0] <= now:
                return one
            self.waiting.append(one)
        raise LookupError(self.client_id)


def run_operations(world: World, deadline_at: int, *, waits: bool = True) -> OperationsReport:
    """Run operations, one call's worth at a time, until `deadline_at` (ms) or the next sweep. Raises Unavailable.

    `waits`: stay for operations that wait for their rate.
    """
    report = OperationsReport()
    found = [_Line(one) for one in world.operations.open() if one.since]
    first = world.random.below(len(found)) if found else 0
    lines = [*found[first:], *found[:first]]
    # The next sweep has begun by then, and goes on with what waits.
    last_at = min(deadline_at - STOP_MARGIN_MS, world.clock.now() + world.settings.sweep_seconds * 1000)
    while lines and (now := world.clock.now()) < last_at:
        ready = [line for line in lines if line.ready_at <= now]
        if not ready:
            ready_at = min(line.ready_at for line in lines)
            if ready_at >= last_at or not waits:
                break
            world.clock.hold_until(ready_at)
            continue
        line = min(ready, key=lambda one: one.used_ms)
        report.turns += 1
        report.left += _turn(world, line, now)
        if not line.waiting:
            lines.remove(line)
    report.left += sum(len(line.waiting) for line in lines)
    return report


def _turn(world: World, line: _Line, now: int) -> bool:
    """One turn of a client. Whether the operation waits for the next sweep, since its turn failed."""
    _, operation_id, since = line.next(now)
    extra = {"action": "operation_not_run", "clientId": line.client_id, "operationId": operation_id}
    is_failed = True
    with tolerated(world, log, "an operation waits for the next sweep: %s", extra, Unreadable):
        ready_at = turn(world, line.client_id, operation_id, since)
        is_failed = False
        if ready_at is not None:
            line.waiting.append((ready_at, operation_id, since))
    line.used_ms += world.clock.now() - now
    return is_failed
