"""A Clockwork in memory with one named job, for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import ExecutionId
from clockwork.domain.named_jobs import Definition, NamedJob
from clockwork.domain.recurrence import Every, Recurrence
from clockwork.flows.access import Caller, get_named
from clockwork.flows.named.write import NamedRequest, Written, change, create_named
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.targets.message import Payload
from tests.support.examples import ACME, ALICE, TARGET

MINE = Caller(ALICE, client_ids=frozenset({"acme"}))


class Named:
    """A Clockwork in memory with one named job in it."""

    def __init__(self, **definition: Any) -> None:
        self.clockwork = MemoryClockwork()
        self.start = self.clockwork.clock.at
        self.job = self.create(**definition).job

    def definition(self, every_ms: int = 10_000, **changes: Any) -> Definition:
        every = Recurrence(every=Every(every_ms, self.start), max_fires=changes.pop("max_fires", None))
        values = {"target": TARGET, "payload": Payload(b"1"), "recurrence": every, **changes}
        return Definition(**values)

    def create(self, key: str = "tick", sent: str = "x", **definition: Any) -> Written:
        wanted = self.definition(**definition)
        wish = NamedRequest(client=ACME, job_key=key, as_sent=json.dumps(sent).encode(), definition=wanted)
        return create_named(self.clockwork.world, wish, ensure_shards(self.clockwork.world))

    def change(self, changed: Any, revision: int | None = None) -> Written:
        written = change(self.clockwork.world, self.stored, revision, changed)
        self.job = written.job
        return written

    @property
    def stored(self) -> NamedJob:
        return get_named(self.clockwork.world, MINE, self.job.job_id)

    def run(self, seconds: float) -> list[float]:
        """Lets time pass; returns the due instants (seconds since the start) of occurrences delivered meanwhile."""
        before = len(self.clockwork.targets.delivered)
        self.clockwork.run_until(self.clockwork.clock.at + int(seconds * 1000))
        return [(d.occurrence.due_at - self.start) / 1000 for d in self.clockwork.targets.delivered[before:]]

    def executions(self) -> Sequence[Execution]:
        return self.clockwork.world.executions.list(self.job.job_id, 100, None)


def execution_of(job: NamedJob, due_at: int, state: State) -> Execution:
    return Execution(
        job_id=job.job_id,
        execution_id=str(ExecutionId(job.job_id, due_at, "earlier")),
        client_id="acme",
        due_at=due_at,
        state=state,
        revision=1,
        expires_at=due_at * 2,
    )


def jobs_of(clockwork: MemoryClockwork, client_id: str) -> list[NamedJob]:
    """All named jobs of a client that can be read, tombstones included, in the order of their keys."""
    return [job for _, job in clockwork.jobs.list(client_id, None, None, 100_000).jobs if isinstance(job, NamedJob)]
