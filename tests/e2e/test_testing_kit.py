"""The testing kit beside the deployed stack: one scenario played on both goes alike, execution by execution.

The stack plays first, in real time. Its player notes at which instant each step of a scenario was done; the kit does
the same step at the same virtual instant. A step waits for what it needs, so a slow machine changes instants alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from clockwork.domain.executions import FINAL
from clockwork_client import Clockwork, Job, http, retry
from clockwork_client.testing import Answer, VirtualClockwork
from tests.e2e.deployment import Deployment
from tests.e2e.hooks import Hooks
from tests.e2e.waiting import await_value

pytestmark = pytest.mark.nightly

#: The conditions that hold before a scenario goes on; the kit does not ask.
Steps = Iterator[Callable[[], bool]]
STEADY = retry(max_attempts=3, backoff="fixed", initial_seconds=1, jitter="none")
CLIENTS: dict[str, dict[str, Any]] = {"kit-plain": {}, "kit-capped": {"maxRatePerSecond": 1}, "kit-paused": {}}


@dataclass
class Stage:
    """Where a scenario is played: at which stack, from which instant on, in beats (s) of which length; what it left."""

    cw: dict[str, Clockwork]
    admin: Clockwork
    start: datetime
    beat: float
    urls: dict[str, str]
    jobs: list[Job] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)

    def make(self, hook: str, payload: Any, *, by: str = "kit-plain", **options: Any) -> Job:
        """Create a job whose executions are compared."""
        self.jobs.append(self.cw[by].schedule(http(self.urls[hook]), payload, **options))
        return self.jobs[-1]

    def after(self, beats: float) -> datetime:
        return self.start + timedelta(seconds=beats * self.beat)

    def is_past(self, beats: float) -> bool:
        return datetime.now(UTC) > self.after(beats)

    def is_on_beat(self) -> bool:
        """Whether a change now comes certainly after what is due at the last beat, and before the next one."""
        beats = (datetime.now(UTC) - self.start).total_seconds() / self.beat
        return 0.1 < beats % 1 < 0.5

    def runs(self, job: Job) -> list[Any]:
        return list(self.cw[job.client_id].executions.list(job.job_id))

    def ended(self, count: int, *jobs: Job) -> Callable[[], bool]:
        """Whether each of these jobs has so many executions, or more, that have ended."""
        return lambda: all(sum(run.state in FINAL for run in self.runs(job)) >= count for job in jobs)


def transitions(year: int) -> tuple[date, date]:
    """The days of a year on which New York leaves out an hour, and on which it has one twice."""
    spring, autumn = date(year, 3, 8), date(year, 11, 1)
    return tuple(day + timedelta(days=(6 - day.weekday()) % 7) for day in (spring, autumn))  # type: ignore[return-value]


def clock_changes(at: Stage) -> Steps:
    """Last year's changes of the clock, executed once more: an hour that is left out, and one that comes twice."""
    fires = []
    # Its own fires are not meant, of which one may be due while this is played.
    around = [(at.start + timedelta(days=days)).date().isoformat() for days in (-1, 0, 1)]
    for number, day in enumerate(transitions(at.start.year - 1)):
        begin = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=1)
        for gap, overlap in (("run_at_gap_end", "both"), ("skip", "second")):
            when = {"cron": "30 1,2 * * *", "timezone": "America/New_York", "dst_gap": gap, "dst_overlap": overlap}
            job = at.make("hook", "clock", key=f"clock-{number}-{gap}", retry=STEADY, exclude=around, **when)
            filling = at.cw["kit-plain"].jobs.backfill(job.job_id, begin, begin + timedelta(days=3), max_per_second=100)
            fires.append((filling.count, job))
    at.answers += [count for count, _ in fires]
    yield lambda: all(at.ended(count, job)() for count, job in fires)
    at.answers += [at.cw["kit-plain"].jobs.cancel(job.job_id).result for _, job in fires]


def retries(at: Stage) -> Steps:
    flaky = at.make("flaky", "flaky", at=at.after(1), retry=STEADY)
    down = at.make("down", "down", at=at.after(1), retry=STEADY)
    yield at.ended(1, flaky, down)


def cap(at: Stage) -> Steps:
    capped = [at.make("hook", number, by="kit-capped", at=at.after(1), retry=STEADY) for number in range(4)]
    yield at.ended(1, *capped)


def pause_of_a_job(at: Stage) -> Steps:
    """Four fires: before the pause, in it, which is caught up, and after it."""
    often: dict[str, Any] = {"every": at.beat, "anchor_at": at.after(1), "max_fires": 4, "catch_up": "all"}
    job = at.make("hook", "paused", key="paused", retry=STEADY, **often)
    yield lambda: at.ended(1, job)() and at.is_on_beat()
    at.cw["kit-plain"].jobs.pause(job.job_id)
    paused_at = datetime.now(UTC)
    yield lambda: datetime.now(UTC) > paused_at + timedelta(seconds=at.beat) and at.is_on_beat()
    at.cw["kit-plain"].jobs.resume(job.job_id)
    yield at.ended(4, job)


def pause_of_a_client(at: Stage) -> Steps:
    job = at.make("hook", "parked", by="kit-paused", at=at.after(2), retry=STEADY)
    at.admin.clients.pause("kit-paused")
    yield lambda: at.is_past(2.5)
    at.admin.clients.resume("kit-paused")
    yield at.ended(1, job)


