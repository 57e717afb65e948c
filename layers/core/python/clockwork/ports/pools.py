"""The ports of pools: the settings by admins, the checkpoints of their jobs, and the notes of their workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from clockwork.domain.errors import Unreadable
from clockwork.domain.pools.checkpoint import Checkpoint
from clockwork.domain.pools.floods import Overflow
from clockwork.domain.pools.pool import Pool
from clockwork.domain.pools.presence import Present


class Pools(Protocol):
    """The pools as admins have written them, changed only by compare-and-set on their revision."""

    def get(self, name: str, *, fresh: bool = False) -> Pool | None:
        """The pool, or None. It may be as old as the adapter's stated cache time, unless it is to be `fresh`."""

    def put(self, pool: Pool, *, replaces: int) -> bool:
        """Create or replace the pool, if the stored one is at the revision `replaces` (0: if there is none).

        False: the stored one is at another revision, and stays. A pool that is stored as it is to be counts as
        replaced.
        """

    def note_overflow(self, name: str, note: Overflow) -> None:
        """Keep this note for the pool's senders, in place of the last one."""

    def overflow(self, name: str, *, fresh: bool = False) -> Overflow | None:
        """The note that was kept last; as old as the adapter's stated cache time, unless it is to be `fresh`.

        None: there is none, or it cannot be read.
        """


class Checkpoints(Protocol):
    """The last checkpoint of each execution that keeps any, changed only by compare-and-set on its revision."""

    def get(self, execution_id: str) -> Checkpoint | None:
        """The checkpoint, or None."""

    def put(self, before: Checkpoint | None, after: Checkpoint) -> bool:
        """Replace the checkpoint `before` (None: there is none). False if another one is stored, which stays.

        A stored checkpoint that equals the wanted one counts as replaced.
        """


class Workers(Protocol):
    """The notes of each pool's workers, hour by hour, until they expire."""

    def note(self, seen: Present) -> None:
        """Keep this note of a worker, in place of its note of the same hour."""

    def list(self, pool: str, limit: int) -> Sequence[Present | Unreadable]:
        """Up to `limit` notes of the pool, the latest hours first. Some may have expired.

        An Unreadable stands for a note that this version cannot read.
        """
