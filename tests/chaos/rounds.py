"""A round: a load, a fault in the middle of it, the wait until every job has ended, and the audit."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from tests.chaos.audit import Audit, audit, faults
from tests.chaos.faults import LATE_SECONDS, Fault
from tests.chaos.load import ends_ms, plan
from tests.chaos.promises import Arrival, Key, Promise
from tests.chaos.scene import Scene

#: Length of a round's load, and its requests a second.
SECONDS = 14
PER_SECOND = 3.0
#: The first jobs are due this long after the load begins.
LEAD_SECONDS = 3
NEAR_MS = (1_500, 5_000)
#: Beyond the lookahead of the local stage, so that only a poller releases these jobs.
FAR_MS = (76_000, 80_000)
FAR_SECONDS = 4
#: Wait after the last due instant: visibility timeout, open circuit, leases and ticks may follow one another.
SETTLE_SECONDS = 180


@dataclass(frozen=True)
class Outcome:
    """The result of a round."""

    fault: Fault
    audit: Audit
    strikes: int
    repeats: int
    seconds: float

    @property
    def wrong(self) -> list[str]:
        """The faults found, as sentences; a fault that struck nothing counts, since its round proves nothing."""
        missed = [] if self.strikes else ["the fault struck nothing"]
        return missed + faults(self.audit, may_repeat=self.fault.may_repeat)

    def as_json(self) -> dict[str, Any]:
        """The figures as one JSON object."""
        return {**self.audit.as_json(), "strikes": self.strikes, "repeatedRequests": self.repeats}


def play(
    scene: Scene, fault: Fault, rng: random.Random, *, seconds: float = SECONDS, per_second: float = PER_SECOND
) -> Outcome:
    """One round from beginning to end."""
    began, seen = time.monotonic(), len(scene.target.arrivals())
    sender = scene.sender(f"{fault.name}-{rng.getrandbits(32):x}")
    far = fault.without_ticks
    asks = plan(
        rng, seconds=FAR_SECONDS if far else seconds, per_second=per_second, delays_ms=FAR_MS if far else NEAR_MS
    )
    with scene.deployment.without_ticks() if far else nullcontext(), ThreadPoolExecutor(1) as thread:
        sending_began = time.monotonic()
        sending = thread.submit(sender.send, asks)
        try:
            time.sleep(FAR_MS[0] / 1_000 - LATE_SECONDS if far else LEAD_SECONDS)
            strikes = fault.strike(scene, sender)
            sending.result()
        finally:
            sender.stop()
    last_due = sending_began + ends_ms(asks) / 1_000
    await_settled(scene, sender.promises, seen, last_due + SETTLE_SECONDS)
    promises, arrivals = sender.promises, scene.target.arrivals()[seen:]
    outcome = audit(promises, arrivals, ends_of_missing(scene, promises, arrivals))
    return Outcome(fault, outcome, strikes, sender.repeats, time.monotonic() - began)


def await_settled(scene: Scene, promises: Sequence[Promise], seen: int, until: float) -> None:
    """Waits until all jobs are due, all expected ones are accepted and no message is left; not beyond `until`."""
    expected = {promise.key for promise in promises if promise.expects_delivery}
    last_due_at = max(promise.key.due_at for promise in promises)
    while time.monotonic() < until:
        accepted = {arrival.key for arrival in scene.target.arrivals()[seen:] if arrival.accepted}
        if time.time() * 1_000 > last_due_at and expected <= accepted and not scene.waiting():
            return
        time.sleep(0.2)


def ends_of_missing(scene: Scene, promises: Sequence[Promise], arrivals: Sequence[Arrival]) -> dict[Key, str]:
    """The state in which the API shows each execution that should have been accepted and was not."""
    accepted = {arrival.key for arrival in arrivals if arrival.accepted}
    return scene.ends_of([p.key for p in promises if p.sure and not p.cancel and p.key not in accepted])
