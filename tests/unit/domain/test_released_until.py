"""Until when everything is released, whichever shard it lies in."""

from __future__ import annotations

import pytest

from clockwork.domain import keys
from clockwork.domain.timeline import Shard, ShardStatus, released_until


def shard(name: str, at: int | None, status: ShardStatus = ShardStatus.USED) -> Shard:
    return Shard(name, cursor=keys.BEGINNING if at is None else keys.edge_key(at), status=status)


@pytest.mark.parametrize(
    ("shards", "until"),
    [
        ([], None),
        ([shard("s0", 5_000)], 5_000),
        ([shard("s0", 5_000), shard("s1", 3_000)], 3_000),
        ([shard("s0", 5_000), shard("s1", None)], None),
        ([shard("s0", 5_000), shard("s1", 3_000, ShardStatus.LEFT)], 5_000),
        ([shard("s0", 5_000), shard("s1", 3_000, ShardStatus.LEAVING)], 3_000),
        ([shard("s0", 5_000), shard(keys.ordered_partition(0), 1_000)], 5_000),
    ],
)
def test_it_is_the_cursor_that_is_furthest_behind(shards: list[Shard], until: int | None) -> None:
    assert released_until(shards) == until
