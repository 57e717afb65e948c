"""Races of creates and sweeps while shards are retired: they meet, die or lose an answer, and no job is lost."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clockwork.domain.errors import Unavailable
from clockwork.domain.requests.create import CreateRequest
from clockwork.domain.timeline import Shard, ShardStatus
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.sweep.shards import Retirements
from clockwork.flows.world import World
from tests.support.examples import new_job, request
from tests.support.shrinking import GIVEN_UP, Shrinking
from tests.support.turns import Turn


def losing(shrinking: Shrinking, number: int) -> Callable[[Shard, ShardStatus], bool]:
    """`Shards.change`, whose call with this number (from 0) is carried out, but its answer is lost."""
    change_it, made = shrinking.clockwork.shards.change, itertools.count()

    def changing(shard: Shard, status: ShardStatus) -> bool:
        done = change_it(shard, status)
        if next(made) == number:
            raise Unavailable("no answer")
        return done

    return changing


@pytest.mark.parametrize("number", [0, 1])
def test_a_sweep_whose_answer_is_lost_may_have_let_a_shard_go_and_loses_no_job(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrinking = Shrinking()
    with monkeypatch.context() as patched:
        patched.setattr(shrinking.clockwork.shards, "change", losing(shrinking, number))
        assert shrinking.remove() == Retirements(removed=3, kept=1)
    assert shrinking.status(GIVEN_UP) is (ShardStatus.LEFT if number else ShardStatus.LEAVING)
    job = shrinking.create(shrinking.before, GIVEN_UP, 300_000)
    assert shrinking.status(GIVEN_UP) is ShardStatus.USED
    assert shrinking.delivered() == [job.job_id]
    assert shrinking.remove() == Retirements(removed=1)


def test_a_create_whose_taking_back_got_no_answer_promises_nothing_and_its_repeat_is_one_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shrinking = Shrinking()
    shrinking.remove()
    asked = request(new_job(delay_ms=300_000), key="once")
    with monkeypatch.context() as patched:
        patched.setattr(shrinking.clockwork.shards, "change", losing(shrinking, 0))
        with pytest.raises(Unavailable):
            create_jobs(shrinking.before, asked, [GIVEN_UP])
    (job,) = create_jobs(shrinking.after, asked, ["p000"])
    assert shrinking.delivered() == [job.job_id]


def turns(shrinking: Shrinking, asked: CreateRequest) -> tuple[Turn, Turn, Turn]:
    """A create by the old deployment and two sweeps by the new one, each about to begin."""

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
    """Run a create (0) and two sweeps (1, 2) call by call in this order, and assert that the job is delivered.

    Afterwards a sweep dies if `dies` says so, else it runs to its end. `has_left`: the shard had been retired before.
    """
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


#: How many calls a create and a sweep make about the given-up shard, which is the first to be swept.
CREATE_CALLS, SWEEP_CALLS = 4, 6


def orders(first: int, second: int) -> list[tuple[int, ...]]:
    """Every interleaving of the first calls of a create (0) with the first calls of a sweep (1)."""
    places = itertools.combinations(range(first + second), first)
    return [tuple(0 if turn in taken else 1 for turn in range(first + second)) for taken in map(set, places)]


@pytest.mark.long
@pytest.mark.parametrize("has_left", [False, True])
def test_whatever_the_order_of_a_create_and_a_sweep_the_job_is_delivered(has_left: bool) -> None:
    for order in orders(CREATE_CALLS, SWEEP_CALLS):
        play(order, (False, False), 300_000, has_left=has_left)


@pytest.mark.long
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
