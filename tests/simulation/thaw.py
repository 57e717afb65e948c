"""Thawed environments: an invocation is over, its environment stands still, and minutes later what is left of it runs.

Its claims have ended by then, and its messages are in other hands. Nobody hears its answer.
"""

from __future__ import annotations

from tests.simulation.faults import Adversary, Fault
from tests.simulation.scheduler import Actor, Scheduler

#: How often a deliverer that runs out of time is frozen instead of killed, where machines fail at all.
RATE = 0.5
#: How long it stands still, and how long it may run then (ms).
FROZEN_MS = 60_000, 600_000
THAWED_MS = 60_000


def freezes(actor: Actor, scheduler: Scheduler, adversary: Adversary) -> bool:
    """Whether a deliverer whose time is over is frozen, to go on later, instead of killed."""
    if actor.name != "deliverer" or not adversary.profile.machines or not adversary.strikes(Fault.THAWED, RATE):
        return False
    frozen_ms = adversary.rng.randrange(*FROZEN_MS)
    actor.freeze(scheduler.now + frozen_ms)
    scheduler.after(frozen_ms + THAWED_MS, actor.kill)
    return True
