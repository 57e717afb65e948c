"""What is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.errors import Unreadable
from clockwork.domain.executions import DeadPage, Execution
from clockwork.domain.lifecycle.parking import Parked
from clockwork.domain.limits.circuits import Circuit
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.requests.create import KeyRow
from clockwork.domain.timeline import Lease, Page, Row, Shard, ShardStatus


class Timeline(Protocol):
    """What is due, row by row, in key order within each partition."""

    def put(self, rows: Sequence[Row]) -> None:
        """Store rows under ids that were never used before. All are stored when it returns.

        A row that got no definite answer is not sent again (the first copy might arrive after a cancel): Unavailable.
        """

    def put_new(self, rows: Sequence[Row]) -> None:
        """Store each row unless its key exists already, which is no error: then the stored row stays as it is."""

    def find(self, row_refs: Sequence[tuple[str, str]]) -> Sequence[Row | None]:
        """The rows at (partition_id, key), in the order asked for; None where there is none."""

    def read(self, partition_id: str, after: str, until: str, limit: int) -> Page:
        """The rows with `after < key <= until` in key order, at most `limit`. `more` is False only if none is left."""

    def forget(self, partition_id: str, keys: Sequence[str]) -> None:
        """Delete rows that have served their purpose and that nobody puts again. A missing one is no error."""

    def cancel(self, partition_id: str, key: str, element: int) -> bool:
        """Mark one element of a row as cancelled; False if there is no such row (none is made)."""


class Shards(Protocol):
    """The registry of which shards exist, and each shard's lease, cursor and horizon."""

    def list(self) -> Sequence[str]:
        """The partitionIds of all registered shards but those that have LEFT, in order."""

    def all(self) -> Sequence[Shard]:
        """All that were ever registered, as they are, in order."""

    def register(self, partition_id: str, status: ShardStatus = ShardStatus.USED) -> None:
        """Make the shard's row unless it exists."""

    def change(self, shard: Shard, status: ShardStatus) -> bool:
        """Write the shard's status, `changes` + 1, unless it was written since the shard was read: then False."""

    def get(self, partition_ids: Sequence[str]) -> Mapping[str, Shard]:
        """The shards asked for. One without a row has LEFT, and has cursor and horizon at the beginning of time."""

    def acquire(self, partition_id: str, owner: str, now: int, until: int, horizon: str) -> Lease | None:
        """Take the lease if the shard is registered and its lease ended before `now`: owner, epoch + 1, and in the same
        step horizon = max(horizon, the one given). None if another holds it or there is no such shard.
        """

    def commit(self, lease: Lease) -> bool:
        """Write the lease's cursor, horizon, `until` and `released`, if owner and epoch are still the lease's.

        `until = 0` lets the lease go. False: fenced, or cursor or horizon would go back; nothing was written.
        """


class Saved(msgspec.Struct, frozen=True):
    """What came of saving an execution: it is stored as wanted (`ok`), or `actual` is what is stored instead (None if
    nothing is), or the store gave no definite answer, or one that cannot be read (`unavailable` says why).
    """

    ok: bool
    actual: Execution | None = None
    unavailable: str | None = None


