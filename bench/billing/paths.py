"""The paths of jobs through the scheduler whose units `bench.units` meters."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.billing.meter import Meter
from bench.billing.scheduler import CLIENT, POOL, QUEUE_ARN, Scheduler, Unexpected, scheduler
from bench.billing.usage import Usage
from bench.billing.workflows import Nodes, chain, fan_in, skip
from clockwork.aws.repeats import batches
from clockwork.domain.executions import Outcome, State
from clockwork.domain.instants import to_text
from clockwork.domain.releases import Delivery
from clockwork.memory.clock import MemoryClock
from clockwork.settings import Settings
from local.emulator import Credentials, Emulator

#: How far ahead the first job is due: too far for a create to start a poller, but within a poller's lookahead.
LEAD_SECONDS = 180
#: Between two heartbeats of an attempt (ms): so long that each renews its claim, and so is written. A worker sends
#: more, and the others write nothing.
BEAT_EVERY_MS = POOL.lease_seconds * 1000 * 55 // 100
TICK_SECONDS = 60
PAYLOAD_BYTES = 200
LARGER_PAYLOAD_BYTES = 1_024
LARGEST_REQUEST = 500
USUAL_REQUEST = 200
_HOUR_SECONDS = 3_600


@dataclass(frozen=True, kw_only=True)
class Path:
    """The jobs that a client creates on one path, and the answers of their target.

    All jobs are due within `within_seconds`. `bundled`: they target one SQS queue, which takes many at once. `herd`:
    this many jobs, whatever number was asked for, all due on one second. `schedule`: the one of recurring jobs; of so
    many `fires` of each the last is metered, and not its creation. `client`: further fields of the client. `parked`: no
    job is delivered. `pulled`: workers of a pool claim and complete the jobs, ten at a time. `beaten`: metered is one
    heartbeat of each, while each keeps the largest checkpoint. `soon`: a poller has looked so far ahead that
    each job is released by its create. `nodes`: of the workflow that each job is, of which `ran` run.
    """

    name: str
    says: str
    record: str = "none"
    jobs_per_request: int = 1
    keyed: bool = False
    cancelled: bool = False
    failures: int = 0
    shards: int = 1
    within_seconds: int = 1
    bundled: bool = False
    herd: int | None = None
    named: bool = False
    schedule: Mapping[str, Any] | None = None
    fires: int = 1
    client: Mapping[str, Any] = field(default_factory=dict)
    parked: bool = False
    payload_bytes: int = PAYLOAD_BYTES
    pulled: bool = False
    beaten: bool = False
    soon: bool = False
    nodes: Nodes | None = None
    ran: int = 1

    def run(self, running: Emulator, account: Credentials, jobs: int) -> Usage:
        """Take so many jobs along this path; the usage of each. Raises Unexpected if one does not arrive as planned."""
        jobs = self.herd or jobs
        # The only shard of a path is one of a usual deployment, all of which have as much.
        alike = Settings.for_account().shards if self.shards == 1 else self.shards
        asked = scheduler(
            running, account, shards=self.shards, answer=self._answer, client=self.client, as_one_of=alike
        )
        with asked as (scheduled, meter):
            if self.soon:
                scheduled.tick()
            before, created_at = meter.usage(), scheduled.clock.at
            job_ids = [answer["jobId"] for answer in self._create(scheduled, jobs)]
            for fire in range(1, self.fires + 1) if self.schedule is not None else ():
                if fire > 1:
                    self._drain(scheduled)
                before = meter.usage()
                scheduled.clock.hold_until(created_at + (fire * _HOUR_SECONDS - LEAD_SECONDS) * 1000)
            if self.cancelled:
                self._cancel(scheduled, job_ids)
            self._drain(scheduled)
            if self.pulled:
                before = self._pull(scheduled, meter, jobs) or before
            else:
                self._check(scheduled, jobs)
            return meter.usage().since(before).per_job(jobs)

    def _create(self, scheduled: Scheduler, jobs: int) -> Iterator[Any]:
        rng = random.Random(self.name)
        bodies = [self._job(rng, scheduled.clock.at, number) for number in range(jobs)]
        for number, some in enumerate(batches(bodies, self.jobs_per_request)):
            key = f"request-{number}" if self.keyed else None
            if self.jobs_per_request == 1:
                yield scheduled.request("POST", "/v1/jobs", {"clientId": CLIENT, **some[0]}, key)
            else:
                body = {"clientId": CLIENT, "jobs": list(some)}
                yield from scheduled.request("POST", "/v1/jobs/batch", body, key)["results"]

    def _job(self, rng: random.Random, now: int, number: int) -> dict[str, Any]:
        due_at = now + LEAD_SECONDS * 1000 + rng.randrange(self.within_seconds * 1000)
        if self.herd:
            due_at = now // 1000 * 1000 + LEAD_SECONDS * 1000
        job: dict[str, Any] = {
            "schedule": self.schedule or {"at": to_text(due_at)},
            "target": self._target(number),
            "payload": base64.b64encode(rng.randbytes(self.payload_bytes * 3 // 4)).decode(),
            "record": self.record,
        }
        if self.named:
            job["jobKey"] = f"job-{number}"
        # Without jitter retries come back in full batches, as their first attempts did.
        return job | ({"retryPolicy": {"jitter": "none"}} if self.failures else {})

    def _target(self, number: int) -> dict[str, Any]:
        if self.nodes is not None:
            return {"type": "workflow", "nodes": self.nodes}
        if self.pulled:
            return {"type": "pool", "pool": POOL.name, "handler": POOL.handlers[0], "timeoutSeconds": 604_800}
        if self.bundled:
            return {"type": "sqs", "queueArn": QUEUE_ARN}
        # Several hosts, so that no host fails often enough to open its circuit.
        host = f"host-{number // 5}.example.com" if self.failures else "example.com"
        return {"type": "http", "url": f"https://{host}/hook"}

    def _cancel(self, scheduled: Scheduler, job_ids: list[str]) -> None:
        for job_id in job_ids:
            result = scheduled.request("DELETE", f"/v1/jobs/{job_id}")["result"]
            if result != "cancelled":
                raise Unexpected(f"a cancel answered {result}")

    def _pull(self, scheduled: Scheduler, meter: Meter, jobs: int) -> Usage | None:
        """Let workers do the jobs; returns the usage from which on one is metered, if that is not the beginning."""
        scheduled.clock.hold_until(scheduled.clock.at + (LEAD_SECONDS + self.within_seconds) * 1000)
        path, done = f"/v1/pools/{POOL.name}", 0
        asked: dict[str, Any] = {"workerId": "host-1", "handlers": list(POOL.handlers)}
        while claims := scheduled.receive_tickets():
            answers = scheduled.request("POST", f"{path}/claims", {**asked, "claims": claims})["claims"]
            tokens = [one["token"] for one in answers if one["outcome"] == "start"]
            done += len(tokens)
            if self.beaten:
                return self._beat(scheduled, meter, tokens, jobs)
            told = [{"token": token, "outcome": "complete"} for token in tokens]
            answers = scheduled.request("POST", f"{path}/outcomes", {"outcomes": told})["outcomes"]
            if any(one["outcome"] != "ok" for one in answers):
                raise Unexpected(f"outcomes answered {answers}")
        if done != jobs:
            raise Unexpected(f"{done} jobs were claimed instead of {jobs}")
        scheduled.deliver()  # the watches
        return None

    def _beat(self, scheduled: Scheduler, meter: Meter, tokens: list[str], jobs: int) -> Usage:
        """Send a heartbeat of each attempt, as many times as makes one for each job; the usage before the first one."""
        for token in tokens:
            value = {"token": token, "sequence": 1, "value": "x" * (32 * 1024 - 2)}
            scheduled.request("POST", f"/v1/pools/{POOL.name}/checkpoints", value)
        before = meter.usage()
        for _ in range(jobs // len(tokens)):
            scheduled.clock.hold_until(scheduled.clock.at + BEAT_EVERY_MS)
            beats = [{"token": token} for token in tokens]
            answers = scheduled.request("POST", f"/v1/pools/{POOL.name}/heartbeats", {"heartbeats": beats})
            if any(one["outcome"] != "ok" for one in answers["heartbeats"]):
                raise Unexpected(f"heartbeats answered {answers}")
        return before

    def _drain(self, scheduled: Scheduler) -> None:
        """Run as many ticks, a minute apart, as it takes to release all jobs; then deliver the rest."""
        for _ in range(max(1, self.within_seconds // TICK_SECONDS)):
            ticked_at = scheduled.clock.at
            scheduled.tick()
            next_tick_at = ticked_at + TICK_SECONDS * 1000
            if self.within_seconds > TICK_SECONDS:
                scheduled.deliver(until=next_tick_at)
                scheduled.clock.hold_until(next_tick_at)
        scheduled.deliver()

    def _check(self, scheduled: Scheduler, jobs: int) -> None:
        arriving = 0 if self.cancelled or self.parked else jobs * self.fires * self.ran
        attempts = arriving * (1 + self.failures)
        ids = {delivery.execution_id for delivery in scheduled.delivered}
        if len(scheduled.delivered) != attempts or len(ids) != arriving:
            raise Unexpected(
                f"{len(scheduled.delivered)} attempts at {len(ids)} jobs instead of {attempts} at {arriving}"
            )

    def _answer(self, delivery: Delivery, clock: MemoryClock) -> Outcome:
        now = clock.now()
        if delivery.attempt <= self.failures:
            return Outcome(State.FAILED, now, now, status_code=503, error="HTTP 503")
        return Outcome(State.SUCCEEDED, now, now, status_code=200)


def _in_batches(name: str, says: str, **how: Any) -> Path:
    return Path(name=name, says=says, jobs_per_request=LARGEST_REQUEST, **how)


def _packed(name: str, says: str, **how: Any) -> Path:
    return Path(name=name, says=says, jobs_per_request=USUAL_REQUEST, within_seconds=60, **how)


def _runs(name: str, says: str, nodes: Nodes, ran: int, runs: int = 10) -> Path:
    return Path(name=name, says=says, record="full", nodes=nodes, ran=ran, herd=runs)


def _recurring(name: str, says: str, overlap: str = "allow", **how: Any) -> Path:
    schedule = {"every": {"seconds": _HOUR_SECONDS}, "overlap": overlap}
    return Path(name=name, says=says, named=True, schedule=schedule, record="full", **how)


PATHS = {
    path.name: path
    for path in (
        Path(name="none_single", says="one job a request"),
        Path(name="none_single_keyed", says="the same, each with an Idempotency-Key", keyed=True),
        _in_batches("none_batch", "500 jobs a request, on one second"),
        _packed("none_packed", "200 a request, within a minute"),
        _packed("full_packed", "the same, recorded", record="full"),
        _packed("packed_bundled", "200 a request, within a minute, at one SQS queue", bundled=True),
        _in_batches("herd_bundled", "1,600 on one second at one SQS queue", bundled=True, herd=1_600),
        Path(name="none_spread", says="one a request, an hour, 16 shards", shards=16, within_seconds=3_600),
        Path(name="full_single", says="one a request, recorded", record="full"),
        Path(name="full_single_soon", says="the same, due within minutes", record="full", soon=True),
        _in_batches("full_batch", "500 a request, recorded", record="full"),
        _in_batches("full_batch_keyed", "the same with an Idempotency-Key", record="full", keyed=True),
        Path(
            name="full_single_1k",
            says="one a request of 1 KB, recorded",
            record="full",
            payload_bytes=LARGER_PAYLOAD_BYTES,
        ),
        _in_batches("none_batch_1k", "500 a request of 1 KB each", payload_bytes=LARGER_PAYLOAD_BYTES),
        Path(name="retry_full", says="one a request, recorded, the first attempt fails", record="full", failures=1),
        Path(name="cancel_none", says="one a request, each cancelled in time", cancelled=True),
        Path(name="cancel_full", says="one a request, recorded, each cancelled in time", record="full", cancelled=True),
        Path(name="named_oneshot", says="one named job a request", named=True, record="full"),
        _recurring("recurring_fire", "a fire of a recurring job"),
        _recurring("overlap_skip", "its second fire, looks for an earlier one under way", overlap="skip", fires=2),
        _in_batches("capped", "500 a request, 100 deliveries a second", client={"max_rate_per_second": 100.0}),
        _in_batches("narrow", "500 a request, 10 deliveries at once", client={"max_concurrency": 10}),
        _in_batches("parked", "500 a request, parked: the client is paused", client={"paused": True}, parked=True),
        _packed("cancel_packed", "200 a request, each cancelled in time", cancelled=True),
        _runs("workflow_chain_3", "a run of three nodes in a chain", chain(3), 3),
        _runs("workflow_chain_10", "a run of ten nodes in a chain", chain(10), 10),
        _runs("workflow_fan_in_99", "a run of 99 nodes, and one behind them", fan_in(99), 100, runs=2),
        _runs("workflow_skip", "a run of one node, and four behind it that are skipped", skip(4), 1),
        Path(name="pool_full", says="one a request, for a pool, claimed by ten", record="full", pulled=True),
        _in_batches(
            "pool_beat_checkpointed",
            "one heartbeat of a pool's job that has kept a checkpoint of 32 KiB",
            record="full",
            pulled=True,
            beaten=True,
        ),
    )
}
