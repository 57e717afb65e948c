"""Checkpoints: the value that an attempt of a pool's job keeps for the next one, and the fence for its writers."""

from __future__ import annotations

import msgspec


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The last checkpoint of an execution. `value` is JSON as it was sent."""

    execution_id: str
    attempt: int
    sequence: int
    value: bytes
    #: How many times it was written, for compare-and-set.
    revision: int = 1
    #: No attempt before this one may write it any more: that one has been claimed.
    fence: int = 1
    #: When TTL may delete it (ms).
    expires_at: int = 0


def kept(stored: Checkpoint | None, new: Checkpoint) -> Checkpoint | None:
    """The checkpoint in place of the stored one; None if it comes too late.

    It does if a later attempt has been claimed, or a later checkpoint was kept. The same one again is kept again.
    """
    if stored is None:
        return new
    if new.attempt < stored.fence or (new.attempt, new.sequence) < (stored.attempt, stored.sequence):
        return None
    fence = max(stored.fence, new.attempt)
    return msgspec.structs.replace(new, revision=stored.revision + 1, fence=fence)


def fenced(stored: Checkpoint, attempt: int) -> Checkpoint:
    """The checkpoint as the attempt that was claimed now leaves it: those before it write no more."""
    if stored.fence >= attempt:
        return stored
    return msgspec.structs.replace(stored, revision=stored.revision + 1, fence=attempt)
