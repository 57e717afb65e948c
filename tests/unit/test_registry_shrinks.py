"""With fewer plain shards the others drain, then leave the registry; a shard that holds anything is not let go."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clockwork.domain.errors import OrderedShardsChanged, Unavailable
from clockwork.domain.jobs import RecordLevel
from clockwork.domain.keys import ordered_partitions, plain_partitions
from clockwork.domain.named import Definition
from clockwork.domain.requests import CreateRequest
from clockwork.domain.timeline import Standing
from clockwork.flows.authorise import identify, require_known
from clockwork.flows.cancel import cancel_job
from clockwork.flows.control import run_now
from clockwork.flows.create import CreatedJob, create_jobs
from clockwork.flows.environment import Environment
from clockwork.flows.named import NamedRequest, change, create_named, resumed
from clockwork.flows.registry import Leavings, all_shards, ensure_shards, remove_shards
from clockwork.flows.tick import tick
from clockwork.flows.world import World
from clockwork.memory.world import MemoryClockwork
from tests.examples import ACME, ALICE, NOW, TARGET, new_job, request
from tests.unit.turns import Turn

LATER = NOW + 1_000_000
GIVEN_UP = "p002"


class Shrinking:
    """A deployment with six plain shards that becomes one with two; both may be at work."""

    def __init__(self) -> None:
        self.clockwork = MemoryClockwork()
        self.clockwork.clients.put(ACME)
        self.before, self.after = self._with(6), self._with(2)
        ensure_shards(self.before)
        self.clockwork.world = self.after
        self.clockwork.poll_all()

    def _with(self, shards: int) -> World:
        world = self.clockwork.world
        return replace(world, settings=world.settings.with_(shards=shards), environment=Environment())

    def create(self, world: World, partition_id: str, delay_ms: int, record: RecordLevel = "full") -> CreatedJob:
        return create_jobs(world, request(new_job(delay_ms=delay_ms, record=record)), [partition_id])[0]

    def remove(self, world: World | None = None) -> Leavings:
        return remove_shards(world or self.after, self.clockwork.clock.at + 60_000)

    def standing(self, partition_id: str) -> Standing:
        return self.clockwork.shards.get([partition_id])[partition_id].standing

    def delivered(self) -> list[str]:
        self.clockwork.run_until(LATER)
        return [delivery.job_id for delivery in self.clockwork.targets.delivered]


def test_drained_shards_leave_the_registry_and_are_polled_no_more() -> None:
    shrinking = Shrinking()
    assert shrinking.remove() == Leavings(removed=4)
    assert list(all_shards(shrinking.after)) == [*ordered_partitions(2), *plain_partitions(2)]
    assert tick(shrinking.after).started == 4
    assert shrinking.remove() == Leavings()


def test_a_shard_that_holds_a_job_is_kept_until_that_is_delivered() -> None:
    shrinking = Shrinking()
    job = shrinking.create(shrinking.before, GIVEN_UP, 300_000)
    assert shrinking.remove() == Leavings(removed=3, kept=1)
    assert (shrinking.standing(GIVEN_UP), shrinking.standing("p004")) == (Standing.USED, Standing.LEFT)
    assert shrinking.delivered() == [job.job_id]
    assert shrinking.remove() == Leavings(removed=1)


def test_nothing_is_written_for_a_shard_that_plainly_holds_something(monkeypatch: pytest.MonkeyPatch) -> None:
    shrinking = Shrinking()
    for partition_id in plain_partitions(6):
        shrinking.create(shrinking.before, partition_id, 300_000)
    monkeypatch.setattr(shrinking.clockwork.shards, "change", lambda *_: pytest.fail("written"))
    assert shrinking.remove() == Leavings(kept=4)


def test_shards_within_the_setting_and_ordered_ones_never_leave() -> None:
    shrinking = Shrinking()
    assert shrinking.remove(shrinking.before) == Leavings()
    shrinking.remove()
    assert {shrinking.standing(one) for one in ("p000", "p001", "o000", "o001")} == {Standing.USED}


def test_an_api_of_the_deployment_before_brings_back_a_shard_that_has_left() -> None:
    shrinking = Shrinking()
    shrinking.remove()
    job = shrinking.create(shrinking.before, GIVEN_UP, 300_000)
    assert shrinking.standing(GIVEN_UP) is Standing.USED
    assert shrinking.remove() == Leavings(kept=1)
    assert shrinking.delivered() == [job.job_id]


@pytest.mark.parametrize("record", ["none", "full"])
def test_a_shard_that_comes_back_goes_on_where_it_was(record: RecordLevel) -> None:
    shrinking = Shrinking()
    first = shrinking.create(shrinking.before, GIVEN_UP, 5_000, record)
    shrinking.clockwork.run_until(NOW + 200_000)
    shrinking.remove()
    grown = shrinking.before
    assert GIVEN_UP in ensure_shards(grown)
    assert shrinking.standing(GIVEN_UP) is Standing.USED
    second = shrinking.create(grown, GIVEN_UP, 5_000, record)
    assert shrinking.delivered() == [first.job_id, second.job_id]


def test_a_job_in_a_shard_that_is_given_up_is_cancelled_like_any_other() -> None:
    shrinking = Shrinking()
    job = shrinking.create(shrinking.before, GIVEN_UP, 300_000)
    caller = require_known(shrinking.after, identify(shrinking.after, ALICE))
    cancel_job(shrinking.after, caller, job.job_id)
    assert shrinking.delivered() == []


def test_a_named_job_leaves_with_its_next_change_and_until_then_brings_its_shard_back() -> None:
    shrinking = Shrinking()
    at = NOW + 600_000
    definition = Definition(target=TARGET, payload=new_job().payload, record="full", at=at)
    wish = NamedRequest(client=ACME, job_key="k", as_sent=b"{}", definition=definition)
    job = create_named(shrinking.before, wish, [GIVEN_UP]).job
    assert shrinking.remove().kept == 1
    assert run_now(shrinking.after, job, None)
    assert create_named(shrinking.after, wish, plain_partitions(2)).job == job
    moved = change(shrinking.after, job, None, resumed(None)).job
    assert moved.partition_id in plain_partitions(2)
    delivered = shrinking.delivered()
    assert len(delivered) == len(set(delivered)) + 1 == 2
    assert shrinking.remove() == Leavings(removed=1)


def test_a_shard_whose_standing_cannot_be_written_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bool:
        raise Unavailable("throttled")

    shrinking = Shrinking()
    monkeypatch.setattr(shrinking.clockwork.shards, "change", fail)
    assert shrinking.remove() == Leavings(kept=4)


def test_nothing_is_promised_while_a_shard_cannot_be_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    shrinking = Shrinking()
    shrinking.remove()
    monkeypatch.setattr(shrinking.clockwork.shards, "change", lambda *_: False)
    with pytest.raises(Unavailable):
        shrinking.create(shrinking.before, GIVEN_UP, 300_000)


def turns(shrinking: Shrinking, asked: CreateRequest) -> tuple[Turn, Turn, Turn]:
    """A create of the deployment before, and two sweeps of the one after, each about to begin."""

    def create(world: World) -> object:
        return create_jobs(world, asked, [GIVEN_UP])

    def sweep(world: World) -> object:
        return shrinking.remove(world)

    ports = ("shards", "timeline")
    return (
        Turn(create, shrinking.before, ports),
        Turn(sweep, shrinking.after, ports),
        Turn(sweep, shrinking.after, ports),
    )


def play(order: tuple[int, ...], dies: tuple[bool, bool], delay_ms: int, *, has_left: bool = False) -> None:
    """The three take turns in this order; then sweeps that die do, and the others end. The job must be delivered."""
    shrinking = Shrinking()
    if has_left:
        shrinking.remove()
    actors = turns(shrinking, request(new_job(delay_ms=delay_ms)))
    for number in order:
        actors[number].step()
    for actor, died in zip(actors[1:], dies, strict=True):
        if died:
            actor.die()
    for actor in actors:
        actor.finish()
    assert [actor.fault for actor in actors] == [None, None, None]
    assert len(shrinking.delivered()) == 1, order


#: As many calls as they make of the shard in question, which is the first to be swept.
CREATE_CALLS, SWEEP_CALLS = 4, 6


def orders(first: int, second: int) -> list[tuple[int, ...]]:
    """Every order of a create's first calls among those of a sweep."""
    places = itertools.combinations(range(first + second), first)
    return [tuple(0 if turn in taken else 1 for turn in range(first + second)) for taken in map(set, places)]


