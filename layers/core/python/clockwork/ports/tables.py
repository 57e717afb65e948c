"""The ports for tables: all that Clockwork stores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.errors import Unreadable
from clockwork.domain.executions import Execution
from clockwork.domain.lifecycle.parking import Parked
from clockwork.domain.limits.circuits import Circuit
from clockwork.domain.limits.slots import Reach, Reserved
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.storage.attention import DeadPage
from clockwork.domain.storage.runs_index import PlacePage
from clockwork.domain.timeline import Lease, Page, Row, Shard, ShardStatus


class Timeline(Protocol):
    """The timeline: rows of pending occurrences, in key order within each partition."""

    def put(self, rows: Sequence[Row]) -> None:
        """Store rows under ids that were never used before. All are stored when the call returns.

        The adapter does not send a row again that got no definite answer, since the first copy might arrive after a
        cancel. It raises Unavailable instead.
        """

    def put_new(self, rows: Sequence[Row]) -> None:
        """Store each row unless its key exists already. That is no error: then the stored row stays as it is."""

    def find(self, row_refs: Sequence[tuple[str, str]]) -> Sequence[Row | None]:
        """The rows at (partition_id, key), in the order asked for; None where there is none."""

    def read(self, partition_id: str, after: str, until: str, limit: int) -> Page:
        """The rows with `after < key <= until` in key order, at most `limit`.

        `more` is False only if none is left. A page with `more` has rows, so that its reader gets on.
        """

    def forget(self, partition_id: str, keys: Sequence[str]) -> None:
        """Delete rows that have served their purpose and that no caller puts again. A missing row is no error."""

    def cancel(self, partition_id: str, key: str, element: int) -> bool:
        """Mark one element of a row as cancelled; False if there is no such row (none is made)."""


class Shards(Protocol):
    """The registry of shards, with each shard's lease, cursor and horizon."""

    def list(self) -> Sequence[str]:
        """The partitionIds of all registered shards, without those that have LEFT, in order."""

    def all(self) -> Sequence[Shard]:
        """All shards that were ever registered, as they are now, in order."""

    def register(self, partition_id: str, status: ShardStatus = ShardStatus.USED) -> None:
        """Make the shard's row unless it exists."""

    def ordered_count(self, first: int) -> int:
        """The number of ordered shards that the stack was made with: it is written once, as `first` if it is not yet.

        A number that cannot be read is told in the log, and replaced by `first`.
        """

    def change(self, shard: Shard, status: ShardStatus) -> bool:
        """Compare-and-set: write the status, `changes` + 1; False if it was written since the shard was read."""

    def get(self, partition_ids: Sequence[str]) -> Mapping[str, Shard]:
        """The shards asked for. A shard without a row has LEFT, its cursor and horizon at the beginning of time."""

    def acquire(self, partition_id: str, owner: str, now: int, until: int, horizon: str) -> Lease | None:
        """Take the lease if the shard is registered and its lease ended before `now`; otherwise None.

        One step writes owner, `until`, epoch + 1 (the fencing token), and horizon = max(stored horizon, `horizon`).
        """

    def commit(self, lease: Lease) -> bool:
        """Write the lease's cursor, horizon, `until`, `released` and `quarantined`, if owner and epoch are its own.

        `until = 0` releases the lease. False: another poller fenced this one off, or cursor or horizon would go back.
        Then nothing was written.
        """


class Saved(msgspec.Struct, frozen=True):
    """The result of saving one execution: stored as wanted (`ok`), or not.

    If not, either `actual` is the record that is stored instead (None: there is none), or the store gave no definite
    answer, or one that cannot be read: then `unavailable` says why. `is_defect`: that is so for this record alone, and
    will be so again, as when it is larger than the store takes.
    """

    ok: bool
    actual: Execution | None = None
    unavailable: str | None = None
    is_defect: bool = False


