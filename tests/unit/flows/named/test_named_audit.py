"""The audit of named jobs: it finds and repairs a broken chain of fires, and repeats no fire."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.domain.keys import row_key
from clockwork.flows.named.repair import check_chain
from tests.support.named import Named


def test_a_broken_chain_is_repaired_and_a_whole_one_left_alone() -> None:
    named = Named()
    named.run(25)
    assert not check_chain(named.clockwork.world, named.stored)
    _lose_the_pointer(named)
    named.run(100)
    assert check_chain(named.clockwork.world, named.stored)
    assert not check_chain(named.clockwork.world, named.stored)
    assert named.run(40)[-1] == 160.0


def _lose_the_pointer(named: Named) -> None:
    rows = named.clockwork.timeline._rows[named.job.partition_id]
    for key in list(rows):
        if key > row_key(named.clockwork.clock.at, ""):
            named.clockwork.timeline._keys[named.job.partition_id].remove(key)
            del rows[key]


@pytest.mark.parametrize("catch_up", ["all", "latest"])
def test_the_rest_of_a_chain_that_ends_before_the_horizon_is_found_though_no_pointer_tells_of_it(catch_up: str) -> None:
    named = _with_lost_releases(max_fires=6, catch_up=catch_up)
    named.run(100)
    assert not check_chain(named.clockwork.world, named.stored), "its releases may be under way"
    named.run(301)
    assert check_chain(named.clockwork.world, named.stored)
    named.run(60)
    assert next((e.due_at - named.start) / 1000 for e in named.executions() if e.end.skipped is None) == 60.0
    assert sum(1 if e.end.skipped is None else e.end.skipped.count for e in named.executions()) == 6
    assert not check_chain(named.clockwork.world, named.stored)


def test_the_rest_of_a_chain_is_not_looked_for_again_once_a_stretch_of_skipped_fires_tells_of_it() -> None:
    named = _with_lost_releases(max_fires=6, catch_up="none")
    named.run(401)
    assert check_chain(named.clockwork.world, named.stored)
    assert [e.end.skipped and e.end.skipped.count for e in named.executions()] == [6]
    assert not check_chain(named.clockwork.world, named.stored)


def _with_lost_releases(**definition: Any) -> Named:
    """A job whose chain ends before the horizon, as a call leaves it that dies between its row and its releases."""
    named = Named()
    named.run(5)
    named.job = named.create("late", **definition).job
    named.clockwork.queue.messages.clear()
    return named
