"""A Clockwork in memory with one regulated client, for tests."""

from __future__ import annotations

from typing import Any

import msgspec

from clockwork.domain.executions import DAY_MS, Outcome, State
from clockwork.domain.lifecycle.parking import parked_record, parked_row, parking_of
from clockwork.domain.releases import Deliver, Delivery
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.sweep.unpark import UnparkReport, unpark
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import ACME, failure, new_job, request, success


def put_parked(clockwork: MemoryClockwork, *releases: Deliver) -> None:
    """Park releases as a deliverer does: the record first, then the row."""
    for release in releases:
        clockwork.executions.save([(None, parked_record(release, None, "parked", clockwork.clock.at + 31 * DAY_MS))])
        clockwork.timeline.put_new([parked_row(release)])


class Regulated:
    """A Clockwork in memory with the client acme; `accepts` decides whether its targets accept."""

    def __init__(self, **client: Any) -> None:
        self.clockwork = MemoryClockwork(answer=self._answer)
        self.start = self.clockwork.clock.at
        self.accepts = True
        self.takes_ms = 0
        self.set_client(**client)

    def set_client(self, **client: Any) -> None:
        self.clockwork.clients.put(msgspec.structs.replace(ACME, **client))

    def _answer(self, _: Delivery) -> Outcome:
        now = self.clockwork.clock.now()
        if self.accepts:
            return msgspec.structs.replace(success(now), ended_at=now + self.takes_ms)
        return failure(started_at=now, ended_at=now)

    def create(self, count: int, **job: Any) -> list[str]:
        jobs = [new_job(**{"delay_ms": 5_000, **job}) for _ in range(count)]
        return [
            j.job_id for j in create_jobs(self.clockwork.world, request(*jobs), ensure_shards(self.clockwork.world))
        ]

    def run(self, seconds: float) -> list[Delivery]:
        before = len(self.clockwork.targets.delivered)
        self.clockwork.run_until(self.clockwork.clock.at + int(seconds * 1000))
        return self.clockwork.targets.delivered[before:]

    def states(self) -> set[State]:
        return {record.state for record in self.clockwork.executions.all()}

    def sweep(self) -> UnparkReport:
        return unpark(self.clockwork.world, self.clockwork.clock.at + 60_000)

    @property
    def parked(self) -> int:
        return len(self.clockwork.timeline._rows.get(parking_of("acme"), {}))