class Executions(Protocol):
    """The records of executions, changed only by compare-and-set on their revision."""

    def save(self, changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        """For each (before, after), on its own: store `after` if the stored record has the revision of `before`.

        `before` is None if no record may be stored yet. A stored record that equals `after` counts as saved: an earlier
        answer was lost. Reports failures one by one and never raises Unavailable.
        """

    def find(self, job_id: str, execution_id: str) -> Execution | None:
        """The record, or None if there is none."""

    def get(self, execution_refs: Sequence[tuple[str, str]]) -> Sequence[Execution | Unreadable | None]:
        """For each (jobId, executionId), in this order: its record, None if there is none, or why it cannot be read."""

    def list(self, job_id: str, limit: int, before: str | None) -> Sequence[Execution]:
        """A job's executions, newest first (by executionId, descending), those before `before` if given.

        Fewer than `limit` are the last. A record that no version wrote is left out, and told in the log. Raises
        NewerFormat.
        """

    def between(self, job_id: str, first: str, last: str, limit: int) -> Sequence[Execution]:
        """A job's executions between two executionIds, both included, oldest first (ascending), at most `limit`.

        Fewer than `limit` are all. A record that no version wrote is left out, and told in the log. Raises NewerFormat.
        """

    def dead(self, client_id: str, limit: int, behind: str | None, *, oldest_first: bool = False) -> DeadPage:
        """A client's executions that need attention, by `attention_key`, those behind `behind` if given.

        They come in descending order, or in ascending order if `oldest_first`.

        This alone is no strongly consistent read: an execution that changed in the last moments may be missing. The
        adapter reads each listed record as it is now, and leaves it out if it needs no attention any more, or cannot be
        read. A page may therefore be short and yet not the last.
        """

    def retrying(self, client_id: str, limit: int, behind: str | None) -> DeadPage:
        """The same of a client's executions that have failed and are tried again, those that were due last first."""

    def indexed(self, client_id: str, limit: int, behind: str | None) -> PlacePage:
        """Up to `limit` places of a client's records with `end.indexed`, the latest due first, behind a key if given.

        It reads no record, and is no strongly consistent read: places and their states lag for moments. A page may be
        short and yet not the last.
        """


class Clients(Protocol):
    """The clients and their principals."""

    def get(self, client_id: str, *, fresh: bool = False) -> Client | None:
        """The client, or None. It may be as old as the adapter's stated cache time, unless it is to be `fresh`.

        Raises ClientUnreadable for a row that this version cannot read.
        """

    def put(self, client: Client, *, replaces: int | None = None) -> bool:
        """Create or replace the client, and the answers of `of_principal` for its principals.

        `replaces`: only the client at this revision is replaced, and at 0 there may also be none. False: the stored one
        is at another revision, and stays. A client that is stored as it is to be counts as replaced. Of a row that
        cannot be read the standing is compared.
        """

    def list(self, limit: int, behind: str | None) -> Sequence[tuple[str, Client | Unreadable]]:
        """Up to `limit` clients with their ids, in any order that stays the same, those behind a clientId if given.

        Fewer than `limit` are the last. It reads the whole table, page by page, and is for people, not for flows.
        """

    def of_principal(self, principal: str) -> Sequence[str]:
        """The clientIds of clients that may list this principal. The client itself decides whether it does."""

    def admins(self) -> frozenset[str]:
        """The principals that may act for every client; none without a row, or if nobody can read it.

        The answer may be a minute old.
        """

    def name_admins(self, principals: Sequence[str]) -> None:
        """Replace all admins. Only a deployment does that: no role of the scheduler itself may."""


class Listed(msgspec.Struct, frozen=True):
    """A page of a client's named jobs, each with its key: the job, or why this version cannot read it.

    `more` is False only if none is left. A page with `more` has jobs, so that its reader gets on.
    """

    jobs: Sequence[tuple[str, NamedJob | Unreadable]]
    more: bool


class Jobs(Protocol):
    """The named jobs, changed only by compare-and-set on their stamp.

    A call that reads jobs of many clients returns an Unreadable, which says why, in place of each job that this version
    cannot read. It does not raise it.
    """

    def get(self, job_refs: Sequence[tuple[str, str]]) -> Sequence[NamedJob | Unreadable | None]:
        """The jobs at (client_id, job_key), in the order asked for; None where there is none.

        The adapter asks for all of them until each was answered.
        """

    def save(self, before: NamedJob | None, after: NamedJob) -> bool:
        """Store `after` if the stored job has the stamp of `before` (None: no job is stored); otherwise False.

        A stored job that equals `after` counts as saved: an earlier answer was lost.
        """

    def list(self, client_id: str, prefix: str | None, after_key: str | None, limit: int) -> Listed:
        """Up to `limit` jobs of a client in the order of their keys, behind `after_key`, with the prefix if given.

        They are at most 1 MB as stored, so a page may be short and yet not the last.
        """

    def scan(self, part: int, parts: int) -> Iterator[Sequence[NamedJob | Unreadable]]:
        """One of `parts` even, disjoint parts of all jobs of all clients, page by page.

        A page is read when it is asked for, and holds at most 1 MB of stored jobs. It may be empty, so that the caller
        can look at the clock while the adapter passes rows that are no jobs. Raises Unavailable at any page.
        """


class Regulation(Protocol):
    """The regulation of one client among many: jobs of a day, slots, permits, circuits, and notes of parked work."""

    def count_created(self, client_id: str, day: int, count: int, most: int) -> bool:
        """Count `count` more jobs of a UTC day (days since the epoch); False if the day would have more than `most`."""

    def created(self, client_id: str, day: int) -> int:
        """How many jobs of a UTC day `count_created` has counted."""

    def reserve(self, client_id: str, count: int, interval_ms: float, now: int, reach: Reach | None = None) -> Reserved:
        """Reserve slots of the client's rate limit, `interval_ms` apart.

        No other caller gets these slots. There are `count` of them, or as many as there are within `reach`, perhaps
        none. Intervals are kept to the microsecond, so that a limit of thousands a second holds for reservations of one
        slot. Where slots have passed unused, the line is forgotten.
        """

    def line_up(self, client_id: str, count: int, interval_ms: float, now: int) -> int:
        """Give `count` places at the end of the line, `interval_ms` apart: the instant of the first (ms).

        The line begins at the next free slot. Places are estimates: nothing is reserved.
        """

    def lease(self, client_id: str, block: int, holder: str, now: int, until: int) -> bool:
        """Lease a block of permits if it is free, expired before `now`, or the holder's own already; else False."""

    def taken(self, client_id: str, now: int) -> frozenset[int]:
        """The numbers of the client's blocks whose leases have not ended at `now`; of very many, some.

        A hint: another caller may lease or give back any of them meanwhile.
        """

    def give_back(self, client_id: str, block: int, holder: str, until: int | None = None) -> None:
        """Release the lease of a block before it ends. Nothing happens if it is not the holder's any more.

        `until`: only the lease with this end (ms). A call that arrives late then ends no later lease of the holder.
        """

    def circuits(self, client_id: str) -> Mapping[str, Circuit]:
        """The client's open circuits by host. May be as old as the adapter's stated cache time.

        A circuit that cannot be read counts as closed, and so does one after its `ends_at`.
        """

    def save_circuit(self, before: Circuit | None, after: Circuit) -> bool:
        """Store the circuit if the stored one has the revision of `before` (None: none is stored); otherwise False.

        A circuit that cannot be read counts as none, and so does one after its `ends_at`: it is replaced.
        """

    def close_circuit(self, client_id: str, host: str) -> None:
        """Delete the circuit."""

    def parked(self) -> Sequence[Parked]:
        """The notes of all clients that have parked occurrences, without those that cannot be read."""

    def note_parked(self, client_id: str, now: int) -> None:
        """Note that a client has parked occurrences at `now`. How the sweeper is to unpark them stays as it was set."""

    def direct_parked(self, parked: Parked, before: Parked | None = None) -> bool:
        """Set how the sweeper is to unpark a client's occurrences.

        With `before`: only if that is still how it was set, and no sweep has leased it since. Otherwise False, and
        nothing is written. Without it the lease of a sweep stays as it is.
        """

    def forget_parked(self, parked: Parked) -> None:
        """Delete a client's note, unless it was noted again after `parked` was read."""
