"""The contract of `ports.Shards`."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest

from clockwork.domain import keys
from clockwork.domain.timeline import Shard, ShardStatus
from clockwork.ports import Lease, Shards
from tests.contract.examples import DUE
from tests.contract.races import at_once
from tests.contract.worlds import AwsWorld, World

NOW = DUE
UNTIL = NOW + 20_000
HORIZON = keys.edge_key(NOW + 240_000)


@pytest.fixture
def shards(world: World) -> Shards:
    world.shards.register("p000")
    return world.shards


def take(shards: Shards, owner: str, now: int = NOW, horizon: str = HORIZON) -> Lease:
    """Acquire a lease, which must be free."""
    lease = shards.acquire("p000", owner, now, now + 20_000, horizon)
    assert lease is not None
    return lease


def stored(shards: Shards) -> Shard:
    return shards.get(["p000"])["p000"]


def test_the_registry_lists_its_shards_in_order(shards: Shards) -> None:
    for partition_id in ("p010", "p002", "p001"):
        shards.register(partition_id)
    assert list(shards.list()) == ["p000", "p001", "p002", "p010"]


def test_nothing_is_registered_at_first(world: World) -> None:
    assert list(world.shards.list()) == []


def test_a_shard_without_a_row_is_at_the_beginning_of_time_and_not_polled(shards: Shards) -> None:
    unused = Shard("p099", cursor=keys.BEGINNING, horizon=keys.BEGINNING, status=ShardStatus.LEFT)
    assert shards.get(["p099"]) == {"p099": unused}


def test_get_answers_for_every_shard_asked_for(shards: Shards) -> None:
    lease = take(shards, "one")
    expected = Shard("p000", "one", 1, lease.until, lease.cursor, lease.horizon)
    assert shards.get(["p001", "p000", "p001"]) == {"p000": expected, "p001": Shard("p001", status=ShardStatus.LEFT)}
    assert shards.get([]) == {}


def test_registering_again_changes_nothing(shards: Shards) -> None:
    take(shards, "one")
    before = stored(shards)
    shards.register("p000")
    assert stored(shards) == before


def change(shards: Shards, status: ShardStatus) -> Shard:
    """Change the status of a shard, which must succeed; returns the shard afterwards."""
    assert shards.change(stored(shards), status)
    assert stored(shards).status is status
    return stored(shards)


def test_a_shard_that_has_left_is_not_listed_until_it_is_taken_back(shards: Shards) -> None:
    shards.register("p001")
    listed = []
    for number, status in enumerate((ShardStatus.LEAVING, ShardStatus.LEFT, ShardStatus.USED, ShardStatus.LEFT)):
        assert change(shards, status).changes == number + 1
        listed.append(list(shards.list()))
    assert listed == [["p000", "p001"], ["p001"], ["p000", "p001"], ["p001"]]


def test_a_standing_is_written_only_as_long_as_it_is_as_it_was_read(shards: Shards) -> None:
    seen = stored(shards)
    leaving = change(shards, ShardStatus.LEAVING)
    assert not shards.change(seen, ShardStatus.LEFT)
    change(shards, ShardStatus.USED)
    assert not shards.change(seen, ShardStatus.LEAVING)
    assert not shards.change(leaving, ShardStatus.LEFT)
    assert (stored(shards).status, stored(shards).changes) == (ShardStatus.USED, 2)


def test_what_is_not_registered_has_no_standing_to_change(shards: Shards) -> None:
    assert not shards.change(Shard("p001"), ShardStatus.LEFT)
    assert list(shards.list()) == ["p000"]


def test_registering_again_does_not_take_a_shard_back(shards: Shards) -> None:
    left = change(shards, ShardStatus.LEFT)
    shards.register("p000")
    assert stored(shards) == left


def test_a_standing_leaves_lease_cursor_and_horizon_alone_and_they_it(shards: Shards) -> None:
    lease = take(shards, "one")
    left = change(shards, ShardStatus.LEFT)
    assert (left.owner, left.epoch, left.lease_until, left.horizon) == ("one", 1, UNTIL, HORIZON)
    assert shards.commit(msgspec.structs.replace(lease, cursor=HORIZON, until=0))
    assert stored(shards) == msgspec.structs.replace(left, cursor=HORIZON, lease_until=0, released=0)
    take(shards, "two")
    assert (stored(shards).status, stored(shards).changes) == (ShardStatus.LEFT, 1)


def test_of_changes_at_once_one_counts(shards: Shards) -> None:
    for turn in range(30):
        seen = stored(shards)
        changing = [partial(shards.change, seen, status) for status in (ShardStatus.USED, ShardStatus.LEFT)]
        assert sorted(at_once(*changing)) == [False, True]
        assert stored(shards).changes == turn + 1


def test_an_unregistered_shard_cannot_be_taken_and_is_not_made_by_trying(shards: Shards) -> None:
    assert shards.acquire("p001", "one", NOW, UNTIL, HORIZON) is None
    assert list(shards.list()) == ["p000"]


def test_taking_a_lease_publishes_the_horizon_in_the_same_step(shards: Shards) -> None:
    assert take(shards, "one") == Lease("p000", "one", 1, UNTIL, keys.BEGINNING, HORIZON)
    assert stored(shards) == Shard("p000", "one", 1, UNTIL, keys.BEGINNING, HORIZON)


@pytest.mark.parametrize("now", [NOW, UNTIL - 1, UNTIL])
def test_a_lease_that_has_not_ended_keeps_others_out(shards: Shards, now: int) -> None:
    take(shards, "one")
    before = stored(shards)
    assert shards.acquire("p000", "two", now, now + 20_000, keys.edge_key(now + 240_000)) is None
    assert stored(shards) == before


def test_a_lease_that_ended_goes_to_the_next_with_a_higher_epoch_and_the_same_cursor(shards: Shards) -> None:
    first = msgspec.structs.replace(take(shards, "one"), cursor=keys.row_key(NOW, "x"))
    assert shards.commit(first)
    second = take(shards, "two", UNTIL + 1, keys.edge_key(UNTIL + 240_000))
    assert second == Lease("p000", "two", 2, UNTIL + 20_001, first.cursor, keys.edge_key(UNTIL + 240_000))


def test_a_poller_whose_clock_is_behind_does_not_move_the_horizon_back(shards: Shards) -> None:
    assert shards.commit(msgspec.structs.replace(take(shards, "one"), until=0))
    behind = take(shards, "two", NOW - 5_000, keys.edge_key(NOW + 235_000))
    assert behind == Lease("p000", "two", 2, NOW + 15_000, keys.BEGINNING, HORIZON)
    assert stored(shards).horizon == HORIZON
    assert shards.commit(behind)


def test_a_live_lease_keeps_out_a_poller_whose_clock_is_behind(shards: Shards) -> None:
    take(shards, "one")
    assert shards.acquire("p000", "two", NOW - 5_000, NOW + 15_000, keys.edge_key(NOW + 235_000)) is None


def test_a_commit_writes_cursor_horizon_and_until(shards: Shards) -> None:
    lease = msgspec.structs.replace(
        take(shards, "one"),
        cursor=keys.row_key(NOW + 1, "x"),
        horizon=keys.edge_key(NOW + 300_000),
        until=UNTIL + 5_000,
        released=17,
    )
    assert shards.commit(lease)
    assert stored(shards) == Shard("p000", "one", 1, lease.until, lease.cursor, lease.horizon, released=17)


def test_what_a_visit_released_is_told_until_the_next_one_commits(shards: Shards) -> None:
    assert stored(shards).released is None
    assert shards.commit(msgspec.structs.replace(take(shards, "one"), until=0, released=3))
    lease = take(shards, "two")
    assert (stored(shards).released, lease.released) == (3, 0)
    assert shards.commit(lease)
    assert stored(shards).released == 0


def test_what_is_in_quarantine_is_handed_from_one_poller_to_the_next(shards: Shards) -> None:
    assert take(shards, "one").quarantined == stored(shards).quarantined == 0
    assert shards.commit(msgspec.structs.replace(take(shards, "two", UNTIL + 1), until=0, quarantined=5))
    lease = take(shards, "three", UNTIL + 60_000)
    assert lease.quarantined == stored(shards).quarantined == 5
    assert shards.change(stored(shards), ShardStatus.LEAVING)
    assert shards.commit(msgspec.structs.replace(lease, until=0, quarantined=0))
    assert stored(shards).quarantined == take(shards, "four", UNTIL + 120_000).quarantined == 0


def test_all_shards_are_read_at_once_also_those_that_have_left(shards: Shards) -> None:
    for partition_id in ("p010", "p001", "p002"):
        shards.register(partition_id)
    assert shards.commit(msgspec.structs.replace(take(shards, "one"), cursor=HORIZON, released=3))
    assert shards.change(shards.get(["p001"])["p001"], ShardStatus.LEAVING)
    assert shards.change(shards.get(["p002"])["p002"], ShardStatus.LEFT)
    assert list(shards.all()) == [shards.get([one])[one] for one in ("p000", "p001", "p002", "p010")]


def test_a_shard_may_be_registered_as_one_that_has_left_until_it_is_taken_back(shards: Shards) -> None:
    shards.register("o000", ShardStatus.LEFT)
    assert list(shards.list()) == ["p000"]
    shards.register("o000")
    left = shards.get(["o000"])["o000"]
    assert left.status is ShardStatus.LEFT
    assert shards.change(left, ShardStatus.USED)
    assert list(shards.list()) == ["o000", "p000"]


def test_the_same_commit_again_is_no_error(shards: Shards) -> None:
    lease = msgspec.structs.replace(take(shards, "one"), cursor=HORIZON)
    assert shards.commit(lease)
    assert shards.commit(lease)


def test_a_lease_that_was_released_is_free_at_once(shards: Shards) -> None:
    assert shards.commit(msgspec.structs.replace(take(shards, "one"), until=0))
    assert take(shards, "two").epoch == 2


def test_an_ended_lease_still_commits_while_nobody_took_it(shards: Shards) -> None:
    lease = take(shards, "one")
    assert shards.commit(msgspec.structs.replace(lease, until=UNTIL + 60_000))


def test_a_fenced_poller_cannot_commit(shards: Shards) -> None:
    fenced = take(shards, "one")
    take(shards, "two", UNTIL + 1)
    before = stored(shards)
    assert not shards.commit(msgspec.structs.replace(fenced, cursor=HORIZON))
    assert stored(shards) == before


def test_neither_owner_nor_epoch_alone_makes_a_commit_count(shards: Shards) -> None:
    lease = take(shards, "one")
    assert not shards.commit(msgspec.structs.replace(lease, owner="two"))
    assert not shards.commit(msgspec.structs.replace(lease, epoch=2))


def test_a_shard_without_a_row_cannot_be_committed_to(shards: Shards) -> None:
    assert not shards.commit(Lease("p001", "one", 0, UNTIL, keys.BEGINNING, HORIZON))
    assert list(shards.list()) == ["p000"]


def test_a_shard_once_polled_keeps_its_place_through_many_leases(shards: Shards) -> None:
    for turn in range(1, 6):
        now = NOW + turn * 60_000
        lease = take(shards, f"owner-{turn}", now, keys.edge_key(now + 240_000))
        assert (lease.epoch, lease.cursor) == (turn, stored(shards).cursor)
        assert shards.commit(msgspec.structs.replace(lease, cursor=keys.edge_key(now), until=0))
    assert stored(shards).cursor == keys.edge_key(NOW + 5 * 60_000)


@pytest.mark.parametrize("behind_ms", [0, 300_000], ids=["clocks agree", "clocks behind the horizon"])
def test_of_pollers_at_once_one_gets_the_lease(shards: Shards, behind_ms: int) -> None:
    for turn in range(1, 31):
        now = NOW + turn * 60_000
        horizon = keys.edge_key(now - behind_ms)
        taking = [partial(shards.acquire, "p000", f"{turn}-{i}", now, now + 20_000, horizon) for i in range(3)]
        leases = at_once(*taking)
        (lease,) = [lease for lease in leases if lease is not None]
        told = Shard("p000", lease.owner, turn, now + 20_000, lease.cursor, lease.horizon)
        assert msgspec.structs.replace(stored(shards), released=None) == told
        assert shards.commit(msgspec.structs.replace(lease, horizon=keys.edge_key(now), until=0))


def test_a_commit_and_a_takeover_at_once_never_both_count(shards: Shards) -> None:
    for turn in range(30):
        now = NOW + turn * 60_000
        lease = take(shards, f"old{turn}", now, keys.edge_key(now))
        moved = msgspec.structs.replace(lease, cursor=keys.edge_key(now))
        committed, successor = at_once(
            partial(shards.commit, moved),
            partial(take, shards, f"new{turn}", now + 20_001, keys.edge_key(now)),
        )
        assert successor.cursor == (moved.cursor if committed else lease.cursor)
        assert shards.commit(msgspec.structs.replace(successor, until=0))


def test_a_row_is_stored_under_names_that_never_change(aws_world: AwsWorld) -> None:
    shards = aws_world.shards
    shards.register("p000", ShardStatus.LEAVING)
    beginning = {"cursor": {"S": keys.BEGINNING}, "horizon": {"S": keys.BEGINNING}}
    free = {"owner": {"S": ""}, "epoch": {"N": "0"}, "leaseUntil": {"N": "0"}}
    first = {"partitionId": {"S": "p000"}, "standing": {"S": "leaving"}, **beginning, **free}
    assert aws_world.raw("shards") == [first]
    lease = take(shards, "one")
    shards.commit(msgspec.structs.replace(lease, cursor=HORIZON, released=7, quarantined=3))
    shards.change(Shard("p000"), ShardStatus.USED)
    polled = {"cursor": {"S": HORIZON}, "horizon": {"S": HORIZON}, "released": {"N": "7"}, "quarantined": {"N": "3"}}
    taken = {"owner": {"S": "one"}, "epoch": {"N": "1"}, "leaseUntil": {"N": str(UNTIL)}}
    changed = {"standing": {"S": "used"}, "changes": {"N": "1"}}
    assert aws_world.raw("shards") == [{"partitionId": {"S": "p000"}, **polled, **taken, **changed}]
    assert stored(shards) == Shard("p000", "one", 1, UNTIL, HORIZON, HORIZON, changes=1, released=7, quarantined=3)


def test_a_row_from_before_shards_could_leave_is_of_a_shard_in_use(aws_world: AwsWorld) -> None:
    aws_world.shards.register("p000")
    (item,) = aws_world.raw("shards")
    del item["standing"]
    aws_world.aws.client("dynamodb").put_item(TableName=aws_world.table("shards"), Item=item)
    assert list(aws_world.shards.list()) == ["p000"]
    assert stored(aws_world.shards) == Shard("p000", status=ShardStatus.USED)


def test_the_number_of_ordered_shards_is_written_once(world: World) -> None:
    assert world.shards.ordered_count(16) == 16
    assert world.shards.ordered_count(5) == 16
    assert world.shards.all() == []
    assert world.shards.list() == []
