"""The state of the page: time, jobs, and the executions that happen when they are due."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Any

from tests.model.operations import MAX_ATTEMPTS, RETRY_SECONDS, Operation

Job = dict[str, Any]
#: An HTTP status, and the part of the body that the page models.
Expected = tuple[int, Any]


def by_instant(run: Any) -> Any:
    """Sort key for comparing executions; executions of the same instant have no order among themselves."""
    return run["dueAt"], run["state"], len(run["attempts"])


class Ledger:
    """Jobs in dictionaries, each identified by a number. An occurrence waits until it is due, and happens then."""

    def __init__(self, now: int) -> None:
        self.now = now
        self.jobs: list[Job] = []
        self.delivered: list[tuple[int, int, int]] = []  # job, due instant, attempt
        self._names: dict[str, int] = {}
        self._keys: dict[str, tuple[Any, list[int | None]]] = {}
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def wait(self, ms: int) -> None:
        """Lets `ms` pass, and carries out all that comes due meanwhile."""
        until = self.now + ms
        while self._events and self._events[0][0] <= until:
            at, _, happen = heapq.heappop(self._events)
            self.now = max(self.now, at)
            happen()
        self.now = until

    def _job(self, op: Operation) -> Job | None:
        return self.jobs[op.job % len(self.jobs)] if self.jobs else None

    def _plan(self, at: int, happen: Callable[[], None]) -> None:
        heapq.heappush(self._events, (max(self.now, at), next(self._numbers), happen))

    def _start(
        self, job: Job, due_at: int, run_at: int, wanted: Callable[[], bool], *, scheduled: bool = False
    ) -> None:
        run = {"dueAt": due_at, "state": "waiting", "attempts": [], "budget": 0, "scheduled": scheduled}
        if job["body"]["record"] == "full" or job["named"]:
            job["runs"].append(run)
        self._plan(run_at, lambda: self._attempt(job, run, wanted))

    def _attempt(self, job: Job, run: Any, wanted: Callable[[], bool]) -> None:
        if run["state"] in ("CANCELLED", "dropped"):
            return
        if not wanted():
            run["state"] = "dropped"
            return
        body = run.setdefault("body", job["body"]) if not job["named"] else job["body"]
        number = len(run["attempts"]) + 1
        self.delivered.append((job["number"], run["dueAt"], number))
        succeeds = number > body["payload"]["fails"]
        run["attempts"].append("SUCCEEDED" if succeeds else "FAILED")
        run["state"] = run["attempts"][-1]
        if not succeeds and number - run["budget"] >= MAX_ATTEMPTS:
            run["state"] = "DEAD"
        elif not succeeds:
            self._plan(self.now + RETRY_SECONDS * 1000, lambda: self._attempt(job, run, wanted))

    def _shown_runs(self, job: Job) -> list[Any]:
        """The executions that the API lists, newest first, without waiting and dropped ones."""
        runs = [run for run in job["runs"] if run["state"] not in ("waiting", "dropped")]
        return sorted(runs, key=lambda run: run["dueAt"], reverse=True)

    @staticmethod
    def _execution(run: Any) -> Any:
        return {"dueAt": run["dueAt"], "state": run["state"], "attempts": [{"state": s} for s in run["attempts"]]}
