"""The demonstration itself: warm up, create, cancel, wait, count."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from clockwork.domain.instants import from_text
from local.demo.plan import Kind, PlannedJob, plan, warm_up_wave
from local.demo.recurring import Recurring
from local.demo.scene import Scene
from local.demo.screen import Screen
from local.demo.summary import CreatedJob, Followed, Row, Summary, follow, next_due_in_ms, rows, summarize
from local.dev.faults import ServerFailed

#: Creates are spread out, like the creates of many users; this machine also runs the deliverers.
CREATES_PER_SECOND = 20
#: The ten jobs of a wave are in flight at once, so they need ten deliverers. Waves are repeated until all jobs of one
#: are on time, but only so often.
WARM_UP_WAVES = 4
WARM_UP_CREATES_PER_SECOND = 12
WARM_MS = 200
#: How long the tour waits for jobs that are late after the last one was due, and for arrivals that should not come
#: after the last one arrived.
STRAGGLER_SECONDS = 45
STRAY_SECONDS = 2
FIXED_RETRIES = {"maxAttempts": 5, "backoff": "fixed", "initialSeconds": 1, "jitter": "none"}


class Tour:
    """One run through a scene. `jobs` are the ones created so far, without the warm-up's and the recurring one."""

    def __init__(self, scene: Scene, screen: Screen) -> None:
        self._scene = scene
        self._screen = screen
        self.jobs: list[CreatedJob] = []
        self.recurring = Recurring(scene, screen.say)

    def run(self, rng: random.Random) -> Summary:
        """Do the whole run and count its results. Raises ServerFailed if the API refuses a job."""
        self._warm_up()
        planned = plan(rng)
        with self._screen.table(self._frame):
            self._create([job for job in planned if job.kind is not Kind.LATER], CREATES_PER_SECOND, self.jobs)
            self._cancel()
            self._create([job for job in planned if job.kind is Kind.LATER], CREATES_PER_SECOND, self.jobs)
            self.recurring.run()
            self._await_arrivals()
        return replace(summarize(self._followed(self.jobs)), further_faults=tuple(self.recurring.faults))

    def view_of(self, job: CreatedJob) -> Any:
        """The executions of a job as the API shows them."""
        return self._scene.api.request("GET", f"/v1/jobs/{job.job_id}/executions").body

    def _warm_up(self) -> None:
        """Send waves of jobs that are not counted, until one is on time: Lambda starts environments only on demand.

        Raises ServerFailed if nothing is delivered.
        """
        with self._screen.step("Warming up, not counted"):
            for number in range(WARM_UP_WAVES):
                wave = self._create(warm_up_wave(), WARM_UP_CREATES_PER_SECOND, [])
                self._await_settled(wave)
                lateness = rows(self._followed(wave), _now())[-1].lateness
                if lateness is None:
                    raise ServerFailed(f"Nothing was delivered: {self.view_of(wave[0])}")
                self._screen.say(f"  {len(wave)} jobs, {lateness.max} ms late at most")
                if number and lateness.max < WARM_MS:  # the first wave came in few batches, through the pollers
                    return

    def _create(self, planned: Iterable[PlannedJob], per_second: float, into: list[CreatedJob]) -> list[CreatedJob]:
        """Create jobs one by one, at most so many a second, without bursts to catch up.

        Adds them to `into` and returns it. Raises ServerFailed if the API refuses one.
        """
        for job in planned:
            started = time.monotonic()
            into.append(self._create_one(job))
            time.sleep(max(0, 1 / per_second - (time.monotonic() - started)))
        return into

    def _create_one(self, planned: PlannedJob) -> CreatedJob:
        body = {
            "schedule": {"delaySeconds": planned.delay_ms / 1000},
            "target": self._scene.target(planned.channel, planned.kind),
            "payload": {"number": planned.number, "kind": str(planned.kind)},
            **({"retryPolicy": FIXED_RETRIES} if planned.kind is Kind.FLAKY else {}),
        }
        answer = self._scene.api.request("POST", "/v1/jobs", body)
        if answer.status != 201:
            raise ServerFailed(f"The API did not take job {planned.number}: {answer.status} {answer.body}")
        created = answer.body
        return CreatedJob(planned, created["jobId"], created["state"], from_text(created["dueAt"]), _now())

    def _cancel(self) -> None:
        """Cancel the jobs that are to be cancelled, long before they are due."""
        for index, job in enumerate(self.jobs):
            if job.planned.kind is Kind.CHANGED_MIND:
                answer = self._scene.api.request("DELETE", f"/v1/jobs/{job.job_id}")
                if answer.status != 200:
                    raise ServerFailed(f"The API did not answer a cancel: {answer.status} {answer.body}")
                self.jobs[index] = replace(job, cancel_result=answer.body["result"])

    def _await_arrivals(self) -> None:
        self._await_settled(self.jobs)
        time.sleep(STRAY_SECONDS)  # for arrivals that should not come: no event shows that none will

    def _await_settled(self, jobs: Sequence[CreatedJob]) -> None:
        end_at = max(job.due_at for job in jobs) + STRAGGLER_SECONDS * 1000
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


def _now() -> int:
    return int(time.time() * 1000)
