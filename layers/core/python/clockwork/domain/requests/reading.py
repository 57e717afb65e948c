"""The pace of reads: how much of DynamoDB a client may read through the API, in read units.

A read unit is a strong read of up to 4 KB, and also a strong read that finds nothing. DynamoDB throttles a partition at
3,000 of them a second, and the key of a partition is the client: its own pollers read there, too. All
environments of the API together therefore spend at most half of that on one client. An environment learns the price of
a request only when it has read. Reads are therefore charged afterwards, and the next request waits until the debt is
small enough.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from enum import Enum, unique

import msgspec

#: The environments that the API may have at once: each has an even share of the pace. More of them read more.
API_ENVIRONMENTS = 50
UNIT_BYTES = 4_096
#: A page of a list ends once it has cost so many read units, and reads no more for it behind so long (ms).
PAGE_UNITS, PAGE_MS = 250, 500
WRITE_UNIT_BYTES = 1_024
#: The read units that DynamoDB grants one partition in a second.
PARTITION_UNITS = 3_000
#: A partition grants a third as many writes: whoever writes is held by that bound before by this one.
READS_OF_A_WRITE = 3
#: A request that reads in many partitions costs what it reads in the dearest, or this part of all.
PARTITIONS_OF_A_READ = 8
#: By how much of it the highest debt differs between environments: a quarter is a read of 64 units, the largest job.
PHASES = 0.25
#: For so long (s) an environment leaves a client's tables alone once DynamoDB has throttled one of its requests.
THROTTLED_SECONDS = 2


@unique
class Kind(Enum):
    """The purpose of a request: the units a second of all environments together, and the seconds of units in debt."""

    LOOK = (1_250, 10)
    #: It may change something. Its writes count for its reads, since writes are scarcer.
    CHANGE = (250, 60)
    #: An unsigned report on one job. It is paid for apart, so that it takes nothing from signed requests.
    REPORT = (250, 30)
    #: Reports under one token of a worker whose claim does not stand. Nobody else pays for it.
    STALE = (50, 60)
    #: Unsigned reports from one address, each of which counts as one unit.
    ADDRESS = (1_000, 10)

    def __init__(self, per_second: int, owed_seconds: int) -> None:
        self.per_second = per_second
        self.owed_seconds = owed_seconds

    def share(self, environments: int) -> float:
        """The units of one environment in a second."""
        return self.per_second / environments


class Debt(msgspec.Struct, frozen=True):
    """The debt of a client in one environment: units, as of an instant (ms). `refused`: requests refused since then."""

    units: float
    at: int
    refused: int = 0

    def at_instant(self, now: int, share: float) -> Debt:
        """The debt at `now`, of which `share` units a second were paid. A clock that goes back pays nothing."""
        paid = max(0, now - self.at) / 1000 * share
        return msgspec.structs.replace(self, units=max(0.0, self.units - paid), at=now)


def owed_at_most(kind: Kind, share: float, phase: float) -> float:
    """The highest debt in units. It differs by environment (`phase`, 0 to 1), so that not all read at one instant."""
    return kind.owed_seconds * share * (1 - PHASES * phase)


def wait_seconds(debt: Debt, kind: Kind, share: float, phase: float = 0.0) -> int:
    """After how many whole seconds the client may ask again, by its debt at this instant; 0: it may now."""
    too_much = debt.units - owed_at_most(kind, share, phase)
    return math.ceil(too_much / share) if too_much > 0 else 0


def throttled(debt: Debt, kind: Kind, share: float, phase: float = 0.0) -> Debt:
    """The debt after DynamoDB has throttled the client: environments together read more than they know of."""
    least = owed_at_most(kind, share, phase) + THROTTLED_SECONDS * share
    return msgspec.structs.replace(debt, units=max(debt.units, least))


def units_of(size: int) -> int:
    """The units of a strong read of so many bytes; one that finds nothing costs one, too."""
    return max(1, -(-size // UNIT_BYTES))


def price_of(units: Mapping[tuple[str, str], float], written: float) -> float:
    """The units that a request is charged which read these, by table and partition, and wrote so many units."""
    read = max(max(units.values(), default=0.0), sum(units.values()) / PARTITIONS_OF_A_READ)
    return max(0.0, read - READS_OF_A_WRITE * written)


class Meter:
    """The units that the request under way has read and written. Adapters tell it, once it has begun to count.

    Lambdas whose reads nobody pays for never begin.
    """

    def __init__(self) -> None:
        self.counts = False
        self._units: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._written = 0.0

    def begin(self) -> None:
        """A request begins: nothing is read yet."""
        self.counts = True
        self._units.clear()
        self._written = 0

    def read(self, table: str, partition: str, units: float) -> None:
        """Count units that were read in a partition of a table."""
        self._units[table, partition] += units

    def wrote(self, size: int) -> None:
        """An item of so many bytes was written, or DynamoDB refused its condition, which costs the same."""
        self._written += -(-size // WRITE_UNIT_BYTES)

    def changed(self, table: str, partition: str) -> None:
        """An item was changed where it lies, which costs as many write units as it is large: what was read of it."""
        self._written += max(1, self._units[table, partition] * UNIT_BYTES // WRITE_UNIT_BYTES)

    @property
    def price(self) -> float:
        """The charge of the request as far as it has come."""
        return price_of(self._units, self._written)
