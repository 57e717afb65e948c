"""What the demonstration asks of the scheduler: which jobs, to where, how soon."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Why a job is there; the value is what the table calls it."""

    SOON = "due soon"
    FLAKY = "fails twice"
    CHANGED_MIND = "cancelled"
    LATER = "due in minutes"


class Channel(StrEnum):
    """How a job is delivered."""

    WEBHOOK = "webhook"
    QUEUE = "SQS"


@dataclass(frozen=True)
class PlannedJob:
    """One job to create; `delay_ms` is counted from when its create is received."""

    number: int
    kind: Kind
    channel: Channel
    delay_ms: int


#: How many of each kind.
COUNTS = {Kind.SOON: 150, Kind.FLAKY: 15, Kind.CHANGED_MIND: 15, Kind.LATER: 20}
#: From when to when the jobs of a kind are due (ms). LATER is beyond every horizon that a shard may have published
#: when its jobs are created, so that nothing but a poller that a tick starts can find them.
WINDOWS_MS = {
    Kind.SOON: (3_000, 15_000),
    Kind.FLAKY: (3_000, 12_000),
    Kind.CHANGED_MIND: (20_000, 25_000),
    Kind.LATER: (90_000, 115_000),
}
WARM_UP_JOBS = 10
WARM_UP_DELAY_MS = 1_900
#: A target that fails answers so many attempts with 503; then it accepts.
FAILURES = 2


def plan(rng: random.Random) -> list[PlannedJob]:
    """All jobs in the order of their creation: mixed, those of LATER last."""
    near = [kind for kind in (Kind.SOON, Kind.FLAKY, Kind.CHANGED_MIND) for _ in range(COUNTS[kind])]
    rng.shuffle(near)
    kinds = near + [Kind.LATER] * COUNTS[Kind.LATER]
    return [
        PlannedJob(number, kind, _channel(kind, number), rng.randrange(*WINDOWS_MS[kind]))
        for number, kind in enumerate(kinds)
    ]


def warm_up_wave() -> list[PlannedJob]:
    """Ten jobs for before: their delay is long enough for all to be in flight when the first is due."""
    return [
        PlannedJob(number, Kind.SOON, _channel(Kind.SOON, number), WARM_UP_DELAY_MS) for number in range(WARM_UP_JOBS)
    ]


def _channel(kind: Kind, number: int) -> Channel:
    """Every third goes to the queue, but what must fail goes where failing can be arranged."""
    return Channel.QUEUE if kind is not Kind.FLAKY and number % 3 == 2 else Channel.WEBHOOK
