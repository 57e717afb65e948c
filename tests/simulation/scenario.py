"""A fixed scenario that takes every step there is, to be killed at each port call in turn."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import msgspec

from clockwork.domain.jobs import HttpTarget, Payload, RecordLevel, RetryPolicy
from clockwork.domain.requests import CreateRequest, NewJob
from clockwork.settings import Settings
from tests.examples import outline
from tests.simulation.clients import Step, Visit, ask_again, cancel_one, create_asked, get_one
from tests.simulation.faults import CALM, Adversary, Fault
from tests.simulation.requests import CLIENTS, KeyedRequest
from tests.simulation.stage import Stage
from tests.simulation.stores import POISON
from tests.simulation.targets import FAILS_ONCE

#: Few shards and ticks: idle polls are calls like any other and would be killed one by one too.
SETTINGS = Settings.for_account().with_(
    shards=2,
    ordered_shards=1,
    tick_seconds=110,
    sweep_seconds=150,
    max_receive_count=2,
    commit_occurrences=3,
    deliverer_timeout_seconds=20,
    visibility_seconds=30,
)
BUSY_MS = 400_000
NEAR = RetryPolicy(max_attempts=2, backoff="fixed", initial_seconds=5, jitter="none")
FAR = RetryPolicy(max_attempts=2, backoff="fixed", initial_seconds=905, jitter="none")


class OnePoint(Adversary):
    """Strikes one call only: the `number`-th, counted from 0. Without a fault it only counts."""

    def __init__(self, number: int = -1, fault: Fault | None = None) -> None:
        super().__init__(random.Random(0), CALM)
        self._number = number
        self._fault = fault
        self.calls: list[str] = []

    def on_call(self, actor: str, call: str, kinds: tuple[Fault, ...]) -> Fault | None:
        self.calls.append(f"{actor} {call}")
        return self._fault if len(self.calls) == self._number + 1 and self._fault in kinds else None


def play(adversary: OnePoint) -> Stage:
    """The scenario from beginning to end, with what the adversary does to it."""
    stage = Stage(0, SETTINGS, adversary)
    asked = KeyedRequest(_request("keyed", [_job(b"keyed", 90_000), _job(b"soon", 1_000)]), stage.scheduler.now)
    scene: list[tuple[int, Callable[[Visit], None]]] = [
        (1_000, lambda visit: ask_again(visit, asked)),
        (5_000, lambda visit: ask_again(visit, asked)),
        (6_000, lambda visit: _ask(visit, "far", [_job(b"beyond the lookahead", 300_000)])),
        (8_000, lambda visit: _ask(visit, "near retry", [_job(FAILS_ONCE + b"1", 2_000, NEAR)])),
        (9_000, lambda visit: _ask(visit, "far retry", [_job(FAILS_ONCE + b"2", 2_500, FAR)])),
        (10_000, lambda visit: _ask(visit, "unrecorded retry", [_job(FAILS_ONCE + b"3", 2_500, FAR, "none")])),
        (11_000, lambda visit: create_asked(visit, _request(None, [_job(b"batch %d" % n, 100_000) for n in range(7)]))),
        (12_000, lambda visit: _ask(visit, "poison", [_job(POISON, 0, record="none")])),
        (60_000, lambda visit: _ask(visit, "cancelled", [_job(b"cancelled", 50_000)])),
        (70_000, cancel_one),
        (75_000, lambda visit: _ask(visit, "cancelled unrecorded", [_job(b"c", 320_000, record="none")])),
        (80_000, cancel_one),
        (90_000, get_one),
        (95_000, lambda visit: ask_again(visit, asked)),
    ]
    for number, (at, work) in enumerate(scene):
        step = Step(at, f"scene {number}", CLIENTS[0], number)
        stage.scheduler.after(at, partial(stage.desk.carry_out, step, work))
    stage.run(BUSY_MS)
    return stage


def _ask(visit: Visit, key: str, jobs: list[NewJob]) -> None:
    ask_again(visit, KeyedRequest(_request(key, jobs), visit.now))


def _request(key: str | None, jobs: list[NewJob]) -> CreateRequest:
    numbered = tuple(msgspec.structs.replace(job, index=index) for index, job in enumerate(jobs))
    outlines = tuple(map(outline, numbered)) if len(jobs) > 1 else ()
    return CreateRequest(client=CLIENTS[0], jobs=numbered, outlines=outlines, idempotency_key=key, digest=str(key))


def _job(payload: bytes, delay_ms: int, policy: RetryPolicy = NEAR, record: RecordLevel = "full") -> NewJob:
    target = HttpTarget("https://good.example.com/", timeout_seconds=5)
    return NewJob(target=target, payload=Payload(payload), delay_ms=delay_ms, retry_policy=policy, record=record)
