"""The contract of `ports.Pools`, and how old a cached pool may be."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest

from clockwork.aws.stores.pools import OVERFLOW_MS, AwsPools, CachedPools
from clockwork.aws.stores.table import Table
from clockwork.domain.clients import Client
from clockwork.domain.errors import Unavailable
from clockwork.domain.pools.floods import Flood, Overflow
from clockwork.domain.pools.pool import Pool
from clockwork.memory.clients import MemoryPools
from clockwork.memory.clock import MemoryClock
from clockwork.ports import Pools
from tests.contract.races import at_once
from tests.contract.worlds import World

WORKER = "arn:aws:iam::123456789012:role/BatchWorkers"
FIRST = Pool(name="batch-etl", revision=1, principals=(WORKER,), handlers=("generate_invoices",), lease_seconds=120)
SECOND = Pool(name="batch-etl", revision=2)


@pytest.fixture
def pools(world: World) -> Pools:
    return world.pools


def test_a_pool_is_read_as_it_was_put(pools: Pools) -> None:
    assert pools.put(FIRST, replaces=0)
    assert pools.get("batch-etl") == FIRST
    assert pools.get("batch-et") is None


def test_only_the_revision_that_was_read_is_replaced(pools: Pools) -> None:
    assert pools.put(FIRST, replaces=0)
    assert not pools.put(msgspec.structs.replace(SECOND, revision=1), replaces=0)
    assert not pools.put(msgspec.structs.replace(SECOND, revision=3), replaces=2)
    assert pools.get("batch-etl") == FIRST
    assert pools.put(SECOND, replaces=1)
    assert pools.get("batch-etl", fresh=True) == SECOND


def test_there_is_nothing_to_replace_where_there_is_no_pool(pools: Pools) -> None:
    assert not pools.put(SECOND, replaces=1)
    assert pools.get("batch-etl") is None


def test_a_put_whose_answer_was_lost_is_done_when_it_is_repeated(pools: Pools) -> None:
    assert [pools.put(FIRST, replaces=0) for _ in range(2)] == [True, True]
    assert [pools.put(SECOND, replaces=1) for _ in range(2)] == [True, True]


def test_of_several_that_replace_one_revision_at_once_one_does(pools: Pools) -> None:
    pools.put(FIRST, replaces=0)
    wanted = [msgspec.structs.replace(SECOND, lease_seconds=100 + number) for number in range(3)]
    won = at_once(*(partial(pools.put, pool, replaces=1) for pool in wanted))
    assert won.count(True) == 1
    assert pools.get("batch-etl") == wanted[won.index(True)]


def test_the_latest_note_of_overflow_counts_and_is_no_part_of_the_pool(pools: Pools) -> None:
    assert pools.overflow("batch-etl") is None
    notes = [Overflow(1_000), Overflow(2_000, (Flood("high", "acme", 9_000), Flood("low", "café", 8_000)))]
    for note in notes:
        pools.note_overflow("batch-etl", note)
        assert pools.overflow("batch-etl", fresh=True) == note
    assert pools.overflow("gpu") is None
    assert pools.get("batch-etl") is None
    assert pools.put(FIRST, replaces=0)
    assert (pools.get("batch-etl"), pools.overflow("batch-etl")) == (FIRST, notes[-1])


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ({"at": {"N": "2000"}, "floods": {"B": b"[]"}}, Overflow(2_000)),
        ({"at": {"S": "2000"}, "floods": {"B": b"[]"}}, None),
        ({"at": {"N": "0.5"}, "floods": {"B": b"[]"}}, None),
        ({"floods": {"B": b"[]"}}, None),
        ({"at": {"N": "2000"}}, None),
        ({"at": {"N": "2000"}, "floods": {"B": b"\xff"}}, None),
        ({"at": {"N": "2000"}, "floods": {"S": "[]"}}, None),
        ({"at": {"N": "2000"}, "floods": {"B": b'[{"priority":"high","client_id":1,"until":2}]'}}, None),
    ],
    ids=["whole", "text", "a fraction", "no instant", "no floods", "damaged floods", "floods as text", "odd floods"],
)
def test_a_note_of_overflow_that_cannot_be_read_is_none_and_is_written_over(
    monkeypatch: pytest.MonkeyPatch, stored: dict[str, Any], read: Overflow | None
) -> None:
    """If it raised, each ticket of the pool would be refused permanently."""
    monkeypatch.setattr(Table, "get", lambda *_: stored)
    assert AwsPools(Mock(), "clients").overflow("batch-etl") == read


def test_a_pool_is_no_client_and_no_principal_of_one(world: World) -> None:
    """A pool may be called as a client is, and its workers act for no client."""
    world.clients.put(Client(client_id="client"))
    world.pools.put(msgspec.structs.replace(FIRST, name="client"), replaces=0)
    world.pools.put(FIRST, replaces=0)
    world.pools.note_overflow("client", Overflow(1_000))
    assert [client_id for client_id, _ in world.clients.list(10, None)] == ["client"]
    assert list(world.clients.of_principal(WORKER)) == []
    assert world.clients.get("@batch-etl") is None
    assert world.pools.get("client") == msgspec.structs.replace(FIRST, name="client")


class CountedPools(MemoryPools):
    """Counts its reads."""

    reads = 0

    def get(self, name: str, *, fresh: bool = False) -> Pool | None:
        self.reads += 1
        return super().get(name, fresh=fresh)


def test_a_cached_pool_is_as_old_as_it_says_and_no_older() -> None:
    inner, clock = CountedPools(), MemoryClock()
    cached = CachedPools(inner, clock, seconds=10)
    assert cached.get("batch-etl") is None
    inner.put(FIRST, replaces=0)
    assert cached.get("batch-etl") == FIRST
    inner.put(SECOND, replaces=1)
    clock.advance(9_999)
    assert (cached.get("batch-etl"), inner.reads) == (FIRST, 2)
    assert cached.get("batch-etl", fresh=True) == SECOND
    assert (cached.get("batch-etl"), inner.reads) == (SECOND, 3)
    clock.advance(10_000)
    cached.get("batch-etl")
    assert inner.reads == 4


class SilentPools(CountedPools):
    """Gives no answer while it is `out`."""

    out = False

    def get(self, name: str, *, fresh: bool = False) -> Pool | None:
        found = super().get(name, fresh=fresh)
        if self.out:
            raise Unavailable("throttled")
        return found


@pytest.fixture
def inner() -> SilentPools:
    made = SilentPools()
    made.put(FIRST, replaces=0)
    return made


def test_while_the_table_gives_no_answer_a_pool_counts_as_it_was_read_for_five_minutes(inner: SilentPools) -> None:
    clock = MemoryClock()
    cached = CachedPools(inner, clock, seconds=10)
    assert cached.get("batch-etl") == FIRST
    inner.out = True
    for _ in range(29):
        clock.advance(10_000)
        assert cached.get("batch-etl") == FIRST
    clock.advance(9_999)
    assert cached.get("batch-etl") == FIRST
    clock.advance(1)
    with pytest.raises(Unavailable):
        cached.get("batch-etl")
    inner.out = False
    assert cached.get("batch-etl") == FIRST


def test_a_silent_table_is_asked_again_after_the_time_of_the_cache_and_believed(inner: SilentPools) -> None:
    clock = MemoryClock()
    cached = CachedPools(inner, clock, seconds=10)
    cached.get("batch-etl")
    inner.out = True
    clock.advance(10_000)
    for _ in range(5):
        assert cached.get("batch-etl") == FIRST
    assert inner.reads == 2
    clock.advance(10_000)
    cached.get("batch-etl")
    assert inner.reads == 3
    inner.out = False
    inner.put(SECOND, replaces=1)
    clock.advance(10_000)
    assert cached.get("batch-etl") == SECOND


def test_no_old_copy_is_fresh_and_none_is_made_up(inner: SilentPools) -> None:
    cached = CachedPools(inner, MemoryClock(), seconds=10)
    inner.out = True
    with pytest.raises(Unavailable):
        cached.get("batch-etl")
    inner.out = False
    cached.get("batch-etl")
    inner.out = True
    with pytest.raises(Unavailable):
        cached.get("batch-etl", fresh=True)
    assert cached.get("batch-etl") == FIRST
    inner.out = False
    inner._pools.clear()
    cached.get("batch-etl", fresh=True)
    inner.out = True
    with pytest.raises(Unavailable):
        cached.get("batch-etl")


def test_what_is_put_is_read_anew() -> None:
    inner = CountedPools()
    cached = CachedPools(inner, MemoryClock(), seconds=10)
    cached.put(FIRST, replaces=0)
    cached.get("batch-etl")
    cached.put(SECOND, replaces=1)
    assert cached.get("batch-etl") == SECOND


class NotedPools(MemoryPools):
    """Counts the reads of notes, and gives no answer while it is `out`."""

    reads = 0
    out = False

    def overflow(self, name: str, *, fresh: bool = False) -> Overflow | None:
        self.reads += 1
        if self.out:
            raise Unavailable("throttled")
        return super().overflow(name, fresh=fresh)


def test_a_note_of_overflow_is_read_every_five_seconds_unless_it_is_to_be_fresh() -> None:
    inner, clock = NotedPools(), MemoryClock()
    cached = CachedPools(inner, clock, seconds=10)
    assert cached.overflow("batch-etl") is None
    inner.note_overflow("batch-etl", Overflow(1))
    clock.advance(OVERFLOW_MS - 1)
    assert (cached.overflow("batch-etl"), inner.reads) == (None, 1)
    assert cached.overflow("batch-etl", fresh=True) == cached.overflow("batch-etl") == Overflow(1)
    inner.note_overflow("batch-etl", Overflow(2))
    clock.advance(OVERFLOW_MS)
    assert (cached.overflow("batch-etl"), inner.reads) == (Overflow(2), 3)
    cached.note_overflow("batch-etl", Overflow(3))
    assert cached.overflow("batch-etl") == Overflow(3)


def test_while_the_table_gives_no_answer_the_last_note_counts_and_it_is_not_asked_at_each_send() -> None:
    inner, clock = NotedPools(), MemoryClock()
    cached = CachedPools(inner, clock, seconds=10)
    inner.note_overflow("batch-etl", Overflow(1))
    cached.overflow("batch-etl")
    inner.out = True
    clock.advance(OVERFLOW_MS)
    for _ in range(10):
        assert (cached.overflow("batch-etl"), cached.overflow("gpu")) == (Overflow(1), None)
    assert inner.reads == 3
    with pytest.raises(Unavailable):
        cached.overflow("batch-etl", fresh=True)
    inner.out = False
    clock.advance(OVERFLOW_MS)
    inner.note_overflow("batch-etl", Overflow(2))
    assert cached.overflow("batch-etl") == Overflow(2)
