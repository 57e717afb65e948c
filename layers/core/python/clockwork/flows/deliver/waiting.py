"""Waiting of an item that is not done: sent anew to its queue or parked (plain queue), or in its place (ordered queue).

For a plain queue the deliverer sends each release again for its `run_at`, and parks the items that a pause or an open
circuit holds back. In an ordered queue a message that is sent anew would come behind its followers. The message fails
instead, and is hidden until `back_at`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from clockwork.domain.errors import ClockworkError
from clockwork.domain.executions import WAITING
from clockwork.domain.lifecycle.parking import LONGEST_PARKING_MS, NOTED_MS, parked_row
from clockwork.domain.limits.circuits import host_of
from clockwork.domain.ordering import is_noted, paced_execution, patience
from clockwork.domain.releases import Deliver, Release
from clockwork.domain.storage.retention import PARKED_MS
from clockwork.domain.timeline import Row
from clockwork.flows.containment import why
from clockwork.flows.deliver.items import DeliverReport, Item, Received
from clockwork.flows.world import World

#: The time (ms) after which a message that failed for a passing reason is received again, at first.
FAILED_AGAIN_MS = 5_000
#: The interval (ms) at which a head behind a pause or an open circuit is received again, at first.
LOOK_AGAIN_MS = 60_000
#: Items that fail because they could not be made to wait, each with the reason.
Failing = Sequence[tuple[Received, str]]


class Waiting(Protocol):
    """How the items of one batch wait. `report` is the batch's; `resends`: an item that waits is sent anew."""

    report: DeliverReport
    resends: bool

    def failed(self, item: Received) -> None:
        """Note that the item's message fails, and comes back."""

    def later(self, items: Sequence[Item]) -> Failing:
        """Let each item come again for its release's `run_at`."""

    def held(self, items: Sequence[Item], behind_circuit: bool = False) -> Failing:
        """Set aside items of one client that a pause or an open circuit holds back."""

    def follow(self, item: Received, release: Release) -> None:
        """Let `release` follow the item, once the item's message is done."""

    def patience(self, item: Received) -> int:
        """The factor by which the item's wait exceeds its first wait."""


class Resent:
    """`Waiting` in a plain queue. `following` is to be sent before the items' messages are acknowledged."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.resends = True
        self.report = DeliverReport()
        self.following: list[tuple[Received, Release]] = []

    def failed(self, item: Received) -> None:
        """Nothing to do: the queue shows the message again by itself."""

    def later(self, items: Sequence[Item]) -> Failing:
        """Send each release anew. Delays beyond the queue's longest one travel in such hops."""
        releases = [item.release for item in items]
        refused = self._world.releases.send(releases, self._world.clock.now()) if releases else ()
        self.report.deferred += len(items) - len(refused)
        return [(items[refusal.index], refusal.reason) for refusal in refused]

    def held(self, items: Sequence[Item], behind_circuit: bool = False) -> Failing:
        """Park each item in a row of its own, in its client's partition of parked rows."""
        client_id = items[0].release.occurrence.client_id
        try:
            self._put(client_id, [self._row_of(item.release, behind_circuit) for item in items])
        except Exception as error:  # noqa: BLE001 - whatever one row raises, the others are put
            if isinstance(error, ClockworkError) or len(items) == 1:
                return [(item, why(self._world.environment.faults, error, client_id)) for item in items]
            return [failing for item in items for failing in self.held([item], behind_circuit)]
        self.report.parked += len(items)
        return ()

    def follow(self, item: Received, release: Release) -> None:
        """Note the release, to be sent once the batch is done."""
        self.following.append((item, release))

    def patience(self, _item: Received) -> int:
        """Always 1: a release that is sent anew counts its own waits."""
        return 1

    def _row_of(self, release: Deliver, behind_circuit: bool) -> Row:
        # The sweeper ends it after PARKED_MS, and may be late by as much as a row may wait for its poller.
        expires_at = self._world.clock.now() + PARKED_MS + self._world.retention.rows_ms
        host = host_of(release.occurrence.target) if behind_circuit else None
        return parked_row(release, host, expires_at=expires_at)

    def _put(self, client_id: str, rows: Sequence[Row]) -> None:
        """Write the note, then the rows: a note without rows is harmless, rows without a note would be forgotten."""
        began_at = self._world.clock.now()
        _note(self._world, client_id)
        self._world.timeline.put_new(rows)
        if self._world.clock.now() > began_at + LONGEST_PARKING_MS:
            # A sweep may have forgotten the note before there was a row under it.
            self._world.environment.parking_noted_until.pop(client_id, None)
            _note(self._world, client_id)


def _note(world: World, client_id: str) -> None:
    """Note that a client has something parked, unless this environment has done so lately."""
    now, noted_until = world.clock.now(), world.environment.parking_noted_until
    if now >= noted_until.get(client_id, 0):
        world.regulation.note_parked(client_id, now)
        noted_until[client_id] = now + NOTED_MS


class InPlace:
    """`Waiting` in an ordered queue. `back_at`: when each message that is not done is to come again (ms)."""

    def __init__(self, world: World, receive_counts: Mapping[str, int]) -> None:
        self._world = world
        self.resends = False
        self.report = DeliverReport()
        self._receive_counts = receive_counts
        self.back_at: dict[str, int] = {}

    def failed(self, item: Received) -> None:
        """Let the message come back a little later, and everything behind it."""
        self.back_at.setdefault(item.message_id, self._look_again_at(item, FAILED_AGAIN_MS))

    def later(self, items: Sequence[Item]) -> Failing:
        """Let each item wait for its `run_at`.

        Its slot under a rate cap, or its place in the line, is noted once. Otherwise the item would take another one
        next time.
        """
        failing = []
        for item in items:
            is_capped = item.release.waits.paced or item.release.waits.line is not None
            if is_capped and not is_noted(item.release, item.seen) and (why_not := self._note(item)) is not None:
                failing.append((item, why_not))
                continue
            self.report.deferred += 1
            self._wait(item, item.release.run_at)
        return failing

    def held(self, items: Sequence[Item], behind_circuit: bool = False) -> Failing:  # noqa: ARG002 - no rows here
        """Set no item aside: an ordered one waits where it is, and so do its followers."""
        self.report.parked += len(items)
        for item in items:
            self._wait(item, self._look_again_at(item, LOOK_AGAIN_MS))
        return ()

    def follow(self, item: Received, release: Release) -> None:
        """Send nothing: the release is this same message, later."""
        self._wait(item, release.run_at)

    def patience(self, item: Received) -> int:
        """1 at first, and more the more often the message has been received."""
        return patience(self._receive_counts[item.message_id])

    def _look_again_at(self, item: Received, first_ms: int) -> int:
        return self._world.clock.now() + first_ms * self.patience(item)

    def _wait(self, item: Received, until: int) -> None:
        self.report.fail_message(item.message_id)
        self.back_at[item.message_id] = until

    def _note(self, item: Item) -> str | None:
        """Note the slot or the place in line of an item in its record; returns why that failed, or None."""
        if item.seen is not None and item.seen.state not in WAITING:
            return None  # Another deliverer has claimed it, and the claim must stand: it takes another slot next time.
        noted = paced_execution(item.release, item.seen, self._world.execution_expires_at(self._world.clock.now()))
        saved = self._world.executions.save([(item.seen, noted)])[0]
        return None if saved.ok else saved.unavailable or "its record has changed"
