"""Whatever call a process dies at, before its effect or after: the invariants hold, and everything ends."""

from __future__ import annotations

import pytest

from tests.simulation.faults import Fault
from tests.simulation.scenario import OnePoint, play


@pytest.fixture(scope="module")
def calls() -> list[str]:
    """The port calls of the scenario when nothing goes wrong."""
    adversary = OnePoint()
    stage = play(adversary)
    assert stage.watcher.violations == []
    return adversary.calls


def test_the_scenario_takes_every_step(calls: list[str]) -> None:
    taken = {call.rpartition(" ")[2] for call in calls}
    assert taken >= {
        "key_rows.claim",
        "timeline.put",
        "timeline.put_new",
        "timeline.find",
        "timeline.read",
        "timeline.cancel",
        "shards.list",
        "shards.register",
        "shards.get",
        "shards.acquire",
        "shards.commit",
        "invoker.poll",
        "releases.send",
        "executions.save",
        "executions.find",
        "targets.begin",
        "targets.collect",
        "dead_letters.receive",
        "dead_letters.delete",
    }


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ANSWER_LOST])
def test_the_invariants_hold_wherever_a_process_fails(calls: list[str], fault: Fault) -> None:
    for number, call in enumerate(calls):
        stage = play(OnePoint(number, fault))
        assert stage.watcher.violations == [], f"{fault} at call {number}, {call}"
