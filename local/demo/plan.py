"""Plans the jobs of the demonstration: how many of each kind, to which target, and how soon they are due."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The case that a job shows; the value is its label in the table."""

    SOON = "due soon"
    FLAKY = "fails twice"
    CHANGED_MIND = "cancelled"
    LATER = "due in minutes"


class Channel(StrEnum):
    """The way in which a job is delivered."""

    WEBHOOK = "webhook"
    QUEUE = "SQS"


@dataclass(frozen=True)
class PlannedJob:
    """One job to create; `delay_ms` counts from the instant at which the API receives its create."""

    number: int
    kind: Kind
    channel: Channel
    delay_ms: int


#: How many jobs of each kind.
COUNTS = {Kind.SOON: 150, Kind.FLAKY: 15, Kind.CHANGED_MIND: 15, Kind.LATER: 20}
#: The shortest and the longest delay of a kind's jobs (ms). LATER lies beyond every horizon that a shard may have
#: published when these jobs are created, so that only a poller that a tick starts can find them.
WINDOWS_MS = {
    Kind.SOON: (3_000, 15_000),
    Kind.FLAKY: (3_000, 12_000),
    Kind.CHANGED_MIND: (20_000, 25_000),
    Kind.LATER: (90_000, 115_000),
}
WARM_UP_JOBS = 10
WARM_UP_DELAY_MS = 1_900
#: A target that fails answers this many attempts with 503; then it accepts.
FAILURES = 2


def plan(rng: random.Random) -> list[PlannedJob]:
    """All jobs in the order of their creation: the kinds mixed, the kinds of LATER last."""
    near = [kind for kind in (Kind.SOON, Kind.FLAKY, Kind.CHANGED_MIND) for _ in range(COUNTS[kind])]
    rng.shuffle(near)
    kinds = near + [Kind.LATER] * COUNTS[Kind.LATER]
    return [
        PlannedJob(number, kind, _channel(kind, number), rng.randrange(*WINDOWS_MS[kind]))
        for number, kind in enumerate(kinds)
    ]


def warm_up_wave() -> list[PlannedJob]:
    """Ten jobs for the warm-up, with a delay long enough for all to be in flight when the first is due."""
    return [
        PlannedJob(number, Kind.SOON, _channel(Kind.SOON, number), WARM_UP_DELAY_MS) for number in range(WARM_UP_JOBS)
    ]


def _channel(kind: Kind, number: int) -> Channel:
    """Every third job goes to the queue, but a job that must fail goes to the webhook, which can be made to fail."""
    return Channel.QUEUE if kind is not Kind.FLAKY and number % 3 == 2 else Channel.WEBHOOK
