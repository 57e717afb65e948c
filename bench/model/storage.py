"""The timeline table's partitions and their write limits."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from bench.model.buckets import TokenBucket
from bench.model.limits import Limits


class Partitions:
    """The partitions of the table, by the shard keys that lie in them, and the writes that each partition grants.

    Keys fall onto partitions by hash. A key that is throttled for minutes gets a partition of its own. DynamoDB never
    splits the rows of one key, since the sort keys of the timeline only increase:
    https://aws.amazon.com/blogs/database/part-2-scaling-dynamodb-how-partitions-hot-keys-and-split-for-heat-impact-performance/
    """

    def __init__(self, keys: Sequence[str], warm_writes: int, limits: Limits, rng: random.Random) -> None:
        self._limits = limits
        self._rng = rng
        count = max(1, warm_writes // limits.partition_writes)
        self._buckets = [self._bucket() for _ in range(count)]
        self._place = {key: rng.randrange(count) for key in keys}
        self._keys_in = Counter(self._place.values())
        self._split_at: dict[str, float] = {}
        self._throttled_at: dict[str, float] = {}
        self.throttles = 0

    def _bucket(self) -> TokenBucket:
        return TokenBucket(self._limits.partition_writes, self._limits.partition_writes)

    def take(self, key: str, units: int, now: float) -> bool:
        """Whether the key's partition grants a write of so many units at `now` (ms). A refusal counts as a throttle."""
        if self._buckets[self._place[key]].take_all(units, now):
            return True
        self.throttles += 1
        self._note_heat(key, now)
        return False

    def partition_of(self, key: str) -> int:
        """The number of the partition in which a key lies."""
        return self._place[key]

    def _note_heat(self, key: str, now: float) -> None:
        if now - self._throttled_at.get(key, -1e9) > 10_000:  # the key has cooled down: its time counts from now
            self._split_at[key] = now + self._rng.uniform(*self._limits.split_after_seconds) * 1000
        self._throttled_at[key] = now
        if now >= self._split_at[key] and self._keys_in[self._place[key]] > 1:
            self._keys_in[self._place[key]] -= 1
            self._buckets.append(self._bucket())
            self._place[key] = len(self._buckets) - 1
            self._keys_in[self._place[key]] = 1
