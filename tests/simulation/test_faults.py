"""The adversary: every profile has its turn, and what is rare is struck early."""

from __future__ import annotations

import random

import pytest

from tests.simulation.__main__ import SEEDS_TO_MEET_ALL
from tests.simulation.faults import CALM, CURIOUS, DEFECTS, PROFILES, SHORT_LIVES, Adversary, Fault
from tests.simulation.outages import place_of_seed
from tests.simulation.points import POINTS, violations_of
from tests.simulation.run import is_curious, profile_of
from tests.simulation.scenes import FURTHER_SCENES, SCENES


def test_every_profile_has_its_turn_in_a_run_of_many_seeds() -> None:
    met = {profile_of(seed) for seed in range(SEEDS_TO_MEET_ALL) if place_of_seed(seed) is None}
    assert met == {*PROFILES, DEFECTS, SHORT_LIVES}
    assert any(map(is_curious, range(len(PROFILES))))


#: `make test` plays a scene once for every eighth call, and `make nightly` once for each call and fault.
SAMPLED = [True, pytest.param(False, marks=pytest.mark.nightly)]
WRITTEN_MEANWHILE = (Fault.OVERTAKEN, Fault.NEWER_RECORD)
#: The other scenes meet these faults among their rare moments.
MORE_SCENES = [one for one in (*SCENES, *FURTHER_SCENES) if not {*WRITTEN_MEANWHILE} <= {*POINTS.get(one, ())}]


@pytest.mark.parametrize("sampled", SAMPLED)
@pytest.mark.parametrize("scene", MORE_SCENES)
def test_the_invariants_hold_whoever_writes_first_and_whatever_cannot_be_read(scene: str, sampled: bool) -> None:
    assert list(violations_of(scene, WRITTEN_MEANWHILE, sampled=sampled)) == []


@pytest.mark.parametrize("sampled", SAMPLED)
@pytest.mark.parametrize("scene", POINTS)
def test_the_invariants_hold_in_rare_moments(scene: str, sampled: bool) -> None:
    assert list(violations_of(scene, POINTS[scene], sampled=sampled)) == []


def test_a_curious_adversary_strikes_a_place_of_the_flows_at_first_and_soon_hardly_ever() -> None:
    adversary = Adversary(random.Random(0), CURIOUS)
    struck: dict[int, list[bool]] = {}
    for place in range(200):
        code = compile("\n" * place + "ask()", "/clockwork/flows/somewhere.py", "eval")
        struck[place] = [bool(eval(code, {"ask": adversary.is_curious})) for _ in range(200)]
    first = sum(ones[0] for ones in struck.values())
    assert 90 < first < 150
    assert all(1 <= sum(ones) <= 20 for ones in struck.values())
    assert not Adversary(random.Random(0), CALM).is_curious()
