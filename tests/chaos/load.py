"""The load of a round: which jobs are requested, and when, with all kinds mixed. Pure."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from clockwork.domain.instants import to_text


class Kind(StrEnum):
    """The kinds of jobs in the load; each shows one promise of the API."""

    FULL = "one-shot, full"
    NONE = "one-shot, none"
    NAMED = "named one-shot"
    BATCH = "batch"
    ORDERED = "ordered batch"
    RECURRING = "recurring"
    FLAKY = "fails once"
    CANCELLED = "cancelled"
    HOPELESS = "never accepted"


#: How many requests of each kind are among twenty.
MIX = {
    Kind.FULL: 5,
    Kind.NONE: 5,
    Kind.FLAKY: 2,
    Kind.NAMED: 2,
    Kind.CANCELLED: 2,
    Kind.BATCH: 1,
    Kind.ORDERED: 1,
    Kind.RECURRING: 1,
    Kind.HOPELESS: 1,
}
PATHS = {Kind.FLAKY: "/flaky", Kind.HOPELESS: "/hopeless"}
BATCH_JOBS = 8
ORDERED_JOBS = 4
JOBS = {Kind.BATCH: BATCH_JOBS, Kind.ORDERED: ORDERED_JOBS}
#: Time between the due instants of a batch's jobs; a recurring job fires every EVERY_SECONDS.
BATCH_STEP_MS = 300
EVERY_SECONDS = 2
FIRES = 5
#: Enough retries to outlast every fault; a job that its target never accepts is given up soon.
RETRIES = {"maxAttempts": 50, "backoff": "fixed", "initialSeconds": 1, "jitter": "none"}
FEW_RETRIES = {**RETRIES, "maxAttempts": 2}
TIMEOUT_SECONDS = 5


@dataclass(frozen=True)
class Ask:
    """A request to create, sent `offset_ms` after the load begins; its first occurrence is due `delay_ms` later."""

    kind: Kind
    offset_ms: int
    delay_ms: int
    #: How many fires a recurring job has.
    fires: int = FIRES


def plan(rng: random.Random, *, seconds: float, per_second: float, delays_ms: tuple[int, int]) -> list[Ask]:
    """Plans requests at a steady rate; each twenty of them contain MIX, in an order drawn from `rng`."""
    step_ms = 1_000 / per_second
    kinds: list[Kind] = []
    while len(kinds) < seconds * per_second:
        twenty = [kind for kind, count in MIX.items() for _ in range(count)]
        rng.shuffle(twenty)
        kinds += twenty
    return [
        Ask(kind, round(number * step_ms), rng.randrange(*delays_ms))
        for number, kind in enumerate(kinds[: int(seconds * per_second)])
    ]


def ends_ms(asks: Sequence[Ask]) -> int:
    """How long (ms) after the load begins its last occurrence is due."""

    def lasts_ms(ask: Ask) -> int:
        if ask.kind is Kind.RECURRING:
            return (ask.fires - 1) * EVERY_SECONDS * 1_000
        return (JOBS.get(ask.kind, 1) - 1) * BATCH_STEP_MS

    return max(ask.offset_ms + ask.delay_ms + lasts_ms(ask) for ask in asks)


@dataclass(frozen=True)
class Request:
    """The body and path of a POST, without the client; `dues` are the due instants (epoch ms) of each of its jobs.

    `ordering_key` is the ordering key of its jobs, if they have one.
    """

    path: str
    body: Mapping[str, Any]
    dues: Sequence[Sequence[int]]
    ordering_key: str = ""


def request_of(ask: Ask, url: str, name: str, now: int) -> Request:
    """Builds the request that is sent at `now` (epoch ms) to targets below `url`; repeats send this same request.

    `name` is unique to this request.
    """
    job: dict[str, Any] = {
        "target": {"type": "http", "url": url + PATHS.get(ask.kind, "/ok"), "timeoutSeconds": TIMEOUT_SECONDS},
        "payload": {"name": name},
        "retryPolicy": FEW_RETRIES if ask.kind is Kind.HOPELESS else RETRIES,
        "record": record_of(ask.kind),
    }
    due_at = now + ask.delay_ms
    if ask.kind in JOBS:
        key = name if ask.kind is Kind.ORDERED else ""
        dues = [due_at + n * BATCH_STEP_MS for n in range(JOBS[ask.kind])]
        jobs = [{**job, **({"orderingKey": key} if key else {}), "schedule": {"at": to_text(at)}} for at in dues]
        return Request("/v1/jobs/batch", {"jobs": jobs}, [[at] for at in dues], key)
    if ask.kind is Kind.RECURRING:
        first = to_text(due_at)
        every = {"every": {"seconds": EVERY_SECONDS}, "anchorAt": first, "startAt": first, "maxFires": ask.fires}
        fires = [due_at + n * EVERY_SECONDS * 1_000 for n in range(ask.fires)]
        return Request("/v1/jobs", {**job, "jobKey": name, "schedule": {**every, "catchUp": "all"}}, [fires])
    named = {"jobKey": name} if ask.kind is Kind.NAMED else {}
    return Request("/v1/jobs", {**job, **named, "schedule": {"at": to_text(due_at)}}, [[due_at]])


def record_of(kind: Kind) -> str:
    """The record level that jobs of a kind ask for."""
    return "none" if kind in (Kind.NONE, Kind.BATCH) else "full"


def fires_of(kind: Kind, dues: Sequence[int], answered_at: int) -> list[tuple[int, bool]]:
    """The occurrences of a job that was accepted by `answered_at`, and whether each of them is sure to come.

    A recurring job has a fixed number of fires, counted from its creation. If it was created after its first fires were
    due, these may have been left out; then as many later fires of the same series come in their place.
    """
    if kind is not Kind.RECURRING or answered_at < dues[0]:
        return [(due_at, True) for due_at in dues]
    step_ms = EVERY_SECONDS * 1_000
    left_out = (answered_at - dues[0]) // step_ms + 1
    further = [dues[-1] + n * step_ms for n in range(1, left_out + 1)]
    return [(due_at, due_at > answered_at) for due_at in dues] + [(due_at, False) for due_at in further]
