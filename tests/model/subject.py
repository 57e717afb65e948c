"""A Clockwork under comparison: the api and the shipped flows on some adapters, in virtual time."""

from __future__ import annotations

import heapq
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from clockwork.domain.executions import Outcome, State
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.releases import Delivery, Release
from clockwork.edge.app import make_api
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.hardening import hardened
from clockwork.flows.poll.shard import poll_shard
from clockwork.flows.timeline.shards import all_shards
from clockwork.flows.world import World
from clockwork.memory.clock import MemoryClock, SeededRandom
from clockwork.memory.targets import MemoryInvoker, MemoryTargets
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Clients, Executions, Jobs, KeyRows, Refused, Regulation, ReleaseQueue, Shards, Timeline
from clockwork.settings import Settings
from tests.handlers.handlers import GLOBEX
from tests.model.operations import QUEUE_ARN
from tests.support.events import LambdaContext, http_event
from tests.support.examples import ACME, ALICE

SETTINGS = Settings.for_local().with_(shards=1, ordered_shards=1)
CONTEXT = LambdaContext()


class Stores(Protocol):
    """The adapters of a subject."""

    @property
    def timeline(self) -> Timeline: ...

    @property
    def shards(self) -> Shards: ...

    @property
    def jobs(self) -> Jobs: ...

    @property
    def executions(self) -> Executions: ...

    @property
    def clients(self) -> Clients: ...

    @property
    def key_rows(self) -> KeyRows: ...

    @property
    def regulation(self) -> Regulation: ...

    @property
    def releases(self) -> ReleaseQueue: ...

    def take(self) -> str:
        """Receives and deletes the one message in the release queue; returns its body."""


class Held:
    """`ports.ReleaseQueue` that holds each release until it is due: the delays of a real queue take real time."""

    def __init__(self, inner: ReleaseQueue) -> None:
        self._inner = inner
        self._numbers = itertools.count()
        self._held: list[tuple[int, int, Release]] = []

    def send(self, releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
        for release in releases:
            heapq.heappush(self._held, (max(now, release.run_at), next(self._numbers), release))
        return ()

    def next_at(self) -> int | None:
        """When the next held release is due (ms); None if none is held."""
        return self._held[0][0] if self._held else None

    def send_one(self, now: int) -> None:
        """Sends the next held release, which is due."""
        _, _, release = heapq.heappop(self._held)
        refused = self._inner.send([release], now)
        assert not refused, refused


@dataclass(frozen=True)
class Answer:
    """An answer of the API, unchanged."""

    status: int
    body: Any


class Subject:
    """One Clockwork. Its targets refuse the first attempts, as many as the payload's `fails`."""

    def __init__(self, stores: Stores) -> None:
        self.clock = MemoryClock()
        self._stores = stores
        self._held = Held(stores.releases)
        self._invoker = MemoryInvoker()
        self._targets = MemoryTargets(self.clock, self._outcome)
        self._next_tick_at = self.clock.at
        rest = MemoryClockwork(SETTINGS).world
        self._world = hardened(
            World(
                settings=SETTINGS,
                clock=self.clock,
                random=SeededRandom(),
                timeline=stores.timeline,
                shards=stores.shards,
                jobs=stores.jobs,
                executions=stores.executions,
                releases=self._held,
                backlog=rest.backlog,
                dead_letters=rest.dead_letters,
                notices=rest.notices,
                visibility=rest.visibility,
                invoker=self._invoker,
                targets=self._targets,
                clients=stores.clients,
                pools=rest.pools,
                checkpoints=rest.checkpoints,
                turnstiles=rest.turnstiles,
                runs=rest.runs,
                workers=rest.workers,
                key_rows=stores.key_rows,
                regulation=stores.regulation,
                trail=rest.trail,
                operations=rest.operations,
                activity=rest.activity,
                signing_secrets=rest.signing_secrets,
                pool_queues=rest.pool_queues,
                ticket_keys=rest.ticket_keys,
            )
        )
        for client in (msgspec.structs.replace(ACME, allowed_queue_arns=(QUEUE_ARN,)), GLOBEX):
            stores.clients.put(client)
        self._handle = make_api(self._world, lambda _: None)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        caller: str = ALICE,
        key: str | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Answer:
        """Sends one request, and carries out the work that it causes at once."""
        headers = {} if key is None else {"Idempotency-Key": key}
        sent = None if body is None else json.dumps(body)
        raw = self._handle(http_event(method, path, sent, caller=caller, headers=headers, query=query), CONTEXT)
        self.wait(0)
        return Answer(raw["statusCode"], json.loads(raw["body"]))

    def wait(self, ms: int) -> None:
        """Lets time pass: ticks once a minute, runs the invoked pollers, and delivers each release when it is due."""
        until = self.clock.at + ms
        while True:
            self._poll_asked()
            due_at = self._held.next_at()
            following = min(self._next_tick_at, until + 1 if due_at is None else due_at)
            if following > until:
                break
            self.clock.at = max(self.clock.at, following)
            if due_at is not None and due_at <= self.clock.at:
                self._deliver_one()
            else:
                self._next_tick_at += SETTINGS.tick_seconds * 1000
                self._invoker.asked += [shard.partition_id for shard in all_shards(self._world)]
        self.clock.at = until

    def delivered(self) -> list[Delivery]:
        """The deliveries since the last call of this method."""
        delivered, self._targets.delivered = self._targets.delivered, []
        return delivered

    def _poll_asked(self) -> None:
        asked, self._invoker.asked = self._invoker.asked, []
        for partition_id in dict.fromkeys(asked):
            report = poll_shard(self._world, partition_id, self.clock.at + 60_000)
            assert report.outcome == "dry", report

    def _deliver_one(self) -> None:
        self._held.send_one(self.clock.at)
        message = Message("one", self._stores.take(), 1)
        report = deliver_batch(self._world, [message], self.clock.at + 20_000)
        assert not report.failed_messages, "nobody else has it in hand, so nothing can come back"

    def _outcome(self, delivery: Delivery) -> Outcome:
        fails = json.loads(delivery.occurrence.payload.body)["fails"]
        now = self.clock.now()
        if delivery.attempt <= fails:
            return Outcome(State.FAILED, now, now, status_code=500, error="refused")
        return Outcome(State.SUCCEEDED, now, now, status_code=200)
