"""A deployment whose client `acme` has a concurrency limit, and what its workers do, for tests of their permits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import State
from clockwork.domain.pools.pool import Pool
from clockwork.domain.releases import Deliver
from clockwork.flows.pools.claim import Asked, Claimed, claim_for
from clockwork.flows.pools.reports import Beat, Taken, beat_all
from clockwork.flows.requests.reporting import Reported
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from clockwork.targets.pool import PoolTarget
from tests.support.examples import ACME, claim_of, occurrence, release

POOL = Pool(name="etl", revision=1, principals=("w",), handlers=("work",), lease_seconds=60)
LIMIT = 2
DONE = Reported(State.SUCCEEDED)


def limited() -> MemoryClockwork:
    """The deployment, with the limit LIMIT."""
    made = MemoryClockwork(Settings.for_local().with_(pools=("etl=normal",)))
    limit(made, LIMIT)
    made.ticket_keys.make("k" * 22)
    return made


def limit(clockwork: MemoryClockwork, most: int | None) -> None:
    """Give the client another limit, or none."""
    clockwork.clients.put(msgspec.structs.replace(ACME, allowed_pools=("etl",), max_concurrency=most))


def send(clockwork: MemoryClockwork, count: int) -> list[Deliver]:
    now = clockwork.clock.at
    target = PoolTarget("etl", "work", timeout_seconds=600)
    made = [occurrence(target=target, due_at=now + number, created_at=now) for number in range(count)]
    sent = [msgspec.structs.replace(release(), occurrence=one, run_at=now) for one in made]
    assert not clockwork.world.releases.send(sent, now)
    return sent


def asked_of(clockwork: MemoryClockwork) -> list[Asked]:
    """The tickets that a worker receives now, each under a claimId of its own."""
    queue = clockwork.pool_queues.of("etl")
    received = queue.receive(10)
    return [Asked(f"{one.message_id:c>22}"[:22], one.body, one.message_id) for one in received]


def claim(clockwork: MemoryClockwork, asked: Sequence[Asked]) -> list[Claimed]:
    return claim_for(clockwork.world, POOL, "w", ["work"], asked, clockwork.clock.at + 29_000)


def started(clockwork: MemoryClockwork) -> list[str]:
    """The tokens of what a worker may start now."""
    return [one.start.token for one in claim(clockwork, asked_of(clockwork)) if one.start is not None]


def taken(clockwork: MemoryClockwork) -> int:
    return len(clockwork.world.regulation.taken(ACME.client_id, clockwork.clock.at))


def beat(clockwork: MemoryClockwork, tokens: Sequence[str]) -> list[Taken]:
    return beat_all(clockwork.world, POOL, [Beat(token) for token in tokens])


def in_progress(clockwork: MemoryClockwork) -> int:
    """How many claims are live."""
    records = clockwork.executions.all()
    return sum(one.state is State.RUNNING and (claim_of(one).until or 0) > clockwork.clock.at for one in records)


def slow(clockwork: MemoryClockwork, name: str, cost_ms: int, *, answers: bool) -> list[int]:
    """Let a call of the permits cost so long; the instants at which it was called."""
    call, called = getattr(clockwork.regulation, name), list[int]()

    def slowly(*given: Any) -> Any:
        called.append(clockwork.clock.at)
        clockwork.clock.advance(cost_ms)
        if not answers:
            raise Unavailable("throttled")
        return call(*given)

    setattr(clockwork.regulation, name, slowly)
    return called
