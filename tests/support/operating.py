"""A Clockwork in memory with dead executions, and operations on them, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.errors import Unreadable
from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.lifecycle.redrives import waits_redriven
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Delivery
from clockwork.domain.requests.operations import Kind, Meant, Operation
from clockwork.domain.requests.trail import unnoted
from clockwork.flows.operations.begin import Asked, begin, stop
from clockwork.flows.operations.sweep import OperationsReport, run_operations
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.requests.redrive import DeadFilter, list_dead
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.flows.world import World
from clockwork.memory.world import MemoryClockwork
from clockwork.targets.sqs import SqsTarget
from tests.support.examples import ACME, failure, new_job, request, success

QUEUE = "arn:aws:sqs:us-east-1:123456789012:acme-dead"
SHARE_MS = 60_000
BOB = "arn:aws:iam::123456789012:role/bob"


class Operating:
    """A Clockwork with clients, each of which has some dead executions. Their target fails until `mended`."""

    def __init__(self, **dead: int) -> None:
        self.mended = False
        self.clockwork = MemoryClockwork(answer=self._answer)
        self.world = self.clockwork.world
        for client_id, count in dead.items():
            self.put(client_id)
            self.kill(client_id, count)

    def put(self, client_id: str, **fields: Any) -> None:
        fields = {"client_id": client_id, "allowed_queue_arns": (QUEUE,), **fields}
        self.clockwork.clients.put(msgspec.structs.replace(ACME, **fields))

    def kill(self, client_id: str, count: int) -> None:
        """Let so many jobs of a client end DEAD."""
        once = RetryPolicy(max_attempts=1)
        jobs = [new_job(target=SqsTarget(QUEUE), retry_policy=once, delay_ms=1 + number) for number in range(count)]
        asked = msgspec.structs.replace(request(*jobs), client=self.client(client_id))
        create_jobs(self.world, asked, ensure_shards(self.world))
        self.run(20)

    def _answer(self, _: Delivery) -> Outcome:
        now = self.clockwork.clock.now()
        return success(now) if self.mended else failure(started_at=now, ended_at=now)

    def run(self, seconds: int) -> None:
        self.clockwork.run_until(self.clockwork.clock.at + seconds * 1000)

    def client(self, client_id: str = "acme") -> Client:
        found = self.clockwork.clients.get(client_id)
        assert found is not None
        return found

    def begin(self, client_id: str = "acme", key: str | None = None, **asked: Any) -> str:
        fields = {"kind": Kind.REDRIVE_DEAD, "meant": Meant(), "by": BOB, "max_per_second": 1_000.0, **asked}
        return begin(self.world, self.client(client_id), Asked(**fields), key, unnoted).operation_id

    def sweep(self, world: World | None = None, share_ms: int = SHARE_MS) -> OperationsReport:
        return run_operations(world or self.world, self.clockwork.clock.at + share_ms)

    def stop(self, operation_id: str, client_id: str = "acme") -> Operation:
        return stop(self.world, self.client(client_id), operation_id, BOB, unnoted)

    def record(self, operation_id: str, client_id: str = "acme") -> Operation:
        found = self.world.operations.find(client_id, operation_id)
        assert not isinstance(found, Unreadable)
        assert found is not None
        return found

    def listed(self, client_id: str = "acme") -> Sequence[Execution]:
        return list_dead(self.world, client_id, DeadFilter(), 1_000, None).executions

    def dead(self, client_id: str = "acme") -> int:
        """How many are dead, and neither redriven nor discarded."""
        return sum(one.state is State.DEAD for one in self.listed(client_id))

    def redriven(self, client_id: str = "acme") -> int:
        return sum(map(waits_redriven, self.listed(client_id)))
