"""An attempt that a worker of a pool has claimed, for tests of its reports."""

from __future__ import annotations

import msgspec

from clockwork.domain.pools.pool import Pool
from clockwork.flows.pools.claim import Asked, claim_for
from clockwork.memory.world import MemoryClockwork
from clockwork.targets.pool import PoolTarget
from tests.support.examples import occurrence, release


def claimed_token(clockwork: MemoryClockwork, pool: Pool) -> str:
    """The token of an attempt that the worker `w` has just claimed: the only one in the pool's queue."""
    now = clockwork.clock.at
    one = occurrence(target=PoolTarget(pool.name, "work", timeout_seconds=600), due_at=now, created_at=now)
    assert not clockwork.world.releases.send([msgspec.structs.replace(release(), occurrence=one, run_at=now)], now)
    (message,) = clockwork.pool_queues.of(pool.name).receive()
    asked = [Asked("c" * 22, message.body, message.message_id)]
    (answer,) = claim_for(clockwork.world, pool, "w", ["work"], asked, now + 29_000)
    assert answer.start is not None
    return answer.start.token
