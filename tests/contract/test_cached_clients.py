"""Cached clients: how old a cached client may be, and which clients are never cached."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clockwork.aws.stores.clients import CachedClients
from clockwork.domain.clients import Client
from clockwork.domain.errors import Unavailable
from clockwork.memory.clients import MemoryClients
from clockwork.memory.clock import MemoryClock

OLD, NEW = Client(client_id="acme", record="none"), Client(client_id="acme", record="full")


class CountedClients(MemoryClients):
    """Counts its reads."""

    reads = 0

    def get(self, client_id: str, *, fresh: bool = False) -> Client | None:
        self.reads += 1
        return super().get(client_id, fresh=fresh)


@pytest.fixture
def inner() -> CountedClients:
    return CountedClients()


@pytest.fixture
def clock() -> MemoryClock:
    return MemoryClock()


@pytest.fixture
def cached(inner: CountedClients, clock: MemoryClock) -> CachedClients:
    return CachedClients(inner, clock, seconds=10, capacity=3)


def test_a_client_is_read_once_within_its_time(
    cached: CachedClients, inner: CountedClients, clock: MemoryClock
) -> None:
    inner.put(OLD)
    assert cached.get("acme") == OLD
    inner.put(NEW)
    clock.advance(9_999)
    assert cached.get("acme") == OLD
    assert inner.reads == 1


def test_a_client_that_is_to_be_fresh_is_read_whatever_is_cached_and_cached_anew(
    cached: CachedClients, inner: CountedClients
) -> None:
    inner.put(OLD)
    cached.get("acme")
    inner.put(NEW)
    assert cached.get("acme", fresh=True) == NEW
    assert cached.get("acme") == NEW
    assert inner.reads == 2


def test_a_change_elsewhere_is_seen_after_that_time(
    cached: CachedClients, inner: CountedClients, clock: MemoryClock
) -> None:
    inner.put(OLD)
    cached.get("acme")
    inner.put(NEW)
    clock.advance(10_000)
    assert cached.get("acme") == NEW


def test_a_clock_set_back_does_not_keep_a_client_for_longer(
    cached: CachedClients, inner: CountedClients, clock: MemoryClock
) -> None:
    inner.put(OLD)
    cached.get("acme")
    inner.put(NEW)
    clock.advance(-1)
    assert cached.get("acme") == NEW


def test_a_client_that_did_not_exist_is_seen_as_soon_as_it_does(cached: CachedClients, inner: CountedClients) -> None:
    assert cached.get("acme") is None
    inner.put(NEW)
    assert cached.get("acme") == NEW


def test_a_change_made_here_is_seen_at_once(cached: CachedClients, inner: CountedClients) -> None:
    inner.put(OLD)
    cached.get("acme")
    cached.put(NEW)
    assert cached.get("acme") == NEW


def test_the_client_read_longest_ago_makes_room(cached: CachedClients, inner: CountedClients) -> None:
    for client_id in ("a", "b", "c", "d"):
        inner.put(Client(client_id=client_id))
        cached.get(client_id)
    assert [reads_again(cached, inner, client_id) for client_id in ("d", "c", "b", "a")] == [0, 0, 0, 1]


def test_principals_are_never_kept(cached: CachedClients, inner: CountedClients) -> None:
    assert principals(cached) == []
    inner.put(Client(client_id="acme", principals=("arn",)))
    assert principals(cached) == ["acme"]


def reads_again(cached: CachedClients, inner: CountedClients, client_id: str) -> int:
    before = inner.reads
    cached.get(client_id)
    return inner.reads - before


def principals(cached: CachedClients) -> Sequence[str]:
    return cached.of_principal("arn")


class CountedAdmins(MemoryClients):
    """Counts its reads, of which those fail that are told to."""

    reads = 0
    is_out = False

    def admins(self) -> frozenset[str]:
        self.reads += 1
        if self.is_out:
            raise Unavailable("no answer")
        return super().admins()


def test_admins_are_read_once_a_minute_and_an_empty_answer_is_kept_as_long(clock: MemoryClock) -> None:
    inner = CountedAdmins()
    cached = CachedClients(inner, clock, seconds=10)
    assert [cached.admins() for _ in range(3)] == [frozenset()] * 3
    inner.name_admins(["alice"])
    clock.advance(59_999)
    assert (cached.admins(), inner.reads) == (frozenset(), 1)
    clock.advance(1)
    assert (cached.admins(), inner.reads) == (frozenset({"alice"}), 2)
    inner.name_admins([])
    clock.advance(60_000)
    assert cached.admins() == frozenset()


def test_without_an_answer_nobody_is_taken_for_an_admin_of_a_minute_ago(clock: MemoryClock) -> None:
    inner = CountedAdmins(["alice"])
    cached = CachedClients(inner, clock, seconds=10)
    cached.admins()
    clock.advance(60_000)
    inner.is_out = True
    with pytest.raises(Unavailable):
        cached.admins()
    inner.is_out = False
    assert cached.admins() == {"alice"}
