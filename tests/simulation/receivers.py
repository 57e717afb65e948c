"""Receivers of attempts that end by callback: they report at once, late, twice, wrongly or never, and send heartbeats.

A receiver draws what it does from its attempt alone. It calls the API as any client does, and repeats a call that got
no answer. The watcher lets it change the record of its own claim, and nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import Protocol

import msgspec

from clockwork.domain.clients import ClientUnreadable
from clockwork.domain.errors import NotAllowed, StaleToken, Unavailable, UnknownToken
from clockwork.domain.executions import Execution, State
from clockwork.domain.lifecycle.reports import Heartbeat
from clockwork.domain.lifecycle.tokens import Token, decode_token
from clockwork.domain.releases import Delivery
from clockwork.flows import access
from clockwork.flows.requests import reporting, unsigned
from clockwork.flows.requests.quotas import Intake
from clockwork.flows.requests.reporting import Reported
from clockwork.flows.world import World
from tests.simulation.scheduler import Actor, Scheduler
from tests.simulation.watcher import REPORTING, Watcher

#: A call that got no answer is repeated so often at the most.
TRIES = 5
DONE = Reported(State.SUCCEEDED, result=b'"done"')
BROKEN = Reported(State.FAILED, error="it broke", retry_after_seconds=2.0)
STOPPED = Reported(State.CANCELLED)
HOPELESS = Reported(State.FAILED, error="it cannot be done", retryable=False)


class Answering(Protocol):
    """An environment of the api, as the calls that it answers use it."""

    @property
    def intake(self) -> Intake:
        """The occurrences that it has let in, with its debts for reads."""


Call = Callable[[World], Execution]
CallApi = Callable[[str, Callable[[World, Answering], object]], Actor]


class Manner(StrEnum):
    """How a receiver goes about its attempt."""

    PROMPT = "reports at once, perhaps before its target's answer has arrived"
    STEADY = "sends heartbeats in time, then reports"
    FAILS = "reports a failure"
    GIVES_UP = "reports a failure for good"
    SILENT = "never reports"
    LATE = "reports after the end of its claim"
    TWICE = "reports its success twice, and then a failure"
    LIES = "says that it has stopped, then reports its success"
    FALTERS = "sends one heartbeat late, then reports"


#: A payload that begins so says how the receiver of its first attempt goes about it.
SAYS = b"receiver "
FAULTLESS = (Manner.PROMPT, Manner.STEADY)
#: Once the faults have stopped: fires of a job that wait for each other come to an end before the run does.
SOON = (Manner.PROMPT,)


class Receivers:
    """All receivers of a run. `call_api` runs a call in one of the API's environments."""

    def __init__(self, scheduler: Scheduler, watcher: Watcher, call_api: CallApi) -> None:
        self._scheduler = scheduler
        self._watcher = watcher
        self._call_api = call_api

    def take(self, delivery: Delivery, manners: Sequence[Manner]) -> None:
        """Begin to work on an attempt whose delivery has arrived, in one of these manners."""
        assert delivery.token is not None, "without a token there is nothing to report under"
        assert delivery.occurrence.completion is not None, "only what ends by callback has a token"
        rng = random.Random(f"{delivery.execution_id} {delivery.attempt}")
        manner = rng.choice(manners)
        asks = delivery.occurrence.payload.body
        if asks.startswith(SAYS) and delivery.attempt == 1:
            manner = Manner[asks.removeprefix(SAYS).decode()]
        beat_ms = round(delivery.occurrence.completion.heartbeat_seconds * 1000)
        token = decode_token(delivery.token)
        for after_ms, said in acts(manner, rng, beat_ms):
            act = partial(self._beat, delivery, token) if said is None else partial(self._report, delivery, token, said)
            self._scheduler.after(after_ms, act)

    def _beat(self, delivery: Delivery, token: Token) -> None:
        def call(world: World) -> Execution:
            record = self._said(world, delivery, token, Heartbeat(world.clock.now()))
            if record.cancel_noted_at is not None and delivery.attempt % 2:
                # It stops as it was told. Others go on, and are stopped.
                self._scheduler.after(1_000, partial(self._report, delivery, token, STOPPED))
            return record

        # Another one follows soon: it is not repeated.
        self._call(token, call, tries=1)

    def _report(self, delivery: Delivery, token: Token, said: Reported) -> None:
        def call(world: World) -> Execution:
            return self._said(world, delivery, token, said)

        if said.state is State.SUCCEEDED:
            self._watcher.succeeded(delivery)
            self._watcher.accepted(delivery)
        self._call(token, call, tries=TRIES)

    def _said(self, world: World, delivery: Delivery, token: Token, said: Reported | Heartbeat) -> Execution:
        """Says it unsigned where the token may come so, else as the client; returns the record."""
        if token.check and delivery.attempt % 2:
            self._forge(world, token)
            return unsigned.report_unsigned(world, unsigned.checked_token(world, str(token)), said)
        caller = _caller(world, delivery)
        if isinstance(said, Heartbeat):
            return reporting.beat(world, caller, delivery.execution_id, str(token), said)
        return reporting.report(world, caller, delivery.execution_id, str(token), said)

    def _forge(self, world: World, token: Token) -> None:
        """Somebody makes tokens up, of this attempt and of nothing: all are refused."""
        later = msgspec.structs.replace(token, attempt=token.attempt + 1)
        for text in ("none", str(Token("none", 1, token.secret)), str(later)):
            try:
                unsigned.checked_token(world, text)
                self._watcher.violated("P5", "a token that was made up counts", token.execution_id)
            except UnknownToken:
                continue

    def _call(self, token: Token, call: Call, tries: int) -> None:
        def work(world: World, _: object) -> Execution | None:
            assert self._scheduler.acting is not None
            self._scheduler.acting.tokens.add(token.claimant)
            try:
                return call(world)
            except (StaleToken, UnknownToken):
                return None

        def on_end(actor: Actor) -> None:
            if tries > 1 and (actor.killed or isinstance(actor.error, Unavailable | ClientUnreadable)):
                self._scheduler.after(2_000, partial(self._call, token, call, tries - 1))

        self._call_api(REPORTING, work).on_end = on_end


