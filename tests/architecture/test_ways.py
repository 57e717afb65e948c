"""The ways of one job through the core stay short: the bounds say how much code a reader has to follow.

A way that has grown is shortened, or its bound is raised on purpose: `python -m tests.architecture.ways --list deliver`
shows the functions.
"""

from __future__ import annotations

import pytest

from tests.architecture.ways import Way, walked, ways

#: The most functions, and the most file switches, of each way.
BOUNDS = {
    "create": (31, 25),
    "poll": (95, 95),
    "deliver": (148, 177),
    "deliver_named": (181, 209),
    "claim": (165, 186),
    "outcome": (58, 47),
}


@pytest.fixture(scope="module")
def found() -> dict[str, Way]:
    return ways()


def test_each_way_has_a_bound(found: dict[str, Way]) -> None:
    assert found.keys() == BOUNDS.keys()


@pytest.mark.parametrize("name", BOUNDS)
def test_a_way_is_no_longer_than_its_bounds(found: dict[str, Way], name: str) -> None:
    way, (functions, switches) = found[name], BOUNDS[name]
    assert len(way.functions) <= functions, way.functions
    assert way.switches <= switches
    # A bound that is far above what is measured holds nothing.
    assert len(way.functions) >= 0.7 * functions and way.switches >= 0.7 * switches


def test_a_way_counts_functions_of_the_core_alone() -> None:
    assert walked(lambda: sorted([3, 1])).as_json() == {"functions": 0, "files": 0, "switches": 0}
