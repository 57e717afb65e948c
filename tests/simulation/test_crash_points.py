"""A process may die at any call, before or after its effect: the invariants hold, and every job ends."""

from __future__ import annotations

from itertools import cycle

import pytest

from tests.simulation.faults import Fault
from tests.simulation.scenario import OnePoint, play
from tests.simulation.scenes import FURTHER_SCENES, SCENES

#: In a scene of named jobs that is long, only these actors fail: they are who the scene is about.
FAILING = {
    "retimed": ("api", "poller"),
    "missed": ("api", "deliverer"),
    "held_back": ("api",),
    "skipping": ("api",),
}
ALL_SCENES = [*SCENES, *FURTHER_SCENES]


def _calls(scene: str) -> list[str]:
    """The port calls of a scene without faults."""
    adversary = OnePoint()
    stage = play(adversary, scene)
    assert stage.watcher.violations == []
    assert all(outcome != "unanswered" for _, outcome in stage.desk.outcomes), stage.desk.outcomes
    return adversary.calls


def test_the_scenario_takes_every_step() -> None:
    taken = {call.rpartition(" ")[2] for scene in SCENES for call in _calls(scene)}
    assert taken >= {
        "key_rows.claim",
        "timeline.put",
        "timeline.put_new",
        "timeline.find",
        "timeline.read",
        "timeline.cancel",
        "timeline.forget",
        "shards.list",
        "shards.register",
        "shards.get",
        "shards.acquire",
        "shards.commit",
        "invoker.poll",
        "jobs.get",
        "jobs.save",
        "releases.send",
        "visibility.hide",
        "executions.save",
        "executions.find",
        "executions.list",
        "regulation.reserve",
        "regulation.lease",
        "regulation.note_parked",
        "regulation.parked",
        "targets.begin",
        "targets.collect",
        "dead_letters.receive",
        "dead_letters.delete",
    }


def _fail_everywhere(scene: str, *faults: Fault, step: int = 1) -> None:
    """Play the scene once for each of its calls, or for every `step`th, which fails by the next of these faults."""
    in_turn = cycle(faults)
    failing = [(at, call) for at, call in enumerate(_calls(scene)) if call.startswith(FAILING.get(scene, ""))]
    for number, call in failing[::step]:
        fault = next(in_turn)
        stage = play(OnePoint(number, fault), scene)
        assert stage.watcher.violations == [], f"{fault} at call {number} of {scene}, {call}"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scene", ALL_SCENES)
def test_the_invariants_hold_wherever_a_process_fails(scene: str) -> None:
    _fail_everywhere(scene, Fault.CRASH_AFTER, Fault.THROTTLED, step=8)


@pytest.mark.nightly
@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ANSWER_LOST, Fault.THROTTLED])
@pytest.mark.parametrize("scene", ALL_SCENES)
def test_the_invariants_hold_whichever_fault_a_call_meets(scene: str, fault: Fault) -> None:
    _fail_everywhere(scene, fault)
