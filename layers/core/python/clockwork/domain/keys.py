"""Keys of the timeline. Cursor, horizon and rows share one key space, and keys are always compared whole, as text.

A row's key is its earliest due instant (13 digits, ms) + `#` + an id, so many rows may share a millisecond.
An edge such as a horizon ends in `$`, which sorts behind every row of its millisecond.
"""

from __future__ import annotations

#: Sorts before every key: the cursor and horizon of a shard that no poller has visited yet.
BEGINNING = "0"

#: Sorts behind every key.
END = "~"

#: No shard's number has so many digits.
_LONGEST_NUMBER = 10


def row_key(at: int, row_id: str) -> str:
    """The key of a row whose earliest occurrence is due at `at` (ms)."""
    return f"{str(at).zfill(13)}#{row_id}"


def edge_key(at: int) -> str:
    """The key just behind every row due at or before `at` (ms)."""
    return f"{at:013d}$"


def instant_of(key: str) -> int:
    """The instant (ms) of a row's key or of an edge; 0 for BEGINNING, and for a key that no version makes.

    A cursor may stand at any key that somebody put into its shard, and each visit asks for the instant of the cursor.
    """
    digits = key[:13]
    return int(digits) if digits.isascii() and digits.isdecimal() else 0


def partition_of(index: int) -> str:
    """The partitionId of the plain shard `index`, counted from 0."""
    return f"p{index:03d}"


def ordered_partition(index: int) -> str:
    """The partitionId of the ordered shard `index`, counted from 0."""
    return f"o{index:03d}"


def index_of(partition_id: str) -> int:
    """The number of a shard among the plain shards, or among the ordered ones, counted from 0."""
    return int(partition_id[1:])


def is_ordered(partition_id: str) -> bool:
    """Whether the partitionId names an ordered shard."""
    return partition_id.startswith("o")


def is_shard(partition_id: str) -> bool:
    """Whether any shard may have this partitionId."""
    number = partition_id[1:]
    if not (number.isascii() and number.isdecimal() and len(number) < _LONGEST_NUMBER):
        return False
    return partition_id in (partition_of(int(number)), ordered_partition(int(number)))


def plain_partitions(count: int) -> tuple[str, ...]:
    """The partitionIds of `count` plain shards."""
    return tuple(partition_of(index) for index in range(count))


def ordered_partitions(count: int) -> tuple[str, ...]:
    """The partitionIds of `count` ordered shards."""
    return tuple(ordered_partition(index) for index in range(count))
