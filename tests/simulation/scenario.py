"""A fixed scenario of several scenes that takes every step there is, to be killed at each call in turn."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

from clockwork.settings import Settings
from tests.simulation.administering import SPEC
from tests.simulation.clients import Step
from tests.simulation.corners import CORNERS
from tests.simulation.faults import CALM, Adversary, Fault
from tests.simulation.fleet import POOL
from tests.simulation.pulling import PULLING
from tests.simulation.requests import CLIENTS
from tests.simulation.scenes import FURTHER_SCENES, SCENES
from tests.simulation.stage import BEGAN_AT, Stage

#: Few shards and ticks: calls of idle polls would be killed one by one, too.
SETTINGS = Settings.for_account().with_(
    shards=1,
    ordered_shards=1,
    tick_seconds=400,
    sweep_seconds=300,
    lookahead_seconds=840,
    max_receive_count=2,
    commit_occurrences=3,
    deliverer_timeout_seconds=20,
    visibility_seconds=30,
)


_WITH_POOL = SETTINGS.with_(pools=(SPEC,), release_queue_url="https://sqs.us-east-1.amazonaws.com/1/Release")
_FEW_POLLS = SETTINGS.with_(tick_seconds=100, lookahead_seconds=70, commit_occurrences=500)
#: Where a poller dies in the scene of a period that is replaced, fires come due before the next poller. In the pause of
#: the scene of what is held back no poller drops the pointer of before the pause.
BRIEF = {
    "retimed": _FEW_POLLS,
    "held_back": _FEW_POLLS,
    "deleted_behind_circuit": SETTINGS.with_(circuit_least_outcomes=2),
    **dict.fromkeys(("pulled", "pools_written", *PULLING), _WITH_POOL),
    "outlived": SETTINGS.with_(takes_unsigned=True),
    "shut": SETTINGS.with_(circuit_least_outcomes=3),
}


class OnePoint(Adversary):
    """Strikes only call number `number`, counted from 0. Without a fault it only counts the calls."""

    def __init__(self, number: int = -1, fault: Fault | None = None) -> None:
        super().__init__(random.Random(0), CALM)
        self._number = number
        self._fault = fault
        self.calls: list[str] = []
        #: The faults that may strike each call.
        self.kinds: list[tuple[Fault, ...]] = []

    @property
    def is_active(self) -> bool:
        """False: no client loses patience, and no repeat leaves jobs out."""
        return False

    @property
    def is_done(self) -> bool:
        """False: its one fault may be to come."""
        return False

    def on_call(self, actor: str, call: str, kinds: tuple[Fault, ...], *, surely: bool = False) -> Fault | None:
        self.calls.append(f"{actor} {call.split()[0]}")
        self.kinds.append(kinds)
        return self._fault if len(self.calls) == self._number + 1 and self._fault in kinds else None


def play(adversary: Adversary, scene: str, make_stage: Callable[[Settings, Adversary], Stage] | None = None) -> Stage:
    """Plays a scene from beginning to end, under an adversary."""
    settings = BRIEF.get(scene, SETTINGS)
    stage = make_stage(settings, adversary) if make_stage is not None else Stage(0, settings, adversary)
    if scene == "pulled" or scene in PULLING:
        if scene != "keyless":
            stage.stores.ticket_keys.make("key of the scene")
        stage.stores.pools.put(POOL, replaces=0)
    steps = {**SCENES, **FURTHER_SCENES, **CORNERS}[scene]()
    for number, (at, work) in enumerate(steps):
        step = Step(at, f"{scene} {number}", CLIENTS[0], number)
        stage.scheduler.after(at, partial(stage.desk.carry_out, step, work))
    stage.all_due_at = BEGAN_AT
    stage.run(max(at for at, _ in steps) + 1_000)
    return stage
