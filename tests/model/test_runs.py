"""Random workflows hold W1 to W9 under random interleavings of the shipped flows, with deaths and duplicates."""

from __future__ import annotations

from tests.model.runs import walk

SEEDS = 120


def test_random_runs_hold_their_rules_whoever_comes_when_and_dies_where() -> None:
    walked = [walk(seed) for seed in range(SEEDS)]
    # The walks reach what they are about.
    states = {state for runs in walked for state, _ in runs.ends}
    assert {state.value for state in states} == {"SUCCEEDED", "DEAD", "CANCELLED"}
    assert sum(runs.opened for runs in walked) > 10
    assert sum(runs.listed is not None for runs in walked) > 10
    assert sum(runs.faults > 0 for runs in walked) > 40
