"""The plan of pollers: quiet shards, in which little happens, share a poller; every other shard has its own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clockwork.domain import keys
from clockwork.domain.limits.polling import MOST_QUIET, Poll, plan_polls
from clockwork.domain.timeline import Shard
from tests.support.examples import NOW

AHEAD = keys.edge_key(NOW + 180_000)


def shard(index: int = 0, **changes: Any) -> Shard:
    """A plain shard, visited a minute ago; the visit found nothing."""
    quiet: dict[str, Any] = {"epoch": 7, "cursor": AHEAD, "horizon": AHEAD, "released": 0}
    return Shard(keys.partition_of(index), **{**quiet, **changes})


def ordered(**changes: Any) -> Shard:
    """An ordered shard, visited a minute ago; the visit found nothing, and the horizon is the instant of the visit."""
    behind = keys.edge_key(NOW - 60_000)
    return Shard("o000", **{"epoch": 7, "cursor": behind, "horizon": behind, "released": 0, **changes})


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (shard(), "quiet"),
        (shard(released=MOST_QUIET), "quiet"),
        (shard(released=MOST_QUIET + 1), "busy"),
        (shard(released=None), "never_visited"),
        (Shard("p000"), "never_visited"),
        (shard(lease_until=NOW), "at_work"),
        (shard(lease_until=NOW - 1), "quiet"),  # the lease has ended
        (shard(horizon=keys.edge_key(NOW)), "quiet"),
        (shard(horizon=keys.edge_key(NOW - 1)), "behind"),
        (ordered(), "quiet"),
        (ordered(released=MOST_QUIET + 1), "busy"),
        (ordered(lease_until=NOW + 1), "at_work"),
    ],
)
def test_a_shard_has_a_poller_of_its_own_unless_it_is_known_to_be_quiet(seen: Shard, reason: str) -> None:
    assert plan_polls([seen], NOW, 8) == [Poll((seen.partition_id,), reason)]


def test_quiet_shards_are_dealt_out_to_as_few_pollers_as_may_be() -> None:
    plan = plan_polls([shard(index) for index in range(20)], NOW, 8)
    assert [len(poll.partition_ids) for poll in plan] == [8, 8, 4]


def test_ordered_and_plain_shards_share_a_poller() -> None:
    assert plan_polls([ordered(), shard()], NOW, 8) == [Poll(("o000", "p000"), "quiet")]


def test_with_one_at_a_time_every_shard_has_a_poller_of_its_own() -> None:
    plan = plan_polls([shard(0), shard(1)], NOW, 1)
    assert plan == [Poll(("p000",), "quiet"), Poll(("p001",), "quiet")]


def test_busy_ones_are_started_first() -> None:
    plan = plan_polls([shard(0), shard(1, released=10_000), shard(2)], NOW, 8)
    assert plan == [Poll(("p001",), "busy"), Poll(("p000", "p002"), "quiet")]


@given(
    states=st.lists(st.tuples(st.none() | st.integers(0, 200), st.integers(NOW - 5, NOW + 5)), max_size=40),
    together=st.integers(1, 9),
)
def test_every_shard_is_polled_once_and_none_with_more_than_may_be(
    states: list[tuple[int | None, int]], together: int
) -> None:
    shards = [shard(index, released=released, lease_until=until) for index, (released, until) in enumerate(states)]
    plan = plan_polls(shards, NOW, together)
    polled = [partition_id for poll in plan for partition_id in poll.partition_ids]
    assert sorted(polled) == [one.partition_id for one in shards]
    assert all(1 <= len(poll.partition_ids) <= together for poll in plan)
