"""The ways of jobs through the scheduler whose units are metered."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bench.scheduler import CLIENT, QUEUE_ARN, Scheduler, Unexpected, scheduler
from bench.usage import Usage
from clockwork.aws.repeats import batches
from clockwork.domain.executions import Outcome, State
from clockwork.domain.instants import to_text
from clockwork.domain.releases import Delivery
from clockwork.memory.clock import MemoryClock
from local.emulator import Credentials, Emulator

#: How far ahead the first job is due: beyond where a create starts a poller itself, within a poller's lookahead.
LEAD_SECONDS = 180
TICK_SECONDS = 60
PAYLOAD_BYTES = 200
LARGEST_REQUEST = 500
USUAL_REQUEST = 200
_HOOK = {"type": "http", "url": "https://example.com/hook"}


@dataclass(frozen=True, kw_only=True)
class Path:
    """What a client asks for, how, and what its target says. All jobs are due within `within_seconds`.

    `herd`: so many jobs, whatever was asked for, at one SQS queue.
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
    herd: int | None = None

    def run(self, running: Emulator, account: Credentials, jobs: int) -> Usage:
        """Take so many jobs this way; what each used. Raises Unexpected if one does not arrive as it should."""
        jobs = self.herd or jobs
        with scheduler(running, account, shards=self.shards, answer=self._answer) as (scheduled, meter):
            job_ids = [answer["jobId"] for answer in self._create(scheduled, jobs)]
            if self.cancelled:
                self._cancel(scheduled, job_ids)
            self._drain(scheduled)
            self._check(scheduled, jobs)
            return meter.usage().per_job(jobs)

    def _create(self, scheduled: Scheduler, jobs: int) -> Iterator[Any]:
        rng = random.Random(self.name)
        bodies = [self._job(rng, scheduled.clock.at) for _ in range(jobs)]
        for number, some in enumerate(batches(bodies, self.jobs_per_request)):
            key = f"request-{number}" if self.keyed else None
            if self.jobs_per_request == 1:
                yield scheduled.request("POST", "/v1/jobs", {"clientId": CLIENT, **some[0]}, key)
            else:
                body = {"clientId": CLIENT, "jobs": list(some)}
                yield from scheduled.request("POST", "/v1/jobs/batch", body, key)["results"]

    def _job(self, rng: random.Random, now: int) -> dict[str, Any]:
        due_at = now + LEAD_SECONDS * 1000 + rng.randrange(self.within_seconds * 1000)
        if self.herd:
            due_at = now // 1000 * 1000 + LEAD_SECONDS * 1000
        job = {
            "schedule": {"at": to_text(due_at)},
            "target": {"type": "sqs", "queueArn": QUEUE_ARN} if self.herd else _HOOK,
            "payload": base64.b64encode(rng.randbytes(PAYLOAD_BYTES * 3 // 4)).decode(),
            "record": self.record,
        }
        # Without jitter retries come back in full batches, as their first attempts did.
        return job | ({"retryPolicy": {"jitter": "none"}} if self.failures else {})

    def _cancel(self, scheduled: Scheduler, job_ids: list[str]) -> None:
        for job_id in job_ids:
            result = scheduled.request("DELETE", f"/v1/jobs/{job_id}")["result"]
            if result != "cancelled":
                raise Unexpected(f"a cancel answered {result}")

    def _drain(self, scheduled: Scheduler) -> None:
        """As many ticks as all jobs need to be released, one minute apart; then what is left to be delivered."""
        for _ in range(max(1, self.within_seconds // TICK_SECONDS)):
            ticked_at = scheduled.clock.at
            scheduled.tick()
            next_tick_at = ticked_at + TICK_SECONDS * 1000
            if self.within_seconds > TICK_SECONDS:
                scheduled.deliver(until=next_tick_at)
                scheduled.clock.hold_until(next_tick_at)
        scheduled.deliver()

    def _check(self, scheduled: Scheduler, jobs: int) -> None:
        attempts = 0 if self.cancelled else jobs * (1 + self.failures)
        ids = {delivery.execution_id for delivery in scheduled.delivered}
        if len(scheduled.delivered) != attempts or len(ids) != (0 if self.cancelled else jobs):
            raise Unexpected(f"{len(scheduled.delivered)} attempts at {len(ids)} jobs instead of {attempts} at {jobs}")

    def _answer(self, delivery: Delivery, clock: MemoryClock) -> Outcome:
        now = clock.now()
        if delivery.attempt <= self.failures:
            return Outcome(State.FAILED, now, now, status_code=503, error="HTTP 503")
        return Outcome(State.SUCCEEDED, now, now, status_code=200)


def _in_batches(name: str, says: str, **how: Any) -> Path:
    return Path(name=name, says=says, jobs_per_request=LARGEST_REQUEST, **how)


def _packed(name: str, says: str, **how: Any) -> Path:
    return Path(name=name, says=says, jobs_per_request=USUAL_REQUEST, within_seconds=60, **how)


PATHS = {
    path.name: path
    for path in (
        Path(name="none_single", says="one job a request"),
        Path(name="none_single_keyed", says="the same, each with an Idempotency-Key", keyed=True),
        _in_batches("none_batch", "500 jobs a request, on one second"),
        _packed("none_packed", "200 a request, within a minute"),
        _packed("full_packed", "the same, recorded", record="full"),
        _in_batches("herd_bundled", "1,600 on one second at one SQS queue", herd=1_600),
        Path(name="none_spread", says="one a request, an hour, 16 shards", shards=16, within_seconds=3_600),
        Path(name="full_single", says="one a request, recorded", record="full"),
        _in_batches("full_batch", "500 a request, recorded", record="full"),
        _in_batches("full_batch_keyed", "the same with an Idempotency-Key", record="full", keyed=True),
        _in_batches("retry_full", "recorded, the first attempt fails", record="full", failures=1),
        Path(name="cancel_none", says="one a request, each cancelled in time", cancelled=True),
        Path(name="cancel_full", says="the same, recorded", record="full", cancelled=True),
        _packed("cancel_packed", "200 a request, each cancelled in time", cancelled=True),
    )
}
