"""A rate cap that is used, and that acts at once: what a client waits for when it cancels, raises its cap or deletes.

Virtual time: the shipped flows on the adapters in memory, with service times as `bench.arrivals.virtual` has them and
as many deliverer environments as an account is made for. A line of jobs, all due on one second, stands under a cap.

- `use`: deliveries of the line by the time from its first to its last, as a share of the cap.
- `newcomerWaitS`: all but ten of the line are cancelled ten seconds after they were due; how long a job waits that is
  due two minutes later.
- `afterCancelS`: in the same run, from the cancels to the last job of the line that lives.
- `afterRaiseS`: the wait of a job that is due five seconds after the cap was raised a hundredfold. The raise comes two
  minutes after the line was due, or when a fifth of it has gone. `lastAfterRaiseS`: from the raise to the last of the
  line.
- `afterDeleteS`: a job that runs at five times its cap is deleted after ten minutes; how long a job waits that is due
  five seconds later.

Each is measured with a line of 1,000 s, and again with one of 10,000 s (`long` in the JSON).

    python -m bench.caps [--json] [--docs]

The table goes to standard error, with --docs also into docs/performance.md; the last line of standard output is one
JSON object. It exits with 1 if a bound is missed. A few minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import msgspec

from bench.arrivals.virtual import VirtualClockwork
from bench.reporting.report import publish
from bench.reporting.tables import table
from clockwork.aws.repeats import batches
from clockwork.domain.clients import Client
from clockwork.domain.named.changes import cancelled
from clockwork.domain.named_jobs import Definition
from clockwork.domain.recurrence import Every, Recurrence
from clockwork.domain.requests.create import CreateRequest, NewJob
from clockwork.flows.access import Caller, get_by_key
from clockwork.flows.named.write import NamedRequest, change, create_named
from clockwork.flows.requests.cancel import cancel_job
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.settings import Settings
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload

CLIENT_ID = "capped"
CLIENT = Caller("bench", client_ids=frozenset({CLIENT_ID}))
TARGET, NO_PAYLOAD = HttpTarget("https://example.com/hook"), Payload(b"{}")
#: How far ahead a line is created: too far for a create to start a poller, but within a poller's lookahead.
LEAD_MS = 180_000
LARGEST_REQUEST = 500
#: The length of a line (s) and of a longer one, in jobs under a cap of one a second.
LINE, LONG_LINE = 1_000, 10_000
#: A job that runs once a second goes at this cap, and is deleted after so long (ms), or so long in the longer run.
RUNAWAY_CAP, RUNAWAY_MS, LONG_RUNAWAY_MS = 0.2, 600_000, 2_500_000
CANCEL_MS, COMES_MS, RAISE_MS, NEXT_MS = 10_000, 120_000, 120_000, 5_000
#: The jobs of a line that stay when the others are cancelled.
ALIVE = 10
TICK_MS = 60_000
#: A result must not be above its bound; `use` not below. The longer line has a bound of its own.
BOUNDS: Mapping[str, float] = {"afterCancelS": 90.0, "afterRaiseS": 60.0, "afterDeleteS": 75.0}
LONG_BOUNDS: Mapping[str, float] = {"afterCancelS": 90.0, "afterRaiseS": 900.0, "afterDeleteS": 75.0}
LEAST_USE = 0.98


class Line:
    """A client under a cap, in virtual time, whose jobs are all due at `due_at` (ms)."""

    def __init__(self, cap: float, seed: int = 0) -> None:
        self.virtual = VirtualClockwork(Settings.for_account(), seed)
        self.due_at = self.virtual.now + LEAD_MS
        self.set_cap(cap)

    def set_cap(self, cap: float) -> None:
        """Give the client this cap."""
        self._client = Client(client_id=CLIENT_ID, max_rate_per_second=cap)
        self.virtual.clockwork.clients.put(self._client)

    def create(self, count: int, due_at: int) -> list[str]:
        """Create jobs that are due at an instant; returns their ids."""
        world = self.virtual.world
        wanted = {"target": TARGET, "payload": NO_PAYLOAD, "at": due_at, "record": "full"}
        created: list[str] = []
        for request in batches(range(count), LARGEST_REQUEST):
            jobs = tuple(msgspec.convert({**wanted, "index": index}, NewJob) for index, _ in enumerate(request))
            wish = CreateRequest(client=self._client, jobs=jobs)
            created += [job.job_id for job in create_jobs(world, wish, ensure_shards(world))]
        return created

    def comes_at(self, due_at: int) -> list[str]:
        """A list that holds the id of one job, once that was created: two seconds before it is due."""
        ids: list[str] = []
        self.virtual.at(due_at - 2_000, lambda: ids.extend(self.create(1, due_at)))
        return ids

    def began(self, job_ids: Sequence[str]) -> list[int]:
        """When the first deliveries of these jobs began (ms), in order."""
        wanted, first = set(job_ids), dict[str, int]()
        for delivery, at in self.virtual.began:
            if delivery.job_id in wanted:
                first.setdefault(delivery.job_id, at)
        return sorted(first.values())


def measure_use(length: int) -> dict[str, float]:
    """`use`: a line that nobody disturbs."""
    line = Line(1.0)
    jobs = line.create(length, line.due_at)
    line.virtual.run(ticks=4)
    began = line.began(jobs)
    assert len(began) == length, f"{length - len(began)} jobs are lost"
    return {"use": (length - 1) * 1_000 / (began[-1] - began[0])}


def measure_cancel(length: int) -> dict[str, float]:
    """`afterCancelS` and `newcomerWaitS`: nearly all of a line is cancelled. The last of it live."""
    line = Line(1.0)
    jobs = line.create(length, line.due_at)
    dead, alive, cancel_at = jobs[:-ALIVE], jobs[-ALIVE:], line.due_at + CANCEL_MS
    line.virtual.at(cancel_at, lambda: _cancel(line, dead))
    newcomer = line.comes_at(line.due_at + COMES_MS)
    line.virtual.run(ticks=4)
    last, came = line.began(alive)[-1], line.began(newcomer)[0]
    return {"afterCancelS": (last - cancel_at) / 1000, "newcomerWaitS": (came - line.due_at - COMES_MS) / 1000}


def _cancel(line: Line, jobs: Sequence[str]) -> None:
    for job_id in jobs:
        cancel_job(line.virtual.world, CLIENT, job_id)


def measure_raise(length: int) -> dict[str, float]:
    """`afterRaiseS` and `lastAfterRaiseS`: the cap of a line is raised a hundredfold."""
    line = Line(1.0)
    jobs = line.create(length, line.due_at)
    raise_at = line.due_at + max(RAISE_MS, length * 1_000 // 5)
    line.virtual.at(raise_at, lambda: line.set_cap(100.0))
    newcomer = line.comes_at(raise_at + NEXT_MS)
    line.virtual.run(ticks=(raise_at - line.virtual.now) // TICK_MS + 2)
    last, came = line.began(jobs)[-1], line.began(newcomer)[0]
    assert len(line.began(jobs)) == length, "jobs are lost"
    return {"afterRaiseS": (came - raise_at - NEXT_MS) / 1000, "lastAfterRaiseS": (last - raise_at) / 1000}


def measure_delete(runs_ms: int) -> dict[str, float]:
    """`afterDeleteS`: a job runs away at five times its cap, and is deleted."""
    line = Line(RUNAWAY_CAP)
    every = Recurrence(every=Every(1_000, line.due_at))
    definition = Definition(target=TARGET, payload=NO_PAYLOAD, recurrence=every)
    world = line.virtual.world
    wish = NamedRequest(client=line._client, job_key="runaway", as_sent=b"{}", definition=definition)
    create_named(world, wish, ensure_shards(world))
    delete_at = line.due_at + runs_ms
    line.virtual.at(delete_at, lambda: _delete(line))
    one_shot = line.comes_at(delete_at + NEXT_MS)
    line.virtual.run(ticks=(LEAD_MS + runs_ms) // TICK_MS + 2)
    return {"afterDeleteS": (line.began(one_shot)[0] - delete_at - NEXT_MS) / 1000}


def _delete(line: Line) -> None:
    world = line.virtual.world
    job = get_by_key(world, CLIENT_ID, "runaway")
    assert job is not None
    change(world, job, None, cancelled(None))


def measure(length: int, runaway_ms: int, processes: ProcessPoolExecutor) -> Callable[[], dict[str, float]]:
    """Start the runs of a line of this length; the answer waits for their results."""
    runs = [processes.submit(one, length) for one in (measure_use, measure_cancel, measure_raise)]
    runs.append(processes.submit(measure_delete, runaway_ms))
    return lambda: {name: round(value, 4) for run in runs for name, value in run.result().items()}


def missed(result: Mapping[str, Any]) -> list[str]:
    """The bounds that a result misses, each as a sentence."""
    faults = []
    for name, values, bounds in (("", result, BOUNDS), ("long: ", result["long"], LONG_BOUNDS)):
        faults += [f"{name}{key} {values[key]} > {most:g}" for key, most in bounds.items() if values[key] > most]
        if values["use"] < LEAST_USE:
            faults.append(f"{name}use {values['use']} < {LEAST_USE}")
    return faults


def page(result: Mapping[str, Any]) -> str:
    """The block in the documentation."""
    rows = [
        ["share of the cap that a line uses", f"{LEAST_USE}", *_both(result, "use", "{:.3f}")],
        ["990 of 1,000 cancelled: the rest of the line is done after", "90", *_both(result, "afterCancelS")],
        ["cap raised a hundredfold: a job that is due then waits", "60; 900", *_both(result, "afterRaiseS")],
        ["job at five times its cap deleted: a one-shot waits", "75", *_both(result, "afterDeleteS")],
    ]
    return table(["what (s)", "bound", "1,000 s", "10,000 s"], rows)


def _both(result: Mapping[str, Any], key: str, form: str = "{:.1f}") -> list[str]:
    return [form.format(result[key]), form.format(result["long"][key])]


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.caps", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="no table, the JSON alone")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/performance.md")
    options = parser.parse_args(arguments)
    # Each process is spawned, not forked: a copy of this process would lack its threads.
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as processes:
        long, short = measure(LONG_LINE, LONG_RUNAWAY_MS, processes), measure(LINE, RUNAWAY_MS, processes)
        result = {**short(), "long": long()}
    if not options.json:
        sys.stderr.write(f"{page(result)}\n")
    if options.docs:
        publish("caps", page(result))
    faults = missed(result)
    for fault in faults:
        sys.stderr.write(f"bound missed: {fault}\n")
    print(json.dumps(result))
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
