"""Records and the releases that they wait for: the release that goes on from a record, ends with it, or fences it.

For a pool the watch is sent before the claim is written, so that every claim has a watch. The call between the two may
stall until the watch arrives. The stalled claim must then fail, since nobody would find its end. A watch that finds its
attempt unclaimed therefore raises the revision on which such a claim rests: the watch fences the claim. A later claim
sends a watch of its own.
"""

from __future__ import annotations

import msgspec

from clockwork.domain.executions import FINAL, WAITING, End, Execution, State
from clockwork.domain.fires.hints import hint_of
from clockwork.domain.releases import LONGEST_DELAY_SECONDS, Check, Deliver, Release, Watch
from clockwork.domain.waits import NO_WAITS, Waiting
from clockwork.targets.pool import PoolTarget

#: The time (ms) after an attempt's own check at which checks of earlier attempts look at that attempt. The time exceeds
#: the longest delay of a queue, so that all of these checks wait in one row.
BEHIND_MS = (LONGEST_DELAY_SECONDS + 100) * 1000


def goes_on(stored: Execution, release: Release) -> bool:
    """Whether the release goes on from a record that a change or a pause ended: its revision is the one that may."""
    ended_by = stored.end.ended_by
    if stored.state not in FINAL or ended_by is None or release.revision is None:
        return False
    return release.revision >= ended_by


def has_ended_for(release: Release, stored: Execution | None) -> bool:
    """Whether the execution has ended by its record, and the release may not go on from there."""
    return stored is not None and stored.is_final and not goes_on(stored, release)


def reopened(stored: Execution) -> Execution:
    """The ended record as it waits again, with a fresh budget of attempts."""
    return msgspec.structs.replace(
        stored,
        state=State.PENDING,
        reason=None,
        budget=stored.budget.after(stored.attempt),
        end=End(report=stored.end.report),
    )


def is_awaited(release: Release, stored: Execution) -> bool:
    """Whether the record waits for exactly this release, so that nobody else works on the execution.

    A parked execution waits for the row in its client's own partition.
    """
    is_waiting = stored.state in WAITING and stored.state is not State.PARKED
    return (is_waiting or goes_on(stored, release)) and release.attempt == stored.attempt + 1


def is_watched(release: Release, stored: Execution) -> bool:
    """Whether the release is the watch of the attempt that runs by the record: it finds the end of its claim."""
    return isinstance(release, Watch) and stored.state is State.RUNNING and release.attempt == stored.attempt


def fences(watch: Watch, stored: Execution | None) -> bool:
    """Whether the watch is that of an attempt of a pool that nobody has claimed, going by the record.

    `stored` is no claim: it waits, or it does so for this watch although it has ended for earlier releases.
    """
    is_of_pool = isinstance(watch.occurrence.target, PoolTarget)
    return is_of_pool and (stored is None or watch.attempt == stored.attempt + 1)


def fenced(watch: Watch, stored: Execution | None, expires_at: int) -> Execution:
    """The record one revision on, and else as it was. Where there is none, one that waits for the watch's attempt."""
    if stored is not None:
        return stored.changed()
    return watch.first_record(State.PENDING, expires_at, waits=Waiting(watch.occurrence.due_since))


def is_used(ticket: Deliver, stored: Execution | None) -> bool:
    """Whether the attempt of a worker's ticket has ended, and the record waits for another one.

    The process that ended the attempt has sent the next ticket. If the process died before, the attempt's watch sends
    it, or the message of a deliverer. If a used ticket did so as well, each attempt would add a duplicate.
    """
    if stored is None or stored.state not in WAITING:
        return False
    return ticket.attempt <= stored.attempt


def missed_at(check: Check, stored: Execution | None, wait_ms: int) -> int | None:
    """The instant (ms) from which the ticket of a check counts as lost, since no worker has gone on. 0: now.

    None: never.

    A worker's claim has a watch. A deliverer's claim, of a job that had another target before, has only the ticket that
    its message became. The check of an ended attempt also covers the next attempt, since the process that recorded the
    end may have died before it sent the next ticket. The check then waits again for `wait_ms` from that attempt's
    instant on, and a little longer: a ticket that was sent has a check of its own by then.
    """
    if stored is None:
        return 0
    if stored.state is State.RUNNING:
        return None if stored.is_accepted or check.attempt > stored.attempt else 0
    if stored.state not in WAITING and not goes_on(stored, check):
        return None
    if check.attempt <= stored.attempt:
        return (stored.waits.next_attempt_at or 0) + wait_ms + BEHIND_MS
    return 0 if check.attempt == stored.attempt + 1 else None


def again_for(release: Release, attempt: int, run_at: int, meets: int = 0) -> Deliver:
    """The release for this attempt at `run_at` (ms). `meets`: how often it met the live claim of a duplicate."""
    again, waits = release.for_attempt(attempt), NO_WAITS
    if attempt == release.attempt:
        waited = release.waited_by(release.run_at)
        waits = msgspec.structs.replace(again.waits, waited=waited, held=None, permits=0, meets=meets)
    # What another attempt waited for is in its record by now.
    occurrence = hint_of(release.occurrence) if release.follows_job else release.occurrence
    return msgspec.structs.replace(again, run_at=run_at, waits=waits, occurrence=occurrence)


def following(release: Release, stored: Execution, run_at: int) -> Deliver:
    """The release for the attempt behind that of the record, at `run_at` (ms).

    It was parked no less often than its record says: so it is not taken for a duplicate from before.
    """
    again = again_for(release, stored.attempt + 1, run_at)
    parkings = max(again.travels.parkings, stored.parking.number)
    return msgspec.structs.replace(again, travels=msgspec.structs.replace(again.travels, parkings=parkings))


def caught_up(release: Deliver, stored: Execution | None) -> Deliver:
    """The release for the attempt that its record waits for, if that comes behind the release's own.

    A process may have recorded the end of an attempt, and died before it sent the next release.
    """
    if stored is None or stored.state not in WAITING or release.attempt > stored.attempt:
        return release
    return following(release, stored, max(release.run_at, stored.waits.next_attempt_at or 0))


def is_left_behind(release: Deliver, stored: Execution) -> bool:
    """Whether a release was parked before the row in which its execution lies by its record.

    Only the message of that earlier row, or a redrive, can have been parked once more.
    """
    is_parked = stored.state is State.PARKED and stored.parking.revision == release.revision
    return is_parked and release.travels.parkings < stored.parking.number
