"""The tables and queues that version 0.1.0 filled, under the code of now: loaded, driven in virtual time, and judged.

`stored/by_0_1_0.json` holds them; `stored/README.md` says how it was made.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clockwork.aws.stores.regulation import AwsRegulation
from clockwork.domain import keys
from clockwork.domain.errors import readable
from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.fires.chains import fire_after
from clockwork.domain.ids import ExecutionId, decode_execution
from clockwork.domain.named_jobs import JobState, NamedJob
from clockwork.domain.releases import Delivery
from clockwork.flows.sweep.sweep import repair_all
from clockwork.memory.clients import MemoryClients
from clockwork.memory.executions import MemoryExecutions
from clockwork.memory.jobs import MemoryJobs
from clockwork.memory.queue import Message
from clockwork.memory.regulation import MemoryRegulation
from clockwork.memory.shards import MemoryShards
from clockwork.memory.timeline import MemoryTimeline
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from tests.contract.worlds import AwsWorld

STORED = Path(__file__).parent / "stored/by_0_1_0.json"
MINUTE_MS = 60_000
LOOKAHEAD_SECONDS = 240
STORES = ("timeline", "shards", "jobs", "executions", "clients", "regulation")


@dataclass(frozen=True)
class Started:
    """An attempt that a target was asked for: when (ms), and whether it accepted."""

    execution_id: str
    attempt: int
    due_at: int
    started_at: int
    accepted: bool


class Upgraded:
    """A Clockwork of today that finds what version 0.1.0 stored. Minutes count from the beginning of that version."""

    def __init__(self, aws: AwsWorld, *, in_memory: bool) -> None:
        self.found = json.loads(STORED.read_text())
        self.began_at, self.upgraded_at = self.found["startedAt"], self.found["upgradedAt"]
        #: Targets that failed before accept from here on (ms).
        self.mended_at = self.upgraded_at + 2 * MINUTE_MS
        self.starts: list[Started] = []
        settings = Settings.for_local().with_(lookahead_seconds=LOOKAHEAD_SECONDS)
        self.clockwork = MemoryClockwork(settings, answer=self._answer)
        self.clockwork.clock.at = self.upgraded_at
        _fill(aws, self.found["tables"])
        stores = {name: getattr(aws, name) for name in STORES}
        stores["regulation"] = AwsRegulation(aws.aws, aws.table("clients"), self.clockwork.clock)
        if in_memory:
            stores = _copied(aws, stores)
        for name, store in stores.items():
            setattr(self.clockwork, name, store)
        self.world = self.clockwork.world = replace(self.clockwork.world, **stores, key_rows=aws.key_rows)
        for queue, name in ((self.clockwork.queue, "queue"), (self.clockwork.ordered_queue, "ordered")):
            for number, one in enumerate(self.found[name]):
                sent_at = min(one["visibleAt"], self.upgraded_at)
                message_id = f"old{number}"
                queue.messages[message_id] = Message(
                    message_id, one["body"], one["visibleAt"], sent_at, one.get("group", ""), one["receiveCount"]
                )
        self.rows = {job.job_key: job for job in self.jobs()}

    def _answer(self, delivery: Delivery) -> Outcome:
        now = self.clockwork.clock.now()
        url = getattr(delivery.occurrence.target, "url", "")
        fails = now < self.mended_at and any(word in url for word in ("failing", "shut"))
        started = (delivery.execution_id, delivery.attempt, delivery.occurrence.due_at, now, not fails)
        self.starts.append(Started(*started))
        if fails:
            return Outcome(State.FAILED, now, now, status_code=500, error="HTTP 500")
        return Outcome(State.SUCCEEDED, now, now, status_code=200)

    def until(self, minute: float) -> None:
        """Lets time pass, with a sweep each minute."""
        end_at = self.began_at + int(minute * MINUTE_MS)
        while self.clockwork.clock.at < end_at:
            self.clockwork.run_until(min(end_at, self.clockwork.clock.at + MINUTE_MS))
            failures = repair_all(self.world, self.clockwork.clock.now() + 300_000).failures
            assert failures == []

    def jobs(self) -> list[NamedJob]:
        """Every named job as it is stored now."""
        return [readable(job) for page in self.world.jobs.scan(0, 1) for job in page if readable(job) is not None]

    def job(self, key: str) -> NamedJob:
        """The named job under a key, as it is stored now."""
        return next(job for job in self.jobs() if job.job_key == key)

    def record(self, execution_id: str) -> Execution | None:
        """The record of an execution."""
        return self.world.executions.find(decode_execution(execution_id).job_id, execution_id)

    # The judge.

    def lost(self, minute: float) -> list[str]:
        """What was promised to be due by a minute and neither reached its target nor ended visibly."""
        until_at = self.began_at + int(minute * MINUTE_MS)
        accepted = {one.execution_id for one in self.starts if one.accepted}
        before = {execution_id for execution_id, _ in self.found["delivered"]}
        lost = []
        for one in self.found["promises"]:
            execution_id = str(ExecutionId(one["jobId"], one["dueAt"], "0"))
            record = self.record(execution_id)
            is_told = record.is_final if record is not None else execution_id in accepted
            # At level `none` only failures leave a record: it was delivered without one.
            is_told = is_told or (record is None and one["record"] == "none" and execution_id in before)
            if one["dueAt"] <= until_at and not is_told:
                lost.append(one["what"])
        return lost + [f"{job.job_key} at {at}" for job in self.jobs() for at in self._lost_fires(job, until_at)]

    def _lost_fires(self, job: NamedJob, until_at: int) -> Iterator[float]:
        records = self.world.executions.list(job.job_id, 10_000, None)
        skipped = [one.skipped for one in records if one.skipped is not None]
        told = {one.due_at for one in records if one.is_final and one.skipped is None}
        told |= {one.due_at for one in self.starts if one.accepted and one.execution_id.startswith(f"{job.job_id}.")}
        for due_at in self.promised(job, until_at):
            if due_at not in told and not any(one.from_at <= due_at <= one.to_at for one in skipped):
                yield (due_at - self.began_at) / MINUTE_MS

    def promised(self, job: NamedJob, until_at: int) -> set[int]:
        """The instants that a job's rows promise: by its row of before what is due by its change, then by its own."""
        before = self.rows[job.job_key]
        changed_at = job.boundary_at if job != before else until_at
        # At level `none` a fire of before the upgrade may have left no trace.
        from_at = self.upgraded_at if before.definition.record == "none" else 0
        due = {at for at in _fires(before, until_at) if from_at <= at <= changed_at}
        if job.state is not JobState.ACTIVE:
            return set() if job.state is JobState.CANCELLED else {at for at in due if at <= (job.paused_at or 0)}
        return due | {at for at in _fires(job, until_at) if at > changed_at}

    def early(self) -> list[Started]:
        """Attempts that began before their execution was due."""
        return [one for one in self.starts if one.started_at < one.due_at]

    def twice(self) -> list[tuple[str, int]]:
        """The instants of which more than one attempt was accepted, or that started under two executionIds."""
        ids: dict[tuple[str, int], set[str]] = {}
        accepted: Counter[str] = Counter()
        for one in self.starts:
            execution = decode_execution(one.execution_id)
            job = next((job for job in self.rows.values() if job.job_id == execution.job_id), None)
            if job is None or execution.run in self.job(job.job_key).runs:
                ids.setdefault((execution.job_id, execution.due_at), set()).add(one.execution_id)
            accepted[one.execution_id] += one.accepted
        doubled = [instant for instant, found in ids.items() if len(found) > 1 or any(accepted[e] > 1 for e in found)]
        before = {execution_id for execution_id, _ in self.found["delivered"]}
        final = {one.execution_id for one in self.starts if one.accepted and one.execution_id in before}
        # What was delivered before may come again only if its target had refused it, or its deliverer died.
        again = [e for e in final if one_attempt(self.starts, e) == 1]
        return doubled + [(decode_execution(e).job_id, decode_execution(e).due_at) for e in again]

    def left(self) -> list[str]:
        """The messages that could be received a minute ago and are still there."""
        now = self.clockwork.clock.at - MINUTE_MS
        queues = (self.clockwork.queue, self.clockwork.ordered_queue)
        ready = [m.body for queue in queues for m in queue.messages.values() if m.visible_at <= now]
        return ready + [m.body for queue in queues for m in queue.dead.values()]


