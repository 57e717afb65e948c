"""Records and the releases that they wait for: which release goes on from a record that has one, or ends with it.

And which one fences it. For a pool the watch is sent before the claim is written, so that no claim is ever unwatched.
If the call between the two stalls for so long that the watch comes first, its claim must fail: nobody would find its
end. So a watch that finds its attempt unclaimed raises the revision on which such a claim rests. Who claims later has
to send a watch of its own.
"""

from __future__ import annotations

import msgspec

from clockwork.domain.executions import FINAL, WAITING, Execution, State
from clockwork.domain.fires.hints import hint_of
from clockwork.domain.jobs import PoolTarget
from clockwork.domain.releases import LONGEST_DELAY_SECONDS, Release

#: So much later than a check of its own the checks of earlier attempts look after an attempt (ms): further away than a
#: queue delays, so that they wait in a row, which is the same for all of them.
BEHIND_MS = (LONGEST_DELAY_SECONDS + 100) * 1000


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


def is_used(ticket: Release, stored: Execution | None) -> bool:
    """Whether the attempt of a worker's ticket has ended, and the record waits for another one.

    Whoever ended it has sent that one's ticket. If they died before, its watch does so, or the message of a deliverer.
    A ticket that saw to it as well would become a copy of the next one with each attempt.
    """
    if stored is None or stored.state not in WAITING:
        return False
    return ticket.attempt <= stored.attempt


def missed_at(check: Release, stored: Execution | None, wait_ms: int) -> int | None:
    """When the ticket of a check counts as lost (ms; 0: it does), since no worker has gone on. None: nothing is lost.

    A worker's claim has a watch. A deliverer's, of a job that went to another target before, has nothing but the ticket
    that its message became. The check of an attempt that has ended sees to the next one, too: whoever recorded the end
    may have died before the next ticket was sent. So it waits for as long again (`wait_ms`), from that one's instant
    on, and a little longer: a ticket that was sent has a check of its own by then.
    """
    if stored is None:
        return 0
    if stored.state is State.RUNNING:
        return None if stored.is_accepted or check.attempt > stored.attempt else 0
    if stored.state not in WAITING and not goes_on(stored, check):
        return None
    if check.attempt <= stored.attempt:
        return (stored.next_attempt_at or 0) + wait_ms + BEHIND_MS
    return 0 if check.attempt == stored.attempt + 1 else None


def again_for(release: Release, attempt: int, run_at: int, meets: int = 0) -> Release:
    """The release for this attempt at `run_at` (ms). `meets`: how often it met the live claim of another copy."""
    paced = release.paced and attempt == release.attempt
    # What an attempt waited for is in its record by the time another follows.
    waited, line = (release.waited_by(release.run_at), release.line) if attempt == release.attempt else (None, None)
    is_whole = release.revision is None or release.as_it_was
    occurrence = release.occurrence if is_whole else hint_of(release.occurrence)
    after = msgspec.structs.replace(release.for_attempt(attempt), run_at=run_at, paced=paced, waits=0, line=line)
    return msgspec.structs.replace(after, waited=waited, held=None, occurrence=occurrence, meets=meets)


def caught_up(release: Release, stored: Execution | None) -> Release:
    """The release for the attempt that its record waits for, if that comes behind the release's own.

    Whoever had its message may have recorded the end of an attempt, and died before the next one was sent.
    """
    if stored is None or stored.state not in WAITING or release.attempt > stored.attempt:
        return release
    return again_for(release, stored.attempt + 1, max(release.run_at, stored.next_attempt_at or 0))
