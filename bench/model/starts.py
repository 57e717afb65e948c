"""Measures how fast a deliverer starts the jobs of a batch, with its own code and no emulator."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.arrivals.target import Target
from clockwork.aws.clock import SystemClock
from clockwork.aws.targets.http import HttpTransport
from clockwork.aws.targets.threads import ThreadedTargets
from clockwork.domain import keys
from clockwork.domain.clients import Client
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.jobs import Occurrence
from clockwork.domain.releases import Deliver, Of
from clockwork.domain.storage.codec import encode_release
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.memory.world import MemoryClockwork
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload

CLIENT = "bench"
BATCH = 10
ROUNDS = 12
ROUNDS_APART = 4
#: Time between two deliveries that are due apart: as in the steady part of `bench.lateness`.
STEP_MS = 50
HOLD_MS = 60
#: The first rounds open connections and start threads.
WARM_UP_ROUNDS = 2


@dataclass(frozen=True)
class Starts:
    """Times from a due instant to the first arrival of a batch, and from each arrival to the next (ms)."""

    first_ms: float
    next_ms: float


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
    transport = HttpTransport(clock, _NoSecrets())
    targets = ThreadedTargets({HttpTarget: transport}, clock)
    clockwork = MemoryClockwork()
    world = clockwork.world.with_(clock=clock, targets=targets)

    def lateness(target: Target, number: int, step_ms: int) -> list[float]:
        first_at = clock.now() + HOLD_MS
        due_at = {number * BATCH + place: first_at + place * step_ms for place in range(BATCH)}
        messages = [_message(target.url(slot), at, slot) for slot, at in due_at.items()]
        deliver_batch(world, messages, first_at + 30_000)
        arrivals = target.arrivals()
        return [arrivals[slot][0] - at for slot, at in due_at.items()]

    with Target() as target:
        clockwork.clients.put(Client(client_id=CLIENT, allowed_private_targets=(target.place,)))
        together = [lateness(target, number, 0) for number in range(WARM_UP_ROUNDS + ROUNDS)][WARM_UP_ROUNDS:]
        apart = [lateness(target, len(together) + WARM_UP_ROUNDS + number, STEP_MS) for number in range(ROUNDS_APART)]
    targets.close()
    transport.close()
    return starts_of([late for some in apart for late in some], together)


def _message(url: str, due_at: int, number: int) -> Message:
    job = AnonymousJob("p000", keys.row_key(due_at, f"calibration-{number}"), 0)
    target = HttpTarget(url=url, private=True)
    occurrence = Occurrence(client_id=CLIENT, due_at=due_at, created_at=due_at, target=target, payload=Payload(b"{}"))
    return Message(str(number), encode_release(Deliver(Of(job.job_id), occurrence, due_at)))
