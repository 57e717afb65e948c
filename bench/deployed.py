"""CPU per job of the deployed Lambdas, by Lambda, beside the CPU of the emulator that plays AWS for them.

The stack is the one that `make run` deploys. Jobs are created one a request, recorded in full, and due beyond the
lookahead, so that a poller finds them. The CPU is that of each environment's process, as Linux counts it in /proc:
from the first create to the last delivery, with all Lambdas that run meanwhile by the clock. Some jobs go before, so
that environments are warm. Environments that start later count with their start.

    python -m bench.deployed [--json] [--docs] [--jobs N]

The last line of standard output is one JSON object, ms per job; the table goes to standard error. The command exits 1
if a job was lost or delivered twice. Linux only.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from bench.arrivals.clockwork_run import CLIENT, CreateFailed, clockwork, job
from bench.arrivals.quiet import refuse_busy
from bench.arrivals.target import Target
from bench.reporting.report import publish
from bench.reporting.tables import machine, paragraph, table
from bench.rivals.running.usage import cpu_seconds
from clockwork.domain.instants import to_text
from local.stack import LocalStack
from tests.chaos.processes import Environments

JOBS, WARM_UPS = 300, 150
REQUESTS_AT_ONCE = 8
#: How far ahead the first job is due (s): beyond the lookahead of the local stack. Then one job follows another. Those
#: that warm up come as fast, so that as many environments are warm as the counted ones need.
LEAD_SECONDS, STEP_MS = 75, 50
#: How long the last job may take after it was due (s).
LATEST_SECONDS = 60
#: The Lambdas with rows of their own on the page; `--json` has all.
DEAREST = 3
EMULATOR = "emulator"


class Meter:
    """The CPU of processes by name. A process that ends keeps what it had used when it was last seen."""

    def __init__(self, living: Callable[[], Mapping[str, Sequence[int]]]) -> None:
        self._living = living
        self._seen: dict[tuple[str, int], float] = {}
        self._since: dict[tuple[str, int], float] = {}

    def begin(self) -> None:
        """Count from now on. A process that starts later counts whole."""
        self.look()
        self._since = dict(self._seen)

    def look(self) -> None:
        """See what has been used so far."""
        for name, ids in self._living().items():
            for one in ids:
                self._seen[name, one] = max(self._seen.get((name, one), 0.0), cpu_seconds([one]))

    def used(self) -> dict[str, float]:
        """The CPU (s) since the beginning, by name."""
        self.look()
        used: dict[str, float] = {}
        for (name, one), seconds in self._seen.items():
            used[name] = used.get(name, 0.0) + seconds - self._since.get((name, one), 0.0)
        return used

    def started(self) -> int:
        """How many processes have started since the beginning."""
        return len(self._seen.keys() - self._since.keys())


@dataclass(frozen=True)
class Result:
    """The CPU (ms per job) by Lambda and of the emulator; environments started meanwhile; what went wrong."""

    ms: Mapping[str, float]
    emulator_ms: float
    started: int
    lost: int
    twice: int

    def as_json(self) -> dict[str, Any]:
        """The printed object."""
        return {
            "lambdasMs": round(sum(self.ms.values()), 2),
            "byLambdaMs": {name: round(ms, 3) for name, ms in sorted(self.ms.items(), key=lambda one: -one[1])},
            "emulatorMs": round(self.emulator_ms, 2),
            "environmentsStarted": self.started,
            "lost": self.lost,
            "twice": self.twice,
        }


def measure(jobs: int) -> Result:
    """Run jobs on a stack of their own, and count. Raises CreateFailed if the API refuses one."""
    with Target() as target, clockwork(target.port) as stack:
        environments = Environments(stack)
        meter = Meter(lambda: _living(stack, environments))
        _run(stack, target, range(jobs, jobs + WARM_UPS), meter)
        meter.begin()
        _run(stack, target, range(jobs), meter)
        used, arrivals = meter.used(), target.arrivals()
    came = [len(arrivals.get(number, ())) for number in range(jobs)]
    emulator = used.pop(EMULATOR)
    ms = {name: 1_000 * seconds / jobs for name, seconds in used.items()}
    return Result(ms, 1_000 * emulator / jobs, meter.started(), came.count(0), sum(times > 1 for times in came))


def _living(stack: LocalStack, environments: Environments) -> dict[str, list[int]]:
    found = {moment: [process.id for process in environments.of(moment)] for moment in environments.functions}
    return {**found, EMULATOR: [stack.emulator.process_group]}


def _run(stack: LocalStack, target: Target, numbers: Sequence[int], meter: Meter) -> None:
    """Create these jobs one a request, and wait until all have arrived or the last is too late."""
    begins_at = int(time.time() + LEAD_SECONDS) * 1_000
    due_at = {number: begins_at + place * STEP_MS for place, number in enumerate(numbers)}
    api = stack.api()

    def create(number: int) -> None:
        body = {"clientId": CLIENT, "schedule": {"at": to_text(due_at[number])}, **job(target.url(number))}
        answer = api.request("POST", "/v1/jobs", body)
        if answer.status != 201:
            raise CreateFailed(f"{answer.status} {answer.body}")

    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as threads:
        for _ in threads.map(create, numbers):
            pass
    ends_at = max(due_at.values()) / 1_000 + LATEST_SECONDS
    while time.time() < ends_at and not due_at.keys() <= target.arrivals().keys():
        meter.look()
        time.sleep(1)


def page(result: Result) -> str:
    """The block in the documentation."""
    told = result.as_json()
    rows = [[f"`{name}`", f"{ms:.2f}"] for name, ms in list(told["byLambdaMs"].items())[:DEAREST]]
    rows += [["all Lambdas", f"{told['lambdasMs']:.2f}"], ["the emulator", f"{told['emulatorMs']:.2f}"]]
    started = f"Environments that started meanwhile, counted with their starts: {result.started}."
    return f"{table(['CPU ms per job', 'deployed'], rows)}\n\n{paragraph(f'{started} {machine()}')}"


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.deployed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="no table, the JSON alone")
    parser.add_argument(
        "--docs", action="store_true", help="write the table into docs/performance.md, on a quiet machine"
    )
    parser.add_argument("--jobs", type=int, default=JOBS, help="jobs that count (default %(default)s)")
    options = parser.parse_args(arguments)
    if options.docs:
        refuse_busy()
    result = measure(options.jobs)
    if not options.json:
        sys.stderr.write(f"{page(result)}\n")
    if options.docs:
        publish("deployed", page(result))
    print(json.dumps(result.as_json()))
    sys.exit(1 if result.lost or result.twice else 0)


if __name__ == "__main__":
    main()
