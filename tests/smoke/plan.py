"""The load of a smoke: which jobs are asked for, and when. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from clockwork.domain.instants import to_text
from tests.chaos.load import EVERY_SECONDS, PATHS, RETRIES, TIMEOUT_SECONDS, Request
from tests.chaos.load import Kind as Target
from tests.smoke.scale import Scale


class Kind(StrEnum):
    """The kinds of jobs. Those behind STEADY are each for one type of target; all others go to webhooks."""

    LONE = "lone"
    HERD = "herd"
    ORDERED = "ordered"
    CRON = "cron"
    CANCELLED = "cancelled"
    RETRIED = "retried"
    STEADY = "steady"
    SQS = "sqs"
    FIFO = "sqsFifo"
    SEALED = "sqsKms"
    SNS = "sns"
    EVENTBRIDGE = "eventbridge"
    LAMBDA = "lambda"
    KAFKA = "kafka"


TARGETS = tuple(Kind)[tuple(Kind).index(Kind.STEADY) + 1 :]
#: A herd is the cheapest path, hundreds in one request; its jobs leave no record when they succeed.
_RECORDS = {Kind.HERD: "none"}
#: Time between the due instants of the jobs of one ordering key.
ORDERED_STEP_MS = 200
#: A job that is due soon is due so long after its request (ms).
_SOON_MS = (2_000, 8_000)
#: Enough for the answer to come before, on a busy machine, too.
_AHEAD_MS = 8_000
#: The load of the last seconds would have no time to come due.
_TAIL_SECONDS = 2


@dataclass(frozen=True)
class Ask:
    """A request, sent `offset_ms` after its load begins, for `jobs` that are due `delay_ms` later or soon after."""

    kind: Kind
    offset_ms: int
    delay_ms: int
    jobs: int = 1
    record: str = "full"


def mix(rng: random.Random, scale: Scale, targets: Collection[Kind]) -> list[Ask]:
    """Everything but the steady load, spread over the seconds of the scale; lone jobs are due at any millisecond."""
    last_ms = round((scale.seconds - _TAIL_SECONDS) * 1_000)

    def some(kind: Kind, count: int, jobs: int = 1, delay_ms: int = 0) -> Iterator[Ask]:
        for _ in range(count):
            delay = delay_ms or rng.randrange(*_SOON_MS)
            yield Ask(kind, rng.randrange(last_ms), delay, jobs, _RECORDS.get(kind, "full"))

    # First, so that these have come before the version changes.
    first = [
        *some(Kind.HERD, scale.herds, scale.herd_jobs, _AHEAD_MS),
        *some(Kind.CRON, scale.crons, scale.fires, _AHEAD_MS),
    ]
    asks = [
        *(replace(ask, offset_ms=0) for ask in first),
        *some(Kind.LONE, scale.lone),
        *some(Kind.ORDERED, scale.keys, scale.key_jobs, _AHEAD_MS),
        *some(Kind.CANCELLED, scale.cancels, delay_ms=_AHEAD_MS),
        *some(Kind.RETRIED, scale.retries),
        *(ask for kind in TARGETS if kind in targets for ask in some(kind, scale.each_target)),
    ]
    return sorted(asks, key=lambda ask: ask.offset_ms)


def steady(rng: random.Random, per_second: float, ended: Callable[[], bool]) -> Iterator[Ask]:
    """A steady load at both record levels in turns, until it is told to end."""
    number = 0
    while not ended():
        record = "full" if number % 2 == 0 else "none"
        yield Ask(Kind.STEADY, round(number * 1_000 / per_second), rng.randrange(*_SOON_MS), record=record)
        number += 1


def dues_of(ask: Ask, now: int) -> Sequence[Sequence[int]]:
    """The due instants (epoch ms) of each job of a request that is sent at `now`."""
    due_at = now + ask.delay_ms
    if ask.kind is Kind.HERD:
        return [[due_at // 1_000 * 1_000 + 1_000]] * ask.jobs
    if ask.kind is Kind.ORDERED:
        return [[due_at + number * ORDERED_STEP_MS] for number in range(ask.jobs)]
    if ask.kind is Kind.CRON:
        step_ms = EVERY_SECONDS * 1_000
        first = -(-due_at // step_ms) * step_ms
        return [[first + number * step_ms for number in range(ask.jobs)]]
    return [[due_at]]


def request_of(ask: Ask, url: str, targets: Mapping[Kind, Mapping[str, Any]], name: str, now: int) -> Request:
    """The request that is sent at `now`; webhooks go to addresses below `url`. `name` is unique to this request.

    Of the jobs of one ordering key the first fails once, as each retried job does.
    """
    dues = dues_of(ask, now)
    plain = {"payload": {"name": name}, "retryPolicy": RETRIES, "record": ask.record}

    def job(number: int) -> dict[str, Any]:
        fails = ask.kind is Kind.RETRIED or (ask.kind is Kind.ORDERED and number == 0)
        path = PATHS[Target.FLAKY] if fails else "/ok"
        webhook = {"type": "http", "url": url + path, "timeoutSeconds": TIMEOUT_SECONDS}
        return {**plain, "target": targets.get(ask.kind, webhook), "schedule": {"at": to_text(dues[number][0])}}

    if ask.kind is Kind.CRON:
        cron = {"cron": f"*/{EVERY_SECONDS} * * * * *", "startAt": to_text(dues[0][0]), "maxFires": ask.jobs}
        return Request("/v1/jobs", {**job(0), "jobKey": name, "schedule": {**cron, "catchUp": "all"}}, dues)
    if ask.jobs > 1:
        key = name if ask.kind is Kind.ORDERED else ""
        jobs = [{**job(number), **({"orderingKey": key} if key else {})} for number in range(ask.jobs)]
        return Request("/v1/jobs/batch", {"jobs": jobs}, dues, key)
    return Request("/v1/jobs", job(0), dues)
