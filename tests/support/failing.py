"""A Clockwork in memory whose deliveries fail, apart from callbacks, for tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Delivery, Release
from clockwork.domain.storage.rows import releases_of
from clockwork.domain.timeline import Row
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.targets.http import HttpTarget
from clockwork.targets.sqs import SqsTarget
from tests.support.examples import ACME, NOW, execution, failure, new_job, request, success

QUEUE = SqsTarget("arn:aws:sqs:us-east-1:123456789012:orders")
BACK = HttpTarget("https://example.com/failed")
ONCE = RetryPolicy(max_attempts=1)
DEAD = execution(State.DEAD, attempt=1, dead_at=NOW + 7, reason="given up")


class Crash(BaseException):
    """Stands for the end of the deliverer's process."""


class Failing:
    """A Clockwork whose deliveries all fail, apart from callbacks; with `back_fails` these fail, too."""

    def __init__(self, *, back_fails: bool = False, **client: Any) -> None:
        self.back_fails = back_fails
        self.clockwork = MemoryClockwork(answer=self._answer)
        self.world = self.clockwork.world
        self.clockwork.clients.put(
            msgspec.structs.replace(ACME, **{"allowed_queue_arns": (QUEUE.queue_arn,), **client})
        )

    def _answer(self, delivery: Delivery) -> Outcome:
        now = self.clockwork.clock.now()
        is_back = delivery.occurrence.target == BACK
        return success(now) if is_back and not self.back_fails else failure(started_at=now, ended_at=now)

    def create(self, **job: Any) -> str:
        asked = new_job(**{"target": QUEUE, "retry_policy": ONCE, "on_failure": BACK, "delay_ms": 2_000, **job})
        return create_jobs(self.world, request(asked), ensure_shards(self.world))[0].job_id

    def run(self, seconds: float = 400) -> None:
        self.clockwork.run_until(self.clockwork.clock.at + int(seconds * 1000))

    def crash_while_delivering(self) -> None:
        """Runs until the deliverer's process ends."""
        with pytest.raises(Crash):
            self.run()

    @property
    def backs(self) -> list[Delivery]:
        return [one for one in self.clockwork.targets.delivered if one.occurrence.target == BACK]

    @property
    def tries(self) -> int:
        return len(self.clockwork.targets.delivered) - len(self.backs)

    def record(self, job_id: str) -> Execution:
        return next(one for one in self.clockwork.executions.all() if one.job_id == job_id)


def facts(delivery: Delivery) -> dict[str, Any]:
    return dict(json.loads(delivery.occurrence.payload.body))


def breaking(
    failing: Failing, monkeypatch: pytest.MonkeyPatch, port: str, fault: BaseException, *, after: bool
) -> None:
    """Makes the first call of a port with a callback in it raise `fault`, before or `after` it takes effect."""
    owner, name = {
        "put_new": (failing.clockwork.timeline, "put_new"),
        "send": (failing.clockwork.queue, "send"),
    }[port]
    call: Callable[..., Any] = getattr(owner, name)
    broken = [fault]

    def faulty(values: Sequence[Any], *rest: Any) -> Any:
        if not (broken and any(map(is_back, values))):
            return call(values, *rest)
        if after:
            call(values, *rest)
        raise broken.pop()

    monkeypatch.setattr(owner, name, faulty)


def is_back(value: Row | Release) -> bool:
    released = releases_of(value) if isinstance(value, Row) else [value]
    return any(one.occurrence.target == BACK for one in released)