def cancel(at: Stage) -> Steps:
    """Before the release, after it, between two attempts, and after the delivery."""
    cw = at.cw["kit-plain"]
    slow = retry(max_attempts=2, backoff="fixed", initial_seconds=10 * at.beat, jitter="none")
    early = at.make("hook", "early", at=at.start + timedelta(days=1), retry=STEADY)
    late = at.make("hook", "late", at=at.after(12), retry=STEADY)
    failing = at.make("down", "failing", at=at.after(1), retry=slow)
    done = at.make("hook", "done", at=at.after(1), retry=STEADY)
    yield lambda: bool(at.runs(failing) and at.runs(failing)[0].attempts[-1].ended_at) and at.ended(1, done)()
    at.answers += [cw.jobs.cancel(one.job_id).result for one in (early, late, failing, done)]


STATES = {retries: {"SUCCEEDED", "DEAD"}, cancel: {"SUCCEEDED", "CANCELLED"}}
SCENARIOS = (clock_changes, retries, cap, pause_of_a_job, pause_of_a_client, cancel)


def seconds_of_a_create(cw: Clockwork) -> float:
    begin = time.monotonic()
    cw.schedule(http("https://example.com/never"), in_=timedelta(days=1))
    return time.monotonic() - begin


def in_real_time(steps: Steps) -> list[datetime]:
    """Play a scenario, each step as soon as what it waits for is so. Returns when (UTC) each began."""
    times = [datetime.now(UTC)]
    for is_so in steps:
        # Not too often: six scenarios ask at once.
        await_value(lambda is_so=is_so: is_so() or None, "the scenario goes on", every_seconds=0.3)  # type: ignore[misc]
        times.append(datetime.now(UTC))
    return times


def in_virtual_time(scenarios: list[tuple[Steps, list[datetime]]], kit: VirtualClockwork) -> None:
    """Play all, each step at its instant."""
    for at, number in sorted((at, number) for number, (_, times) in enumerate(scenarios) for at in times):
        kit.run_until(at)
        next(scenarios[number][0], None)
    kit.advance(minutes=1)  # the stack's scenarios end when all is delivered: so does this


def history(at: Stage) -> dict[str, list[Any]]:
    """By job: its state, and every execution with its due instant, state, reason, and attempts with their outcomes."""
    told = {}
    for number, job in enumerate(at.jobs):
        runs = [
            (run.due_at, run.state, run.reason, run.skipped, [outcome(one) for one in run.attempts or ()])
            for run in at.runs(job)
        ]
        told[f"{number}: {job.job_key}"] = [at.cw[job.client_id].jobs.get(job.job_id).state, *runs]
    return told


def outcome(attempt: Any) -> tuple[Any, ...]:
    return attempt.number, attempt.state, attempt.status_code, attempt.error, attempt.response_excerpt


@pytest.mark.usefixtures("resolving")
def test_a_scenario_goes_alike_in_the_kit_and_on_the_deployed_stack(deployment: Deployment, webhooks: Hooks) -> None:
    hooks = {"hook": webhooks.hook(), "flaky": webhooks.hook(failures=1), "down": webhooks.hook(failures=100)}
    urls = {name: hook.url for name, hook in hooks.items()}
    reaching = {"allowedPrivateTargets": [webhooks.place]}
    real = {name: deployment.clockwork(name, **reaching, **limits) for name, limits in CLIENTS.items()}
    admin = deployment.clockwork_of(deployment.stack.admin, None)
    with ThreadPoolExecutor(len(SCENARIOS)) as pool:
        for _ in ("cold", "warm"):
            took = list(pool.map(seconds_of_a_create, [real["kit-plain"]] * len(SCENARIOS)))
        beat = max(2, round(4 * max(took)))
        start = datetime.now(UTC).replace(microsecond=0)
        played = [Stage(real, admin, start, beat, urls) for _ in SCENARIOS]
        times = list(pool.map(in_real_time, [scenario(at) for scenario, at in zip(SCENARIOS, played, strict=True)]))

    kit = VirtualClockwork(at=start)
    failures = {f"https://example.com/{name}": hook.failures for name, hook in hooks.items()}
    kit.on_deliver(
        lambda one: Answer(503, "not now") if one.attempt <= failures[one.target.raw["url"]] else Answer(200)
    )
    virtual = {name: kit.client(name, **limits) for name, limits in CLIENTS.items()}
    urls = {name: f"https://example.com/{name}" for name in hooks}
    again = [Stage(virtual, kit.admin, start, beat, urls) for _ in SCENARIOS]
    steps = [scenario(at) for scenario, at in zip(SCENARIOS, again, strict=True)]
    in_virtual_time(list(zip(steps, times, strict=True)), kit)

    for scenario, theirs, ours in zip(SCENARIOS, played, again, strict=True):
        assert (ours.answers, history(ours)) == (theirs.answers, history(theirs)), scenario.__name__
        told = {run[1] for _, *runs in history(theirs).values() for run in runs}
        assert told == STATES.get(scenario, {"SUCCEEDED"})
    cancelled = ["cancelled"] * 4
    assert [at.answers for at in played if at.answers] == [[6, 5, 7, 6, *cancelled], [*cancelled[1:], "too_late"]]
