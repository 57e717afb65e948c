"""The checks of five restored tables, and the cursors that go back so that no job is lost. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from clockwork.domain import keys
from clockwork.domain.instants import to_text
from clockwork.domain.timeline import Shard
from rollout.checks import OK, REFUSED, WARN, Row

#: Key attributes of the tables, see `infra/storage.py`.
KEYS: Mapping[str, tuple[str, ...]] = {
    "timeline": ("partitionId", "scheduleTime"),
    "jobs": ("clientId", "jobKey"),
    "executions": ("jobId", "executionId"),
    "shards": ("partitionId",),
    "clients": ("clientId", "item"),
}
#: Nothing in this table expires.
LASTING = "shards"
INDEXES = ("attention", "runs")
#: The distance (s) by which cursors go back unless another is given: the longest delay of SQS. Work that was due
#: earlier had been delivered, or waited in the queue for a retry.
BACK_SECONDS = 900
#: A horizon lies so far ahead of its poller's clock at most (ms): the longest delay of SQS.
_LONGEST_LOOKAHEAD_MS = 900_000
_MENDED = "`make restore` sets it"


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A table as DynamoDB describes it. A restore brings back rows and indexes, and none of the last three."""

    kind: str
    table: str
    #: `ACTIVE` once it can be used; empty: there is none.
    status: str = ""
    key: tuple[str, ...] = ()
    indexes: frozenset[str] = field(default_factory=frozenset)
    #: The table of which it is a copy; empty: it was not made by a restore.
    source: str = ""
    #: The instant (ms) of which it is a copy; None: it was not made by a restore.
    restored_at: int | None = None
    expires: bool = False
    recoverable: bool = False
    protected: bool = False

    @property
    def lacks(self) -> list[str]:
        """The settings that a restore has not brought back."""
        return [
            *([] if self.expires or self.kind == LASTING else ["expiry"]),
            *([] if self.recoverable else ["point-in-time recovery"]),
            *([] if self.protected else ["protection against deletion"]),
        ]


@dataclass(frozen=True, kw_only=True)
class Move:
    """A cursor that goes back, and the work that its shard's next poller releases again."""

    partition_id: str
    cursor: str
    to: str
    #: Occurrences between the two cursors, and the ones without a record, which are delivered twice.
    occurrences: int = 0
    unrecorded: int = 0


def instant_of_copies(copies: Sequence[Copy], told: int | None) -> int | None:
    """The instant (ms) of which all tables are copies: the given one, or theirs.

    None if theirs differ or are unknown.
    """
    if told is not None:
        return told
    instants = {copy.restored_at for copy in copies}
    return instants.pop() if len(instants) == 1 else None


def target_of(shard: Shard, at: int, back_ms: int) -> str | None:
    """Where a cursor goes back to; None if it lies there or before already."""
    edge = keys.edge_key(max(0, at - back_ms))
    return edge if shard.cursor > edge else None


def judge_copies(copies: Sequence[Copy], at: int | None) -> Iterator[Row]:
    """Every check of the tables."""
    for copy in copies:
        yield _judge(copy)
    if at is None:
        found = ", ".join(f"{copy.kind} {_told(copy.restored_at)}" for copy in copies)
        then = "restore all five to one second; or say `AT=2026-05-05T10:00:00Z` if they are copies made otherwise"
        yield Row("instant", REFUSED, found, "one for all five", then)
    else:
        yield Row("instant", OK, to_text(at), "one for all five")


def judge_shards(shards: Sequence[Shard], at: int) -> Row:
    """Whether the copies are unused: cursors of tables that are at work must not go back."""
    furthest = max((keys.instant_of(shard.horizon) for shard in shards), default=0)
    if furthest > at + _LONGEST_LOOKAHEAD_MS:
        then = "these tables have been at work since. Only copies that nobody has used yet can be prepared"
        return Row("shards", REFUSED, f"polled up to {to_text(furthest)}", f"none since {to_text(at)}", then)
    return Row("shards", OK, f"{len(shards)}, polled up to {to_text(furthest)}", "none used since")


def judge_moves(moves: Sequence[Move], back_seconds: int) -> Row:
    """The effects of the cursors that go back."""
    again, twice = sum(move.occurrences for move in moves), sum(move.unrecorded for move in moves)
    found = f"{len(moves)} go back, {again} occurrences come once more, {twice} of them without a record"
    then = "those without a record are delivered twice if they had been delivered" if twice else ""
    return Row("cursors", WARN if twice else OK, found, f"{back_seconds} s before the instant", then)


def _judge(copy: Copy) -> Row:
    if copy.status != "ACTIVE":
        return Row(
            copy.kind, REFUSED, f"{copy.table} {copy.status or 'does not exist'}", "ACTIVE", "wait, or name it right"
        )
    if copy.key != KEYS[copy.kind]:
        needed = ", ".join(KEYS[copy.kind])
        return Row(copy.kind, REFUSED, f"{copy.table} has the key {', '.join(copy.key)}", needed, "another table")
    if copy.kind == "executions" and (missing := [one for one in INDEXES if one not in copy.indexes]):
        found, then = f"{copy.table} has no index {' and no '.join(missing)}", "restore with indexes, or add it"
        return Row(copy.kind, REFUSED, found, "with it", then)
    if copy.lacks:
        return Row(copy.kind, WARN, f"{_origin(copy)}, lacks {', '.join(copy.lacks)}", "all of them", _MENDED)
    return Row(copy.kind, OK, _origin(copy), "all it needs")


def _origin(copy: Copy) -> str:
    """The table and its source: of two stacks, and after an earlier restore, tables look alike."""
    return f"{copy.table}, a copy of {copy.source}" if copy.source else copy.table


def _told(at: int | None) -> str:
    return "is no copy" if at is None else f"of {to_text(at)}"
