"""The demonstration itself: warm up, create, cancel, wait, count."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from clockwork.domain.instants import from_text
from local.demo.plan import Channel, Kind, PlannedJob, plan
from local.demo.scene import DemoFailed, Scene
from local.demo.screen import Screen
from local.demo.summary import CreatedJob, Followed, Row, Summary, follow, next_due_in_ms, rows, summarize

#: Creates are spread out, as those of many users are; this machine also runs what delivers.
CREATES_PER_SECOND = 20
#: A wave of ten that is due in one second starts the pollers; ten in flight at once start as many deliverers.
WARM_UP_JOBS = 10
WARM_UP_CREATES_PER_SECOND = 12
WARM_UP_DELAY_MS = 1_900
#: How long stragglers are waited for after the last job was due, and strays after the last one arrived.
STRAGGLER_SECONDS = 45
STRAY_SECONDS = 2
FIXED_RETRIES = {"maxAttempts": 5, "backoff": "fixed", "initialSeconds": 1, "jitter": "none"}


class Tour:
    """One run through a scene. `jobs` are those created so far, without the warm-up's."""

    def __init__(self, scene: Scene, screen: Screen) -> None:
        self._scene = scene
        self._screen = screen
        self.jobs: list[CreatedJob] = []

    def run(self, rng: random.Random) -> Summary:
        """All of it. Raises DemoFailed if the API refuses a job."""
        self._warm_up()
        planned = plan(rng)
        with self._screen.table(self._frame):
            self._create(job for job in planned if job.kind is not Kind.LATER)
            self._cancel()
            self._create(job for job in planned if job.kind is Kind.LATER)
            self._await_arrivals()
        return summarize(self._followed(self.jobs))

    def view_of(self, job: CreatedJob) -> Any:
        """The executions of a job as the API shows them."""
        return self._scene.api.request("GET", f"/v1/jobs/{job.job_id}/executions").body

    def _warm_up(self) -> None:
        """Two waves that are not counted: Lambda starts its environments when they are first needed."""
        with self._screen.step("Warming up, not counted"):
            for _ in range(2):
                wave = []
                pace = _Pace(WARM_UP_CREATES_PER_SECOND)
                for number in range(WARM_UP_JOBS):
                    pace.wait()
                    channel = Channel.QUEUE if number % 3 == 2 else Channel.WEBHOOK
                    wave.append(self._create_one(PlannedJob(number, Kind.SOON, channel, WARM_UP_DELAY_MS)))
                self._await_settled(wave, STRAGGLER_SECONDS)
                lateness = rows(self._followed(wave), _now())[-1].lateness
                self._screen.say(f"  {WARM_UP_JOBS} jobs: {lateness.max if lateness else '?'} ms late at most")

    def _create(self, planned: Iterable[PlannedJob]) -> None:
        pace = _Pace(CREATES_PER_SECOND)
        for job in planned:
            pace.wait()
            self.jobs.append(self._create_one(job))

    def _create_one(self, planned: PlannedJob) -> CreatedJob:
        body = {
            "schedule": {"delaySeconds": planned.delay_ms / 1000},
            "target": self._scene.target(planned.channel, planned.kind),
            "payload": {"number": planned.number, "kind": str(planned.kind)},
            **({"retryPolicy": FIXED_RETRIES} if planned.kind is Kind.FLAKY else {}),
        }
        answer = self._scene.api.request("POST", "/v1/jobs", body)
        if answer.status != 201:
            raise DemoFailed(f"The API did not take job {planned.number}: {answer.status} {answer.body}")
        created = answer.body
        return CreatedJob(planned, created["jobId"], created["state"], from_text(created["dueAt"]), _now())

    def _cancel(self) -> None:
        """Those that are to be cancelled, long before they are due."""
        for index, job in enumerate(self.jobs):
            if job.planned.kind is Kind.CHANGED_MIND:
                answer = self._scene.api.request("DELETE", f"/v1/jobs/{job.job_id}")
                if answer.status != 200:
                    raise DemoFailed(f"The API did not answer a cancel: {answer.status} {answer.body}")
                self.jobs[index] = replace(job, cancel_result=answer.body["result"])

    def _await_arrivals(self) -> None:
        self._await_settled(self.jobs, STRAGGLER_SECONDS)
        time.sleep(STRAY_SECONDS)  # for what should not come: there is nothing to wait for

    def _await_settled(self, jobs: Sequence[CreatedJob], patience_seconds: float) -> None:
        end_at = max(job.due_at for job in jobs) + patience_seconds * 1000
        while _now() < end_at and not all(one.is_settled for one in self._followed(jobs)):
            time.sleep(0.1)

    def _followed(self, jobs: Sequence[CreatedJob]) -> list[Followed]:
        return follow(tuple(jobs), self._scene.arrivals.of)

    def _frame(self) -> tuple[Sequence[Row], str]:
        now, followed = _now(), self._followed(self.jobs)
        ahead = next_due_in_ms(followed, now)
        unsettled = sum(not one.is_settled for one in followed)
        caption = f"next due in {ahead / 1000:.1f} s, " if ahead is not None else ""
        return rows(followed, now), f"{caption}{unsettled} on their way"


class _Pace:
    """At most so many a second, without bursts to catch up."""

    def __init__(self, per_second: float) -> None:
        self._gap_seconds = 1 / per_second
        self._next = time.monotonic()

    def wait(self) -> None:
        """Until it is time for the next."""
        time.sleep(max(0, self._next - time.monotonic()))
        self._next = time.monotonic() + self._gap_seconds


def _now() -> int:
    return int(time.time() * 1000)
