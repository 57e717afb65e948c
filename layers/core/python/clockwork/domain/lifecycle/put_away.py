"""Parked occurrences that are put away undelivered: discarded by an admin, or parked for too long."""

from __future__ import annotations

import msgspec

from clockwork.domain.executions import FINAL, Execution, State
from clockwork.domain.lifecycle.attempts import plan_death
from clockwork.domain.releases import Release

#: The reason in the record of what an admin has discarded.
DISCARDED = "discarded while it was parked"
#: The reason in the record of what the sweeper ended.
TOO_LONG = "it was parked for 14 days, longer than anything stays parked"


class Discard(msgspec.Struct, frozen=True):
    """The end of a parked occurrence that is discarded, and the record to save for it; None if it is stored already."""

    end: Execution
    execution: Execution | None = None


def plan_discard(release: Release, expires_at: int, stored: Execution | None, reason: str = DISCARDED) -> Discard:
    """The CANCELLED record of a parked occurrence that is discarded, with the reason.

    What has ended, or runs, is left as it is. One without a record (level `none`) gets this one, kept until
    `expires_at` (ms).
    """
    if stored is not None and (stored.state in FINAL or stored.state is State.RUNNING):
        return Discard(stored)
    if stored is None:
        end = release.first_record(State.CANCELLED, expires_at, reason=reason)
    else:
        end = stored.changed(state=State.CANCELLED, reason=reason, next_attempt_at=None, occurrence=None)
    return Discard(end, end)


def plan_burial(release: Release, now: int, expires_at: int, stored: Execution | None) -> Discard:
    """The DEAD record of an occurrence that was parked for too long at `now` (ms), which its client may redrive.

    What has ended, or runs, is left as it is.
    """
    if stored is not None and (stored.state in FINAL or stored.state is State.RUNNING):
        return Discard(stored)
    dead = plan_death(release, stored, TOO_LONG, now, expires_at)
    return Discard(dead, dead)
