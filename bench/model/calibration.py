"""Calibrates the model: with the local stack's constants it must predict the local stack's lateness.

The model cannot know how long a deliverer takes from a due instant to an arrival. For a lone job `bench.lateness`
measures it on the stack, apart from the load that is to be predicted. For the jobs that follow in the same batch this
file measures it, with the deliverer's own code and no emulator. The other constants are `EMULATOR`.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.arrivals.lateness_jobs import COUNTED, Load
from bench.arrivals.target import Target
from bench.model.limits import EMULATOR, Limits
from bench.model.rows import row_kind
from bench.model.run import Stack
from bench.model.world import Deployment
from clockwork.aws.clock import SystemClock
from clockwork.aws.targets.http import HttpTransport
from clockwork.aws.targets.threads import ThreadedTargets
from clockwork.domain import keys
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.jobs import HttpTarget, Occurrence, Payload
from clockwork.domain.releases import Release
from clockwork.domain.storage.codec import encode_release
from clockwork.flows.deliver.bundles import Message
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings

BATCH = 10
ROUNDS = 12
ROUNDS_APART = 4
#: Time between two deliveries that are due apart: as in the steady part of `bench.lateness`.
STEP_MS = 50
HOLD_MS = 60
#: The first rounds open connections and start threads.
WARM_UP_ROUNDS = 2
TOLERANCE = 0.3


@dataclass(frozen=True)
class Starts:
    """Times from a due instant to the first arrival of a batch, and from each arrival to the next (ms)."""

    first_ms: float
    next_ms: float


@dataclass(frozen=True)
class Lateness:
    """Percentiles of lateness, in ms."""

    p50_ms: float
    p99_ms: float


@dataclass(frozen=True)
class Calibration:
    """The measured lateness (None: not on this machine yet), and the lateness that the model predicts for that load.

    The medians are compared: the tail of the local stack comes from other work of the machine, which no model knows.
    """

    starts: Starts
    measured: Lateness | None
    predicted: Lateness

    @property
    def error(self) -> float | None:
        """The prediction's distance from the measured median, as a share of that; None without a measurement."""
        if self.measured is None:
            return None
        return relative_error(self.predicted.p50_ms, self.measured.p50_ms)


def relative_error(predicted: float, measured: float) -> float:
    """The distance as a share of the measured value, which is not 0."""
    return abs(predicted - measured) / measured


def starts_of(apart: Sequence[float], together: Sequence[Sequence[float]]) -> Starts:
    """The medians of both times, from the lateness (ms) of deliveries due apart, and of batches due together."""
    steps = [(max(late) - min(late)) / (len(late) - 1) for late in together]
    return Starts(round(statistics.median(apart), 2), round(statistics.median(steps), 2))


class _NoSecrets:
    """A store without secrets, since no delivery is signed here."""

    def get(self, name: str) -> str:
        raise KeyError(name)


def measure_starts() -> Starts:
    """Measure batches of ten, due apart or on one millisecond, from the deliverer's flow to a receiver in a thread."""
    clock = SystemClock()
    targets = ThreadedTargets({HttpTarget: HttpTransport(clock, _NoSecrets())}, clock)
    world = replace(MemoryClockwork().world, clock=clock, targets=targets)

    def lateness(target: Target, number: int, step_ms: int) -> list[float]:
        first_at = clock.now() + HOLD_MS
        due_at = {number * BATCH + place: first_at + place * step_ms for place in range(BATCH)}
        messages = [_message(target.url(slot), at, slot) for slot, at in due_at.items()]
        deliver_batch(world, messages, first_at + 30_000)
        arrivals = target.arrivals()
        return [arrivals[slot][0] - at for slot, at in due_at.items()]

    with Target() as target:
        together = [lateness(target, number, 0) for number in range(WARM_UP_ROUNDS + ROUNDS)][WARM_UP_ROUNDS:]
        apart = [lateness(target, len(together) + WARM_UP_ROUNDS + number, STEP_MS) for number in range(ROUNDS_APART)]
    targets.close()
    return starts_of([late for some in apart for late in some], together)


def _message(url: str, due_at: int, number: int) -> Message:
    job = AnonymousJob("p000", keys.row_key(due_at, f"calibration-{number}"), 0)
    target = HttpTarget(url=url, private=True)
    occurrence = Occurrence(client_id="bench", due_at=due_at, created_at=due_at, target=target, payload=Payload(b"{}"))
    return Message(str(number), encode_release(Release(job.job_id, occurrence, due_at)))


def predict(load: Load, starts: Starts) -> Lateness:
    """The lateness that the model predicts for the local stack under the load of `bench.lateness`."""
    limits: Limits = replace(EMULATOR, first_start_ms=starts.first_ms, next_start_ms=starts.next_ms)
    deployment = Deployment(settings=Settings.for_local(), warm_writes=EMULATOR.partition_writes, warm_environments=10)
    stack = Stack(deployment, limits, jittered_ticks=False)
    begins_at = 120_000
    for job in load.jobs():
        if job.part in COUNTED:
            shard = stack.shards[stack.world.rng.randrange(len(stack.shards))]
            shard.put(begins_at + job.offset_ms, row_kind(1))
    stack.run(begins_at + (load.seconds + 60) * 1_000)
    late = stack.world.tally.lateness
    return Lateness(round(late.percentile(0.5), 1), round(late.percentile(0.99), 1))


def calibrate(result: Path) -> Calibration:
    """Predict, and compare with the result that `bench.lateness` left, if there is one."""
    starts, measured, load = measure_starts(), None, Load()
    if result.exists():
        kept = json.loads(result.read_text(encoding="utf-8"))
        starts, measured = Starts(kept["loneP50Ms"], starts.next_ms), Lateness(kept["p50Ms"], kept["p99Ms"])
        load = Load(per_second=kept["perSecond"], seconds=kept["seconds"], herd=kept["herd"])
    return Calibration(starts, measured, predict(load, starts))
