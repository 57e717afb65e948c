"""Records and the releases that they wait for: which release goes on from a record that has one, or ends with it.

And which one fences it. For a pool the watch is sent before the claim is written, so that no claim is ever unwatched.
If the call between the two stalls for so long that the watch comes first, its claim must fail: nobody would find its
end. So a watch that finds its attempt unclaimed raises the revision on which such a claim rests. Who claims later has
to send a watch of its own.
"""

from __future__ import annotations

import msgspec

from clockwork.domain.executions import FINAL, WAITING, Execution, State
from clockwork.domain.jobs import PoolTarget
from clockwork.domain.releases import Release


def goes_on(stored: Execution, release: Release) -> bool:
    """Whether the release goes on from a record that a change or a pause ended: its revision is the one that may."""
    if stored.state not in FINAL or stored.ended_by is None or release.revision is None:
        return False
    return release.revision >= stored.ended_by


def reopened(stored: Execution) -> Execution:
    """The ended record as it waits again, with a fresh budget of attempts."""
    return msgspec.structs.replace(
        stored,
        state=State.PENDING,
        ended_by=None,
        reason=None,
        budget_from=stored.attempt,
        handbacks=0,
        lost_workers=0,
        skipped=None,
    )


def is_awaited(release: Release, stored: Execution) -> bool:
    """Whether the record waits for this very release, so that nobody else has work of it in hand.

    A parked execution waits for the row in its client's own partition.
    """
    is_waiting = stored.state in WAITING and stored.state is not State.PARKED
    return (is_waiting or goes_on(stored, release)) and release.attempt == stored.attempt + 1


def is_watched(release: Release, stored: Execution) -> bool:
    """Whether the release is the watch of the attempt that runs by the record: it finds the end of its claim."""
    return release.watches and stored.state is State.RUNNING and release.attempt == stored.attempt


def fences(release: Release, stored: Execution | None) -> bool:
    """Whether the release is the watch of an attempt of a pool that nobody has claimed, going by the record.

    `stored` is no claim: it waits, or it does so for this release although it has ended for earlier ones.
    """
    is_watch = release.watches and isinstance(release.occurrence.target, PoolTarget)
    return is_watch and (stored is None or release.attempt == stored.attempt + 1)


def fenced(release: Release, stored: Execution | None, expires_at: int) -> Execution:
    """The record one revision on, and else as it was. Where there is none, one that waits for the watch's attempt."""
    if stored is not None:
        return stored.changed()
    due_since = release.occurrence.due_since
    return release.first_record(State.PENDING, expires_at, attempt=release.attempt - 1, next_attempt_at=due_since)


def is_missed(check: Release, stored: Execution | None, now: int) -> bool:
    """Whether the execution of a check still waits: no worker has gone on with it since its ticket was sent.

    A ticket of an earlier attempt sees to the next one, too, if whoever recorded its end died before the next ticket
    was sent. That is missed once its instant (ms) has passed. A worker's claim has a watch. A deliverer's, of a job
    that went to another target before, has nothing but the ticket that its message became.
    """
    if stored is None:
        return True
    if stored.state is State.RUNNING:
        return not stored.is_accepted and check.attempt <= stored.attempt
    if stored.state not in WAITING and not goes_on(stored, check):
        return False
    is_due = (stored.next_attempt_at or 0) <= now
    return check.attempt == stored.attempt + 1 or (check.attempt <= stored.attempt and is_due)