def _caller(world: World, delivery: Delivery) -> access.Caller:
    client = world.clients.get(delivery.occurrence.client_id)
    if client is None:
        raise NotAllowed("the client is gone")
    return access.require_known(world, access.identify(world, client.principals[0]))


def acts(manner: Manner, rng: random.Random, beat_ms: int) -> list[tuple[int, Reported | None]]:
    """The acts of a receiver, each with its time (ms after the delivery): a report, or None for a heartbeat."""
    beats = rng.randrange(1, 6)
    last_at = beats * beat_ms // 3
    steady = [(number * beat_ms // 3, None) for number in range(1, beats + 1)]
    acts: dict[Manner, list[tuple[int, Reported | None]]] = {
        Manner.PROMPT: [(rng.randrange(1, 600), DONE)],
        Manner.STEADY: [*steady, (last_at + rng.randrange(1, beat_ms // 3), DONE)],
        Manner.FAILS: [(rng.randrange(1, beat_ms), BROKEN)],
        Manner.GIVES_UP: [(rng.randrange(1, beat_ms), HOPELESS)],
        Manner.SILENT: [],
        Manner.LATE: [(beat_ms + rng.randrange(1, 15_000), DONE)],
        Manner.TWICE: [(rng.randrange(1, beat_ms), said) for said in (DONE, DONE, HOPELESS)],
        Manner.LIES: [(rng.randrange(1, 600), STOPPED), (beat_ms // 2, DONE)],
        Manner.FALTERS: [
            (beat_ms + rng.randrange(-3_000, 5_000), None),
            (beat_ms + rng.randrange(6_000, 12_000), DONE),
        ],
    }
    return acts[manner]