def one_attempt(starts: list[Started], execution_id: str) -> int:
    """The number of the first attempt of an execution since the upgrade."""
    return min(one.attempt for one in starts if one.execution_id == execution_id)


def _fires(job: NamedJob, until_at: int) -> Iterator[int]:
    fire = fire_after(job, job.chain_after_at, job.chain_ordinal)
    while fire is not None and fire.due_at <= until_at:
        if fire.due_at >= job.skips_until:
            yield fire.due_at
        fire = fire_after(job, fire.base_at, fire.ordinal)


def _fill(aws: AwsWorld, tables: dict[str, list[Any]]) -> None:
    for kind, items in tables.items():
        table = aws.table(kind)
        for item in items:
            stored = {
                name: {k: base64.b64decode(v) if k == "B" else v for k, v in one.items()} for name, one in item.items()
            }
            aws.aws.client("dynamodb").put_item(TableName=table, Item=stored)


def _copied(aws: AwsWorld, stores: dict[str, Any]) -> dict[str, Any]:
    """The stores in memory, with all that the tables hold, as the adapters of AWS read it."""
    timeline, shards, jobs, executions = MemoryTimeline(), MemoryShards(), MemoryJobs(), MemoryExecutions()
    clients, regulation = MemoryClients(), MemoryRegulation()
    for partition_id in sorted({item["partitionId"]["S"] for item in aws.raw("timeline")}):
        page = stores["timeline"].read(partition_id, keys.BEGINNING, keys.END, 10_000)
        assert not page.more
        timeline.put(page.rows)
    shards._rows = {shard.partition_id: shard for shard in stores["shards"].all()}
    for page in stores["jobs"].scan(0, 1):
        assert all(jobs.save(None, readable(job)) for job in page)
    for item in aws.raw("executions"):
        record = stores["executions"].find(item["jobId"]["S"], item["executionId"]["S"])
        executions._records[record.job_id, record.execution_id] = record
    for item in aws.raw("clients"):
        if item["item"]["S"] == "client":
            clients.put(stores["clients"].get(item["clientId"]["S"]))
            for circuit in stores["regulation"].circuits(item["clientId"]["S"]).values():
                regulation._circuits[circuit.client_id, circuit.host] = circuit
    regulation._parked = {parked.client_id: parked for parked in stores["regulation"].parked()}
    copied: dict[str, Any] = dict(zip(STORES, (timeline, shards, jobs, executions, clients, regulation), strict=True))
    return copied


#: What a test does to a job right after the upgrade.
Deed = Callable[[Upgraded, NamedJob], None]
