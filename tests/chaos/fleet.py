"""Chaos among workers: one is killed, one stands still beyond its lease, and the api dies while they claim."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from local.api import SignedApi
from local.dev.files import environment_of
from local.dev.running import Server
from local.dev.server import POOL
from tests.chaos.processes import Environments, send

SLOTS = 6
#: Jobs that take longer than it takes to strike, and jobs that are claimed while the api dies.
LONG, QUICK = 2 * SLOTS, 40
STEPS, STEP_SECONDS = 40, 0.4
KILLS, BETWEEN_KILLS = 6, 0.7
#: Longer than the pool's lease with the grace behind it.
STOPPED_SECONDS = 72.0
_PATIENCE = 180.0


class Step(NamedTuple):
    """A step that was kept: of which job, in which attempt, by which process, and when (s)."""

    job: str
    number: int
    attempt: int
    process: int
    at: float


@dataclass(frozen=True)
class Ended:
    """How a job ended, as the API shows it."""

    state: str
    attempts: Sequence[str]


@dataclass(frozen=True)
class Outcome:
    """The observations of a round. `strikes`: environments of the api that were killed. `struck`: struck workers."""

    steps: Sequence[Step]
    ended: Mapping[str, Ended]
    strikes: int
    #: Tickets that are still in the pool's queues.
    tickets: int
    struck: frozenset[int] = frozenset()

    @property
    def wrong(self) -> list[str]:
        """The faults of the round, as sentences."""
        found = [] if self.strikes else ["no environment of the api was killed"]
        found += [f"{self.tickets} tickets are left"] if self.tickets else []
        found += [f"{job} is {one.state}" for job, one in self.ended.items() if one.state != "SUCCEEDED"]
        by_job = defaultdict[str, list[Step]](list)
        for step in self.steps:
            by_job[step.job].append(step)
        for job in self.ended:
            found += [f"{job} {what}" for what in wrong_steps(by_job[job])]
        return found

    @property
    def torn(self) -> set[str]:
        """The long jobs that a struck worker had begun and did not end."""
        reached = defaultdict[str, int](int)
        for step in self.steps:
            if step.process in self.struck and step.attempt == 1 and step.job.startswith("long-"):
                reached[step.job] = max(reached[step.job], step.number)
        return {job for job, number in reached.items() if number < STEPS}

    @property
    def taken_over(self) -> int:
        """How many jobs another worker went on with."""
        return sum("WORKER_LOST" in one.attempts for one in self.ended.values())


def wrong_steps(steps: Sequence[Step]) -> Iterator[str]:
    """The faults among the steps of one job.

    A worker that is struck between a checkpoint and its line leaves one step out, or writes its line when it goes on.
    The same holds for an attempt that ends since nobody told it that its checkpoint was kept.
    """
    reached, last = 0, 1
    for attempt in sorted({step.attempt for step in steps}):
        its = [step for step in steps if step.attempt == attempt]
        numbers = sorted(step.number for step in its)
        if numbers != list(range(numbers[0], numbers[-1] + 1)):
            yield f"leaves steps out, or repeats some, in attempt {attempt}: {numbers}"
        if not 1 <= numbers[0] - reached <= 1 + attempt - last:
            yield f"goes on with step {numbers[0]} in attempt {attempt}, and {reached} was the last of before"
        if len({step.process for step in its}) > 1:
            yield f"has attempt {attempt} in two processes"
        reached, last = numbers[-1], attempt


class Crew:
    """Worker processes on a running server, and the jobs that they are given."""

    def __init__(self, server: Server, folder: Path) -> None:
        self._server = server
        self._file = folder / "steps.jsonl"
        self._file.touch()
        self.api: SignedApi = server.api()

    @contextmanager
    def worker(self, slots: int = SLOTS) -> Iterator[subprocess.Popen[bytes]]:
        """A worker process; at the end it is told to drain, and killed if it does not."""
        command = [sys.executable, "-m", "tests.chaos.worker_program", POOL, str(self._file), str(slots)]
        process = subprocess.Popen(command, env={**os.environ, **environment_of(self._server)})
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def create(self, name: str, count: int, steps: int, seconds: float) -> dict[str, str]:
        """Create jobs that are due in a second; returns their names by their ids."""
        target = {"type": "pool", "pool": POOL, "handler": "work", "timeoutSeconds": 600}
        names = [f"{name}-{number}" for number in range(count)]
        jobs: list[dict[str, Any]] = [
            {
                "schedule": {"delaySeconds": 1},
                "target": target,
                "payload": {"name": one, "steps": steps, "seconds": seconds},
            }
            for one in names
        ]
        answer = self.api.request("POST", "/v1/jobs/batch", {"jobs": jobs})
        assert answer.status == 200, answer
        created = {one["jobId"]: names[index] for index, one in enumerate(answer.body["results"])}
        assert len(created) == count, answer.body
        return created

    def steps(self) -> list[Step]:
        """All steps that are kept."""
        return [Step(*json.loads(line)) for line in self._file.read_text().splitlines()]

    def ended(self, created: Mapping[str, str]) -> dict[str, Ended]:
        """How the jobs have ended, by their names."""
        found = {}
        for job_id, name in created.items():
            items = self.api.request("GET", f"/v1/jobs/{job_id}/executions").body["items"]
            one: dict[str, Any] = items[0] if items else {"state": "none"}
            found[name] = Ended(one["state"], [attempt["state"] for attempt in one.get("attempts", ())])
        return found

    def tickets(self) -> int:
        """How many tickets are in the pool's queues: waiting, delayed or received."""
        sqs, names = self._server.stack.client("sqs"), ("", "NotVisible", "Delayed")
        asked = [f"ApproximateNumberOfMessages{name}" for name in names]
        urls = [url for url in sqs.list_queues()["QueueUrls"] if f"-Pool-{POOL}-" in url]
        told = [sqs.get_queue_attributes(QueueUrl=url, AttributeNames=asked)["Attributes"] for url in urls]
        return sum(int(value) for one in told for value in one.values())


