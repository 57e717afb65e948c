"""Scenes for moments that few seeds come to: each is played once for each call and fault, with that fault there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tests.simulation.branches import Arcs, measured
from tests.simulation.corners import CORNERS
from tests.simulation.faults import Fault
from tests.simulation.scenario import OnePoint, play

#: Many more calls than any scene makes without a fault, and fewer than one that goes in circles.
MOST_CALLS = 5_000
OTHERS = (Fault.OVERTAKEN, Fault.NEWER_RECORD, Fault.THROTTLED)
#: The faults that strike the calls of each scene. One whose calls are many is played as it is.
POINTS: Mapping[str, Sequence[Fault]] = {
    "deleted": (*OTHERS, Fault.ANSWER_LOST),
    "parked": (*OTHERS, Fault.ANSWER_LOST),
    "stopped": OTHERS,
    "unsendable": (*OTHERS, Fault.ANSWER_LOST),
    "completed": (Fault.THROTTLED,),
    "ended": (Fault.THROTTLED,),
    "pulled": (*OTHERS, Fault.ANSWER_LOST, Fault.SLOW),
    **dict.fromkeys(CORNERS, (*OTHERS, Fault.SLOW)),
    "looked_through": (Fault.OVERTAKEN, Fault.THROTTLED),
    **dict.fromkeys(("dead_run", "redriven_run"), (*OTHERS, Fault.ANSWER_LOST, Fault.CRASH_BEFORE, Fault.CRASH_AFTER)),
    **dict.fromkeys(("without_room", "left_by_its_client"), (*OTHERS, Fault.ANSWER_LOST)),
    "pools_written": (*OTHERS, Fault.SLOW, Fault.ANSWER_LOST),
    "crowded": (Fault.OVERTAKEN, Fault.THROTTLED, Fault.SLOW),
    "recast": (Fault.OVERTAKEN, Fault.THROTTLED),
    **dict.fromkeys(("shut", "short_of_permits", "flooded", "trickling"), ()),
    "stalled": (Fault.SLOW,),
    "healed": (Fault.THROTTLED, Fault.ANSWER_LOST, Fault.CRASH_BEFORE, Fault.CRASH_AFTER),
    "taken_over": (Fault.CRASH_BEFORE, Fault.CRASH_AFTER),
}


def violations_of(scene: str, faults: Sequence[Fault], *, sampled: bool = False) -> Iterator[str]:
    """The violations of a scene without a fault, and with each fault at each call that it may strike.

    With `sampled` every eighth call meets one of the faults that may strike it, and they take turns.
    """
    calm = OnePoint()
    watcher = play(calm, scene).watcher
    yield from (f"{scene}: {violation}" for violation in watcher.violations)
    if overshot := watcher.caps.rate_objection():
        yield f"{scene}: I8: {overshot}"
    if len(calm.calls) > MOST_CALLS:
        yield f"{scene}: L1: it makes {len(calm.calls)} calls, where {MOST_CALLS} are many: something goes in circles"
        return
    for number, (call, kinds) in enumerate(zip(calm.calls, calm.kinds, strict=True)):
        for fault in _chosen([fault for fault in faults if fault in kinds], number, sampled=sampled):
            stage = play(OnePoint(number, fault), scene)
            yield from (f"{fault} at call {number} of {scene}, {call}: {v}" for v in stage.watcher.violations)


def _chosen(possible: Sequence[Fault], number: int, *, sampled: bool) -> Sequence[Fault]:
    """The faults that strike the call with this number, of those that may."""
    if not sampled:
        return possible
    return [] if number % 8 or not possible else [possible[number // 8 % len(possible)]]


def go_through(scene: str) -> tuple[list[str], Arcs]:
    """The violations of a scene under its faults, and the branches of the flows that it took."""
    return measured(lambda: list(violations_of(scene, POINTS[scene])))
