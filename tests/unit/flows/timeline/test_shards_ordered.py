"""The first deployment fixes the number of ordered shards; a deployment with another number refuses ordered jobs."""

from __future__ import annotations

import pytest

from clockwork.domain.errors import OrderedShardsChanged, Unavailable
from clockwork.domain.keys import ordered_partitions, plain_partitions
from clockwork.domain.timeline import ShardStatus
from clockwork.flows.poll.tick import tick
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.shards import all_shards, ensure_shards
from clockwork.flows.world import Environment, World
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import ACME, NOW, new_job, request


def with_ordered(clockwork: MemoryClockwork, ordered_shards: int) -> World:
    world = clockwork.world
    return world.with_(settings=world.settings.with_(ordered_shards=ordered_shards), environment=Environment())


@pytest.mark.parametrize("asked", [1, 3, 16])
def test_another_number_of_ordered_shards_is_refused_by_name_and_nothing_is_lost(asked: int) -> None:
    clockwork = MemoryClockwork()
    clockwork.clients.put(ACME)
    made_with = clockwork.settings.ordered_shards
    ordered = request(new_job(delay_ms=5_000, ordering_key="k"))
    create_jobs(clockwork.world, ordered, ensure_shards(clockwork.world))
    clockwork.world = changed = with_ordered(clockwork, asked)
    assert tick(changed).refused
    assert len(all_shards(changed)) == changed.settings.shards + 1
    with pytest.raises(
        OrderedShardsChanged, match=f"ordered_shards is {asked}, but this stack was made with {made_with}"
    ):
        create_jobs(changed, ordered, ensure_shards(changed))
    create_jobs(changed, request(new_job(delay_ms=5_000)), ensure_shards(changed))
    clockwork.run_until(NOW + 100_000)
    assert len(clockwork.targets.delivered) == 2


def test_an_api_that_never_read_the_registry_refuses_too() -> None:
    clockwork = MemoryClockwork()
    clockwork.clients.put(ACME)
    ensure_shards(clockwork.world)
    with pytest.raises(OrderedShardsChanged):
        create_jobs(with_ordered(clockwork, 5), request(new_job(ordering_key="k")), plain_partitions(2))


def test_the_number_stands_from_the_first_ordered_shard_on(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = MemoryClockwork()
    register = clockwork.shards.register

    def dying(partition_id: str, status: ShardStatus = ShardStatus.USED) -> None:
        register(partition_id, status)
        if partition_id.startswith("o"):
            raise Unavailable("the ticker dies")

    with monkeypatch.context() as patched:
        patched.setattr(clockwork.shards, "register", dying)
        with pytest.raises(Unavailable):
            tick(clockwork.world)
    assert tick(with_ordered(clockwork, 1)).refused
    assert not tick(with_ordered(clockwork, 2)).refused
    assert set(ordered_partitions(2)) <= {shard.partition_id for shard in clockwork.shards.all()}


def test_a_stray_row_affects_itself_alone_and_is_named(caplog: pytest.LogCaptureFixture) -> None:
    clockwork = MemoryClockwork()
    clockwork.clients.put(ACME)
    clockwork.shards.register("o777")
    assert not tick(clockwork.world).refused
    assert {"o000", "o001", "o777"} == {one.partition_id for one in clockwork.shards.all() if "o" in one.partition_id}
    (told,) = [one for one in caplog.records if getattr(one, "action", "") == "stray_shards"]
    assert told.shards == ["o777"]  # type: ignore[attr-defined]
    create_jobs(clockwork.world, request(new_job(delay_ms=5_000, ordering_key="k")), ensure_shards(clockwork.world))
    clockwork.run_until(NOW + 100_000)
    assert len(clockwork.targets.delivered) == 1


@pytest.mark.parametrize("asked", [1, 2, 5])
def test_where_the_number_is_gone_the_shards_tell_it(asked: int) -> None:
    clockwork = MemoryClockwork()
    clockwork.clients.put(ACME)
    tick(clockwork.world)
    clockwork.shards.register("o777")
    clockwork.shards._ordered_count = None
    assert tick(with_ordered(clockwork, asked)).refused is (asked != 2)
    assert clockwork.shards.ordered_count(9) == 2


def test_an_odd_number_registers_nothing_and_is_refused_by_name() -> None:
    clockwork = MemoryClockwork()
    clockwork.clients.put(ACME)
    clockwork.shards.ordered_count(777)
    before = ensure_shards(clockwork.world)
    assert [one for one in clockwork.shards.all() if one.partition_id not in before] == []
    with pytest.raises(OrderedShardsChanged, match="this stack was made with 777"):
        create_jobs(clockwork.world, request(new_job(ordering_key="k")), before)


def test_nobody_polls_an_ordered_shard_before_the_first_job_is_put_there() -> None:
    clockwork = MemoryClockwork()
    clockwork.clients.put(ACME)
    plain = list(plain_partitions(clockwork.settings.shards))
    tick(clockwork.world)
    assert clockwork.invoker.asked == plain
    job = request(new_job(delay_ms=200_000, ordering_key="k"))
    create_jobs(clockwork.world, job, ensure_shards(clockwork.world))
    clockwork.invoker.asked.clear()
    tick(clockwork.world)
    (used,) = set(clockwork.invoker.asked) - set(plain)
    assert used in ordered_partitions(clockwork.settings.ordered_shards)
    clockwork.run_until(NOW + 300_000)
    assert len(clockwork.targets.delivered) == 1
