"""The simulator as part of every test run: some seeds, seeds that once found something, and that a seed repeats."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.simulation.faults import PROFILES
from tests.simulation.mutants.named import NAMED
from tests.simulation.mutants.trial import broken
from tests.simulation.run import Run
from tests.simulation.shrink import shrink

#: Every profile several times.
SEEDS = range(5 * len(PROFILES))
#: What it once found. Profiles go by the seed, so these stay what they are while their number does.
REGRESSIONS = {
    42: "a commit that was lost on its way arrived after a later one and moved the cursor back (memory's shards)",
    174: "the same under every kind of fault at once",
    192: "a release of nothing was a call all the same",
}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """What the flows log of injected faults is expected."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("seed", [*SEEDS, *REGRESSIONS])
def test_the_invariants_hold(seed: int) -> None:
    assert Run(seed).go().violations == []


@pytest.mark.parametrize("seed", [3, 10])
def test_a_seed_repeats_exactly(seed: int) -> None:
    first, second = Run(seed).go(), Run(seed).go()
    assert first.history.digest() == second.history.digest()
    assert first.faults == second.faults


def test_two_seeds_go_different_ways() -> None:
    assert Run(1).go().history.digest() != Run(1 + len(PROFILES)).go().history.digest()


def test_a_violation_is_made_smaller_and_fails_again_as_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clockwork.flows.place._release_again", lambda world, rows: None)
    failed = next(result for result in (Run(seed).go() for seed in SEEDS) if result.violations)
    smallest, operations, faults = shrink(failed)
    again = Run(failed.seed, operations, faults).go()
    assert operations < failed.operations
    assert again.violations == smallest.violations
    assert again.violations[0].invariant == failed.violations[0].invariant


@pytest.mark.parametrize("mutant", NAMED, ids=lambda mutant: mutant.name)
def test_a_named_mutant_still_has_its_line(mutant: object) -> None:
    with broken(mutant) as place:  # type: ignore[arg-type]
        assert (place / "clockwork" / "flows" / "place.py").exists()
