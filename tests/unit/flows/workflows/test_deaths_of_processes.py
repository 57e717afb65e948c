"""A process dies behind any write of a run, or gets no answer: the run ends as without that, and nothing runs twice.

One write after the other is the last of its process. The scene has a chain, a fan, a failure with its handler, a
condition, a payload that cannot be made, and a join.
"""

from __future__ import annotations

from collections import Counter

import pytest

from clockwork.domain.executions import State
from clockwork.domain.workflows.definition import Condition
from tests.support.dying import Crash, Dying, Way
from tests.support.examples import TARGET
from tests.support.flowing import Flowing, node

SCENE = {
    "a": node(),
    "b": node("a"),
    "c": node("a"),
    "never": node("a", conditions=(Condition("/input/day", is_=("sunday",)),)),
    "unmade": node("b", payload={"x": {"$from": "/nodes/b/result"}}),
    "undo": node("c", when="failed"),
    "join": node("b", "never"),
    "clean": node("join", "undo", "unmade", when="ended"),
}
STARTED = {"a", "b", "c", "undo", "join", "clean", "callback"}
MARKS = {
    "a": "ok",
    "b": "ok",
    "c": "bad",
    "never": "off",
    "unmade": "bad",
    "undo": "ok",
    "join": "ok",
    "clean": "ok",
}


def run_with(last: int, way: Way = "dies") -> tuple[Flowing, Dying]:
    flowing = Flowing(SCENE, fail="c", on_failure=TARGET)
    dying = Dying(flowing.clockwork.world, last, way)
    flowing.clockwork.world = dying.world
    until = flowing.clockwork.clock.at + 900_000
    while flowing.clockwork.clock.at < until:
        try:
            flowing.clockwork.run_until(until)
        except Crash:
            # The queue shows what that process held once its visibility is over.
            continue
    return flowing, dying


@pytest.mark.parametrize("way", ["dies", "mute", "refused"])
def test_a_run_ends_alike_whichever_write_is_the_last_of_its_process(way: Way) -> None:
    undisturbed, dying = run_with(0)
    assert sorted(undisturbed.started) == sorted(STARTED)
    assert undisturbed.marks == MARKS
    assert len(dying.calls) > 30
    for last in range(1, len(dying.calls) + 1):
        flowing, died = run_with(last, way)
        about = (last, died.calls[last - 1])
        assert flowing.record.state is State.DEAD, about
        assert flowing.marks == MARKS, about
        assert set(flowing.started) == STARTED, about
        # An attempt may be made once more if its process died before its outcome was recorded.
        assert max(Counter(flowing.started).values()) <= 2, about
        for name, record in flowing.records().items():
            assert record.is_final, (name, about)
            assert (record.state is State.SUCCEEDED) == (MARKS[name] == "ok"), (name, about)
        assert not flowing.clockwork.queue.messages, about
