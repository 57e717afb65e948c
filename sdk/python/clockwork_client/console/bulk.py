"""Redrives and discards of many dead executions, by threads of the console.

How it fails. A closed tab ends nothing. A closed console ends the thread between two calls: what was changed stays
changed, and `clockwork dead` goes on with the token. A call that fails stops the run, and `go_on` repeats that call:
an execution that was changed before is not dead any more, so a repeat finds the rest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event, Lock, Thread

from clockwork_client.console.problems import Problem, problem_of
from clockwork_client.errors import ClockworkError
from clockwork_client.handled import Handled

#: Runs at one time. More would only take from each other what the API lets one client change in a second.
MOST_AT_ONCE = 4
_MOST_KEPT = 50


@dataclass
class Run:
    """One run. `verb` is redrive or discard, and `chosen` the filter as the reader gave it.

    `state` is one of running, stopping, stopped, failed, done.
    """

    run_id: str
    verb: str
    client: str
    chosen: Mapping[str, str]
    began_at: datetime
    state: str = "running"
    matched: int = 0
    changed: int = 0
    calls: int = 0
    next_token: str | None = None
    ended_at: datetime | None = None
    problem: Problem | None = None
    stop: Event = field(default_factory=Event)

    @property
    def is_active(self) -> bool:
        """Whether its thread still works on it."""
        return self.state in ("running", "stopping")


class TooMany(Exception):
    """As many runs as may be at one time are under way."""


class BulkRuns:
    """The runs of this console, the newest last. `now` is the time, and `changed` is called after each call."""

    def __init__(self, now: Callable[[], datetime], changed: Callable[[], None]) -> None:
        self._now = now
        self._changed = changed
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._calls: dict[str, Callable[[str | None], Handled]] = {}
        self._threads: dict[str, Thread] = {}
        self._begun = 0
        self._lock = Lock()

    def start(self, verb: str, client: str, chosen: Mapping[str, str], call: Callable[[str | None], Handled]) -> Run:
        """Begin a run, or find the one that does the same already. Raises TooMany."""
        with self._lock:
            for one in self._runs.values():
                if one.is_active and (one.verb, one.client, one.chosen) == (verb, client, chosen):
                    return one
            if sum(one.is_active for one in self._runs.values()) >= MOST_AT_ONCE:
                raise TooMany
            self._begun += 1
            run = Run(str(self._begun), verb, client, dict(chosen), self._now())
            self._runs[run.run_id], self._calls[run.run_id] = run, call
            over = max(0, len(self._runs) - _MOST_KEPT)
            for old in [one.run_id for one in self._runs.values() if not one.is_active][:over]:
                del self._runs[old], self._calls[old], self._threads[old]
            self._begin(run)
            return run

    def find(self, run_id: str) -> Run | None:
        """The run with this id, if this console has it."""
        return self._runs.get(run_id)

    def all(self) -> list[Run]:
        """All runs, the newest first."""
        with self._lock:
            return list(reversed(self._runs.values()))

    def stop(self, run: Run) -> None:
        """End a run after the call that is under way."""
        with self._lock:
            if run.is_active:
                run.state = "stopping"
                run.stop.set()

    def go_on(self, run: Run) -> None:
        """Go on with a run that was stopped, or that failed, at the call that did not end."""
        with self._lock:
            if run.state in ("stopped", "failed"):
                run.state, run.problem, run.ended_at = "running", None, None
                run.stop.clear()
                self._begin(run)

    def wait(self, run: Run, seconds: float) -> None:
        """Wait until the thread of a run has ended, at most so long."""
        thread = self._threads.get(run.run_id)
        if thread is not None:
            thread.join(seconds)

    def _begin(self, run: Run) -> None:
        thread = Thread(target=self._work, args=(run,), name=f"console-bulk-{run.run_id}", daemon=True)
        self._threads[run.run_id] = thread
        thread.start()

    def _work(self, run: Run) -> None:
        # Another error than the client's is a fault of this program. The run then ends as failed, and the error is told
        # where errors of threads are.
        ended = "failed"
        try:
            ended = self._until_end(run, self._calls[run.run_id])
        except ClockworkError as error:
            run.problem = problem_of(error)
        finally:
            with self._lock:
                run.ended_at, run.state = self._now(), ended

    def _until_end(self, run: Run, call: Callable[[str | None], Handled]) -> str:
        while not run.stop.is_set():
            try:
                answer = call(run.next_token)
            finally:
                self._changed()
            run.calls += 1
            run.matched += answer.matched
            run.changed += answer.changed
            run.next_token = answer.next_token
            if run.next_token is None:
                return "done"
        return "stopped"
