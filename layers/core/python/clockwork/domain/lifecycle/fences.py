"""Fences: a watch that finds its attempt unclaimed spoils the claim that may still be on its way.

For a pool the watch is sent before the claim is written, so that no claim is ever unwatched. If the call between the
two stalls for so long that the watch comes first, its claim must fail: nobody would find its end. So the watch raises
the revision on which such a claim rests. Who claims later has to send a watch of its own.
"""

from __future__ import annotations

from clockwork.domain.executions import Execution, State
from clockwork.domain.jobs import PoolTarget
from clockwork.domain.releases import Release


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
    return release.first_record(State.PENDING, expires_at, attempt=release.attempt - 1, reason="waits for a worker")
