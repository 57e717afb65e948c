"""Random workflows hold W1 to W9 under random interleavings of the shipped flows, with deaths and duplicates."""

from __future__ import annotations

import pytest

from tests.model.runs import walk


@pytest.mark.parametrize("seeds", [12, pytest.param(120, marks=pytest.mark.nightly)])
def test_random_runs_hold_their_rules_whoever_comes_when_and_dies_where(seeds: int) -> None:
    walked = [walk(seed) for seed in range(seeds)]
    # The walks reach what they are about.
    states = {state for runs in walked for state, _ in runs.ends}
    assert {state.value for state in states} == {"SUCCEEDED", "DEAD", "CANCELLED"}
    assert sum(runs.opened for runs in walked) > seeds / 12
    assert sum(runs.listed is not None for runs in walked) > seeds / 12
    assert sum(runs.faults > 0 for runs in walked) > seeds / 3