@pytest.mark.parametrize("has_left", [False, True])
def test_whatever_the_order_of_a_create_and_a_sweep_the_job_is_delivered(has_left: bool) -> None:
    for order in orders(CREATE_CALLS, SWEEP_CALLS):
        play(order, (False, False), 300_000, has_left=has_left)


@given(
    order=st.lists(st.integers(0, 2), max_size=40).map(tuple),
    dies=st.tuples(st.booleans(), st.booleans()),
    delay_ms=st.sampled_from([0, 300_000]),
    has_left=st.booleans(),
)
def test_sweeps_that_meet_or_die_anywhere_lose_no_job(
    order: tuple[int, ...], dies: tuple[bool, bool], delay_ms: int, has_left: bool
) -> None:
    play(order, dies, delay_ms, has_left=has_left)


def with_ordered(clockwork: MemoryClockwork, ordered_shards: int) -> World:
    world = clockwork.world
    return replace(world, settings=world.settings.with_(ordered_shards=ordered_shards), environment=Environment())


@pytest.mark.parametrize("asked", [1, 3, 16])
def test_another_number_of_ordered_shards_is_refused_by_name_and_nothing_is_lost(asked: int) -> None:
    clockwork = MemoryClockwork()
    clockwork.clients.put(ACME)
    made_with = clockwork.settings.ordered_shards
    ordered = request(new_job(delay_ms=5_000, ordering_key="k"))
    create_jobs(clockwork.world, ordered, ensure_shards(clockwork.world))
    clockwork.world = changed = with_ordered(clockwork, asked)
    assert tick(changed).refused
    assert len(all_shards(changed)) == changed.settings.shards + made_with
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
    register: Callable[[str], None] = clockwork.shards.register

    def dying(partition_id: str) -> None:
        register(partition_id)
        if partition_id.startswith("o"):
            raise Unavailable("the ticker dies")

    with monkeypatch.context() as patched:
        patched.setattr(clockwork.shards, "register", dying)
        with pytest.raises(Unavailable):
            tick(clockwork.world)
    assert tick(with_ordered(clockwork, 1)).refused
    assert not tick(with_ordered(clockwork, 2)).refused
    assert set(ordered_partitions(2)) <= set(clockwork.shards.list())