def play(server: Server, folder: Path, say: Callable[[str], None]) -> Outcome:
    """One round: about two minutes, most of it a lease."""
    crew, environments = Crew(server, folder), Environments(server.stack)
    created = crew.create("long", LONG, STEPS, STEP_SECONDS)
    with crew.worker() as killed, crew.worker() as stopped:
        until(lambda: {killed.pid, stopped.pid} <= _well_begun(crew.steps()), "two workers at work")
        say(f"SIGKILL for worker {killed.pid}, SIGSTOP for worker {stopped.pid}")
        killed.send_signal(signal.SIGKILL)
        stopped.send_signal(signal.SIGSTOP)
        stopped_at = time.monotonic()
        try:
            with crew.worker(slots=2 * LONG):
                created |= crew.create("quick", QUICK, 1, 0.1)
                strikes = _kill_claiming(crew, environments)
                say(f"the api was killed {strikes} times while workers claimed")
                time.sleep(max(0.0, stopped_at + STOPPED_SECONDS - time.monotonic()))
                send(stopped.pid, signal.SIGCONT)
                until(lambda: _all_ended(crew.ended(created)), "the end of all jobs")
                until(lambda: crew.tickets() == 0, "the end of all tickets", give_up=False)
        finally:
            send(stopped.pid, signal.SIGCONT)
    struck = frozenset({killed.pid, stopped.pid})
    outcome = Outcome(crew.steps(), crew.ended(created), strikes, crew.tickets(), struck)
    crew.api.close()
    return outcome


def _well_begun(steps: Sequence[Step]) -> set[int]:
    """The processes that have kept three steps."""
    return {step.process for step in steps if step.number >= 3}


def _kill_claiming(crew: Crew, environments: Environments) -> int:
    """Kill the api's environments again and again while tickets wait to be claimed."""
    killed = 0
    for _ in range(KILLS):
        until(lambda: crew.tickets() > 0 or environments.of("workers"), "an environment of the api")
        killed += environments.signal("workers", signal.SIGKILL)
        time.sleep(BETWEEN_KILLS)
    return killed


def _all_ended(ended: Mapping[str, Ended]) -> bool:
    return all(one.state in ("SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED") for one in ended.values())


def until(condition: Callable[[], Any], what: str, *, give_up: bool = True) -> None:
    """Wait until something holds. Raises AssertionError if it never does, unless it is judged later."""
    ends_at = time.monotonic() + (_PATIENCE if give_up else 70.0)
    while not condition():
        if time.monotonic() > ends_at:
            assert not give_up, f"never came: {what}"
            return
        time.sleep(0.1)
