"""A deployment whose number of shards falls while the previous deployment is still at work."""

from __future__ import annotations

from clockwork.domain.policies import RecordLevel
from clockwork.domain.timeline import ShardStatus
from clockwork.flows.requests.create import CreatedJob, create_jobs
from clockwork.flows.sweep.shards import Retirements, retire_shards
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.flows.world import Environment, World
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import ACME, NOW, new_job, request

#: By this instant all jobs of the tests have been delivered.
LATER = NOW + 1_000_000
#: The first of the shards that are retired.
GIVEN_UP = "p002"


class Shrinking:
    """A deployment with six plain shards that is replaced by one with two; both may be at work."""

    def __init__(self) -> None:
        self.clockwork = MemoryClockwork()
        self.clockwork.clients.put(ACME)
        self.before, self.after = self._with(6), self._with(2)
        ensure_shards(self.before)
        self.clockwork.world = self.after
        self.clockwork.poll_all()

    def _with(self, shards: int) -> World:
        world = self.clockwork.world
        return world.with_(settings=world.settings.with_(shards=shards), environment=Environment())

    def create(self, world: World, partition_id: str, delay_ms: int, record: RecordLevel = "full") -> CreatedJob:
        return create_jobs(world, request(new_job(delay_ms=delay_ms, record=record)), [partition_id])[0]

    def remove(self, world: World | None = None) -> Retirements:
        return retire_shards(world or self.after, self.clockwork.clock.at + 60_000)

    def status(self, partition_id: str) -> ShardStatus:
        return self.clockwork.shards.get([partition_id])[partition_id].status

    def delivered(self) -> list[str]:
        self.clockwork.run_until(LATER)
        return [delivery.job_id for delivery in self.clockwork.targets.delivered]
