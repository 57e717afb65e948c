"""Whatever queues come and go, each with work gets its turn within a bounded number of messages, and its share."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from clockwork_client.worker.draws import Draws

PRIORITIES = ("high", "normal", "low")
#: For so many messages of others low waits at the most: a round by tens, and the credit of who came back.
MOST_AWAITED = 220


def awaited(draws: Draws, count: int) -> int:
    """How many messages of others, by so many a call, come before the next of low while all have work."""
    waited = 0
    while (name := draws.next(PRIORITIES)) != "low":
        draws.charge(name, count)
        waited += count
    return waited


@pytest.mark.parametrize("count", [1, 10])
@pytest.mark.parametrize("away", range(1, 60, 4))
def test_who_was_away_for_a_moment_does_not_starve_low(away: int, count: int) -> None:
    draws = Draws(PRIORITIES)
    for _ in range(1_000):
        draws.charge(draws.next(PRIORITIES), count)
    for _ in range(away):
        draws.charge(draws.next(("low",)), count)
    assert awaited(draws, count) <= MOST_AWAITED


@pytest.mark.parametrize("seed", range(40))
def test_low_waits_for_a_bounded_number_of_messages_whoever_comes_and_goes(seed: int) -> None:
    chance = random.Random(seed)
    draws, waited, most, stays = Draws(PRIORITIES), 0, 0, chance.random()
    others = list[str]()
    for _ in range(5_000):
        if chance.random() > stays:
            others = [name for name in ("high", "normal") if chance.random() < 0.5]
        name = draws.next(("low", *others))
        draws.charge(name, 10)
        got = chance.choice((0, 1, 10, 10, 10))
        draws.charge(name, got - 10)
        waited = 0 if name == "low" else waited + got
        most = max(most, waited)
    assert most <= MOST_AWAITED


def test_who_comes_does_not_wait_for_what_others_were_charged_and_did_not_get() -> None:
    draws = Draws(PRIORITIES)
    for _ in range(8):
        draws.charge(draws.next(("low",)), 10)
    draws.charge("low", -79)
    draws.charge(draws.next(("low",)), 1)
    drawn = list[str]()
    for _ in range(13):
        drawn.append(draws.next(PRIORITIES))
        draws.charge(drawn[-1], 1)
    assert drawn.count("high") >= 7


@pytest.mark.parametrize("count", [1, 10])
@pytest.mark.parametrize("falsely_empty", [PRIORITIES[:1], PRIORITIES[1:2], PRIORITIES[2:], PRIORITIES])
def test_shares_stay_although_one_poll_in_five_finds_nothing(falsely_empty: tuple[str, ...], count: int) -> None:
    chance = random.Random(7)
    draws, found = Draws(PRIORITIES), dict.fromkeys(PRIORITIES, 0)
    at_work = set[str]()
    for _ in range(26_000):
        seen = {name for name in PRIORITIES if name not in falsely_empty or chance.random() > 0.2}
        at_work = seen or at_work
        name = draws.next(at_work)
        draws.charge(name, count)
        found[name] += count
    assert parts(found.values()) == pytest.approx([8, 4, 1], rel=0.12)


def parts(found: Iterable[int]) -> list[float]:
    """Of thirteen, how many each has."""
    counted = list(found)
    return [13 * one / sum(counted) for one in counted]