class Executions(Protocol):
    """The records of executions, changed only by compare-and-set on their revision."""

    def save(self, changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        """For each (before, after): store `after` if what is stored has the revision of `before` (None: nothing is
        stored), each on its own. A record equal to `after` that is already there counts as stored (a lost answer).
        Reports failures one by one and never raises Unavailable.
        """

    def find(self, job_id: str, execution_id: str) -> Execution | None:
        """The record, if there is one."""

    def list(self, job_id: str, limit: int, before: str | None) -> Sequence[Execution]:
        """A job's executions, newest first (by executionId, descending), those before `before` if given."""

    def dead(self, client_id: str, limit: int, before: str | None) -> DeadPage:
        """A client's executions that need attention, by `attention_key`, descending, those before `before` if given.

        The one read that is not strong: what changed in the last moments may be missing. What is listed is read as it
        stands, and left out if it needs no attention any more; so a page may be short and not the last.
        """


class Clients(Protocol):
    """The clients and their principals."""

    def get(self, client_id: str) -> Client | None:
        """The client. May be as old as the adapter's stated cache time."""

    def put(self, client: Client) -> None:
        """Create or replace the client, and what `of_principal` answers for its principals."""

    def of_principal(self, principal: str) -> Sequence[str]:
        """The clientIds that may list this principal; the client itself decides."""


class Jobs(Protocol):
    """The named jobs, changed only by compare-and-set on their version.

    Where jobs of many clients are read at once, one that this version cannot read is answered with why, and not raised.
    """

    def get(self, job_refs: Sequence[tuple[str, str]]) -> Sequence[NamedJob | Unreadable | None]:
        """The jobs at (client_id, job_key), in the order asked for; None where there is none. All are asked for until
        each was answered.
        """

    def save(self, before: NamedJob | None, after: NamedJob) -> bool:
        """Store `after` if what is stored has the version of `before` (None: nothing is stored); False if it has not.

        A stored job equal to `after` counts as stored (a lost answer).
        """

    def list(self, client_id: str, prefix: str | None, after_key: str | None, limit: int) -> Sequence[NamedJob]:
        """Up to `limit` jobs of a client in the order of their keys, behind `after_key`: of the prefix, if any.

        Raises Unreadable.
        """

    def scan(self, part: int, parts: int) -> Sequence[NamedJob | Unreadable]:
        """One of `parts` even, disjoint parts of all jobs of all clients."""


class Regulation(Protocol):
    """What regulates one client among many: jobs of a day, slots, permits, circuits, and what is parked."""

    def count_created(self, client_id: str, day: int, count: int, most: int) -> bool:
        """Count `count` more jobs of a UTC day (days since the epoch), unless they would be more than `most` then."""

    def reserve(
        self, client_id: str, count: int, interval_ms: float, now: int, latest: int | None = None
    ) -> tuple[int, int]:
        """Reserve slots, `interval_ms` apart, none of them given to anybody else: the first one's instant, how many.

        `count` of them, or as many as there are up to `latest` (ms), perhaps none.
        Intervals are kept to the microsecond, so that a cap of thousands a second holds for reservations of one.
        """

    def lease(self, client_id: str, block: int, holder: str, now: int, until: int) -> bool:
        """Take or renew a block of permits, if it is free, expired before `now`, or the holder's own already."""

    def give_back(self, client_id: str, block: int, holder: str) -> None:
        """Let others have a block before its lease ends. Nothing happens if it is not the holder's any more."""

    def circuits(self, client_id: str) -> Mapping[str, Circuit]:
        """The client's open circuits by host. May be as old as the adapter's stated cache time."""

    def save_circuit(self, before: Circuit | None, after: Circuit) -> bool:
        """Store the circuit if what is stored has the revision of `before` (None: nothing is stored)."""

    def close_circuit(self, client_id: str, host: str) -> None:
        """Forget the circuit."""

    def parked(self) -> Sequence[Parked]:
        """The clients that have parked occurrences."""

    def note_parked(self, client_id: str, now: int) -> None:
        """Note that a client has, at `now`. How they are to go stays as it was said before."""

    def direct_parked(self, parked: Parked, before: Parked | None = None) -> bool:
        """Say how parked occurrences are to go; with `before`, only if nobody has said anything else since."""

    def forget_parked(self, parked: Parked) -> None:
        """Note that a client has none any more, unless it was noted again after `parked` was read."""


class KeyRows(Protocol):
    """The memory of Idempotency-Keys."""

    def claim(self, row: KeyRow, now: int) -> KeyRow:
        """Store the row if its key is free or what is stored has expired; what is stored now, this or another's."""
