"""The units of a job's three stations, metered at the shipped flows: its create, the visit that finds it, its delivery.

Jobs come as far apart as their rate says, so that what an environment keeps for some seconds is read again as often as
it would be. A visit is metered with as many jobs as it finds at that rate, and counts beyond a visit that finds none,
which a deployment pays for in any case.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import count
from typing import Any

from bench.billing.meter import Meter, item_bytes
from bench.billing.scheduler import CLIENT, Scheduler, Unexpected, scheduler
from bench.billing.usage import Usage
from bench.costs.loads import Way
from clockwork.aws.queues.sender import MESSAGES_PER_BATCH
from clockwork.domain.instants import to_text
from local.emulator import Credentials, Emulator

#: How far ahead jobs are due: beyond the lookahead, so that a visit finds them.
LEAD_MS = 290_000
SPREAD_MS = 1_000
TICK_MS = 60_000
#: The jobs of one scene: at most so many, and only as many as come within the time.
MOST_JOBS = 50
MOST_SECONDS = 170
#: More jobs of one visit cost as much each: a poller reads pages of 500, and commits every 500.
MOST_IN_VISIT = 500
#: A few jobs may be due at one phase of the second or at several, so visits are metered until so many jobs are found.
LEAST_IN_VISITS = 200
#: DynamoDB stores so much more for each item: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
ITEM_OVERHEAD = 100

TABLES = ("timeline", "executions")
NOTHING = Usage(**dict.fromkeys((field.name for field in fields(Usage)), 0))


@dataclass(frozen=True, kw_only=True)
class Units:
    """Units per job at each station, the api's calls per job, and the bytes that a job leaves in tables.

    `sent_bytes`: those of its webhook that leave for the internet.
    """

    create: Usage
    visit: Usage
    deliver: Usage
    api_calls: float
    row_bytes: float
    record_bytes: float
    sent_bytes: float = 0.0


class _Scene:
    """One shard and one client, whose requests come so far apart (ms)."""

    def __init__(self, scheduled: Scheduler, meter: Meter, way: Way, size: int, apart_ms: float) -> None:
        self.scheduled = scheduled
        self._meter = meter
        self._way = way
        self._size = size
        self._apart_ms = apart_ms
        self._rng = random.Random(f"{way.name} {size}")

    def create(self, requests: int, jobs_each: int) -> Usage:
        """Create the jobs of so many requests."""
        before = self._meter.usage()
        for _ in range(requests):
            jobs = [self._job() for _ in range(jobs_each)]
            if self._way.jobs_per_request == 1:
                self.scheduled.request("POST", "/v1/jobs", {"clientId": CLIENT, **jobs[0]})
            else:
                self.scheduled.request("POST", "/v1/jobs/batch", {"clientId": CLIENT, "jobs": jobs})
            self.pass_time(self._apart_ms)
        return self._meter.usage().since(before)

    def tick(self) -> Usage:
        """Let a minute pass, then run a tick: it finds all that was created, if that took three minutes at most."""
        self.pass_time(TICK_MS)
        before = self._meter.usage()
        self.scheduled.tick()
        return self._meter.usage().since(before)

    def deliver(self, batch: float, jobs: int) -> Usage:
        """Deliver so many jobs in batches of this mean, each in its second. Raises Unexpected if one is missing."""
        before, delivered = self._meter.usage(), len(self.scheduled.delivered)
        self.scheduled.deliver(sizes=sizes_of(batch))
        if len(self.scheduled.delivered) - delivered != jobs:
            raise Unexpected(f"{len(self.scheduled.delivered) - delivered} deliveries of {jobs} jobs")
        return self._meter.usage().since(before)

    def pass_time(self, ms: float) -> None:
        """Let time pass."""
        self.scheduled.clock.hold_until(self.scheduled.clock.at + round(ms))

    def _job(self) -> dict[str, Any]:
        # At any phase of a second: a visit sends what is due at other phases in other batches.
        due_at = self.scheduled.clock.at + LEAD_MS + self._rng.randrange(SPREAD_MS)
        return {
            "schedule": {"at": to_text(due_at)},
            "target": {"type": "http", "url": "https://example.com/hook"},
            "payload": base64.b64encode(self._rng.randbytes(self._size)).decode()[: self._size - 2],
            "record": self._way.record,
        }


class Paths:
    """Meters paths, each scene in an account of its own. Values that do not depend on the rate are metered once."""

    def __init__(self, running: Emulator, first_account: int = 1) -> None:
        self._running = running
        self._accounts = (Credentials.root(f"{number:012d}") for number in count(first_account))
        self._visits: dict[tuple[int, int, int, int], Usage] = {}
        self._stations: dict[tuple[str, int, float, float], Units] = {}

    def units(self, way: Way, size: int, per_second: float, visit: int, batch: float, shards: int) -> Units:
        """Meter jobs that come at a rate: `visit` in a visit and `batch` in a deliverer's batch, on the mean."""
        each = way.jobs_per_request
        apart_ms = round(1_000 / per_second, 1) if each == 1 else 0.0
        requests = max(1, round(min(visit, MOST_IN_VISIT) / each))
        visited, stations = (each, size, requests, shards), (way.name, size, apart_ms, round(batch, 1))
        if visited not in self._visits:
            self._visits[visited] = self._meter_visit(way, size, requests, shards)
        if stations not in self._stations:
            self._stations[stations] = self._meter_stations(way, size, apart_ms, round(batch, 1))
        return replace(self._stations[stations], visit=self._visits[visited])

    def _meter_stations(self, way: Way, size: int, apart_ms: float, batch: float) -> Units:
        """Meter creates and deliveries; the visit between them is metered by itself."""
        each, account = way.jobs_per_request, next(self._accounts)
        requests = 1 if each > 1 else max(1, min(MOST_JOBS, round(MOST_SECONDS * 1_000 / apart_ms)))
        jobs = requests * each
        with scheduler(self._running, account, shards=1) as (scheduled, meter):
            scene = _Scene(scheduled, meter, way, size, apart_ms)
            scene.create(1, 1)  # the first job wires the environments, and is not counted
            scene.tick()
            scene.deliver(batch, 1)
            rows, records = (_bytes_in(self._running, account, table) for table in TABLES)
            calls, create = meter.calls, scene.create(requests, each)
            api_calls = meter.calls - calls
            row_bytes = _bytes_in(self._running, account, TABLES[0]) - rows
            scene.tick()
            deliver = scene.deliver(batch, jobs)
            record_bytes = _bytes_in(self._running, account, TABLES[1]) - records
        return Units(
            create=create.per_job(jobs),
            visit=NOTHING,
            deliver=deliver.per_job(jobs),
            api_calls=api_calls / jobs,
            row_bytes=row_bytes / jobs,
            record_bytes=record_bytes / jobs,
        )

    def _meter_visit(self, way: Way, size: int, requests: int, shards: int) -> Usage:
        """The units per job of a visit to one of so many shards that finds so many requests' jobs.

        They count beyond those of a visit that finds none.
        """
        jobs = requests * way.jobs_per_request
        asked = scheduler(self._running, next(self._accounts), shards=1, as_one_of=shards)
        with asked as (scheduled, meter):
            scene = _Scene(scheduled, meter, way, size, TICK_MS / requests)
            scene.tick()
            idle = scene.tick()
            visits = -(-LEAST_IN_VISITS // jobs)
            found = NOTHING
            for _ in range(visits):
                scene.create(requests, way.jobs_per_request)
                found = found.plus(scene.tick().since(idle))
            if found.sqs_sends * MESSAGES_PER_BATCH < jobs * visits:
                raise Unexpected(f"{visits} visits released fewer than {jobs} jobs each")
            return found.per_job(jobs * visits)


def _bytes_in(running: Emulator, account: Credentials, table: str) -> float:
    """The bytes of a table, as DynamoDB stores them."""
    pages = running.client("dynamodb", account).get_paginator("scan").paginate(TableName=table)
    return sum(item_bytes(item) + ITEM_OVERHEAD for page in pages for item in page["Items"])


def sizes_of(mean: float) -> Iterator[int]:
    """Sizes of batches with this mean: each the whole number below or above it."""
    taken = 0
    for number in count(1):
        size = round(number * mean) - taken
        taken += size
        yield size
