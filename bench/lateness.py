"""How late jobs start, measured where they arrive: Clockwork's local stack, then other schedulers on the same machine.

Each system gets the same jobs, posts to the same receiver and runs alone: a warm-up that is not counted, a steady
rate, and a herd on one millisecond. All jobs are scheduled before the first one is due. The designs differ: the
others hold jobs in one process (APScheduler in memory, Celery in its one worker, Huey in a SQLite file). Clockwork
keeps them in several durable services, all of which an emulator in Python plays on the same two cores.

    python -m bench.lateness [--json] [--docs] [--per-second N] [--seconds N] [--herd N] [--only SYSTEM ...]

Before each system the benchmark waits up to 20 seconds until no other process needs the machine. The table goes to
standard error, with --docs also into docs/performance.md; the last line of standard output is one JSON object. Takes
about five minutes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bench.arrivals.calibrating import late_creates, percentiles, probe
from bench.arrivals.clockwork_run import clockwork, create
from bench.arrivals.lateness_jobs import BEYOND, COUNTED, LATE, LONE, STEADY, Job, Load, Score, score
from bench.arrivals.quiet import LONGEST_WAIT_SECONDS, QUIET_CORES, await_quiet, busy_cores, refuse_busy
from bench.arrivals.target import Target
from bench.model.starts import measure_starts
from bench.reporting.report import publish
from bench.reporting.results import keep
from bench.reporting.tables import machine, paragraph
from bench.reporting.tables import table as markdown
from bench.rivals.environment import ensure_environment
from bench.rivals.process import RIVALS, RivalFailed, rival
from local.stack import LocalStack

CLOCKWORK = "clockwork"
#: Time until the warm-up. With Clockwork's, its other jobs are further away than its lookahead, so that pollers find
#: them; the rivals need only be ready.
CLOCKWORK_LEAD_SECONDS = 70
RIVAL_LEAD_SECONDS = 8
#: How long the benchmark waits for late jobs after the last one was due, and for duplicates after the last one arrived.
STRAGGLER_SECONDS = 30
STRAY_SECONDS = 2
#: The name under which the figures for the calibration are kept.
RESULT = "lateness"


@dataclass(frozen=True, kw_only=True)
class Result:
    """One system's figures, or why it did not run; how many cores were busy before it began and after it had ended."""

    scores: Mapping[str, Score]
    busy_before: float
    busy_after: float
    not_run: str = ""


def measure(names: Sequence[str], wanted: Load) -> Iterator[tuple[str, Result]]:
    """Run one system after the other, each with its result."""
    for name in names:
        before = await_quiet()
        _say(f"{name}: {before:.1f} cores are busy without it")
        try:
            scores = _run(name, wanted, is_quiet=before < QUIET_CORES)
        except (RivalFailed, subprocess.CalledProcessError, ValueError) as error:
            yield name, Result(scores={}, busy_before=before, busy_after=busy_cores(), not_run=str(error))
        else:
            yield name, Result(scores=scores, busy_before=before, busy_after=busy_cores())


def _run(name: str, wanted: Load, *, is_quiet: bool) -> dict[str, Score]:
    jobs = wanted.jobs(calibrating=name == CLOCKWORK)
    with Target() as target, _system(name, target, jobs, wanted) as (begins_at, stack):
        due_at = {job.number: begins_at + job.offset_ms for job in jobs}
        _await_arrivals(target, due_at)
        arrivals = target.arrivals()
        if stack is not None and is_quiet:  # the model knows nothing of others who wait for a core
            _keep(stack, target, jobs, begins_at, wanted)
    parts = {part: {job.number for job in jobs if job.part == part} for part in (LONE, *COUNTED)}
    parts["all"] = {job.number for job in jobs if job.part in COUNTED}
    return {part: score({number: due_at[number] for number in some}, arrivals) for part, some in parts.items()}


@contextmanager
def _system(name: str, target: Target, jobs: Sequence[Job], wanted: Load) -> Iterator[tuple[int, LocalStack | None]]:
    """Schedule all jobs with the system and run it until the end of the block.

    Yields when the load begins (ms), and Clockwork's stack.
    """

    def due(begins_at: int) -> list[tuple[str, int]]:
        return [(target.url(job.number), begins_at + job.offset_ms) for job in jobs]

    if name == CLOCKWORK:
        with clockwork(target.port) as stack:
            begins_at = _begin(CLOCKWORK_LEAD_SECONDS, wanted)
            create(stack, due(begins_at))
            yield begins_at, stack
    else:
        begins_at = _begin(RIVAL_LEAD_SECONDS, wanted)
        with rival(name, due(begins_at)):
            yield begins_at, None


def _begin(lead_seconds: int, wanted: Load) -> int:
    """When the load begins (ms): on a whole second, with the first job of the warm-up due `lead_seconds` from now."""
    return (int(time.time()) + lead_seconds) * 1000 + wanted.begins_before_ms


def _await_arrivals(target: Target, due_at: Mapping[int, int]) -> None:
    last_at = max(due_at.values()) / 1000
    time.sleep(max(0, last_at - time.time()))
    while len(target.arrivals()) < len(due_at) and time.time() < last_at + STRAGGLER_SECONDS:
        time.sleep(0.2)
    time.sleep(STRAY_SECONDS)  # for duplicates, which should not come: no event shows that none will


def report(results: Mapping[str, Result]) -> dict[str, Any]:
    """The object that is printed as JSON."""
    return {
        name: {"notRun": result.not_run} if result.not_run else _as_json(result) for name, result in results.items()
    }


def _as_json(result: Result) -> dict[str, Any]:
    """The score of all jobs, that of each part, and the cores that others kept busy."""
    parts = {part: {**one.as_json(), "p999Ms": one.p999_ms} for part, one in result.scores.items()}
    return {**result.scores["all"].as_json(), "parts": parts, "busyCores": [result.busy_before, result.busy_after]}


def page(results: Mapping[str, Result], wanted: Load) -> str:
    """The block in the documentation: one row a system."""
    heads = [
        "system",
        "p50",
        "p99",
        "max",
        f"p50 of {wanted.herd} at once",
        "p99",
        "max",
        "early",
        "duplicates",
        "lost",
    ]
    rows = [_row(name, result) for name, result in results.items()]
    said = (
        f"{wanted.per_second} jobs/s for {wanted.seconds} s, then {wanted.herd} on one millisecond; in ms. Busy cores: "
        f"before and after. {machine()}"
    )
    if any(result.busy_before >= QUIET_CORES for result in results.values()):
        said += (
            f" The machine did not get quiet (less than {QUIET_CORES} cores busy) within {LONGEST_WAIT_SECONDS} s: "
            "read the tails with care."
        )
    return f"{markdown([*heads, 'busy cores'], rows)}\n\n{paragraph(said)}"


def _row(name: str, result: Result) -> list[str]:
    if result.not_run:
        return [f"{name}: not run: {' '.join(result.not_run.split())[:200]}", *[""] * 10]
    late = [figure for part in COUNTED for figure in _late(result.scores[part])]
    every = result.scores["all"]
    counts = [every.early, every.duplicates, every.lost]
    return [name, *map(str, late), *map(str, counts), f"{result.busy_before:.1f} / {result.busy_after:.1f}"]


def _late(one: Score) -> tuple[float, float, float]:
    return one.p50_ms, one.p99_ms, one.max_ms


def _keep(stack: LocalStack, target: Target, jobs: Sequence[Job], begins_at: int, wanted: Load) -> None:
    """Measure what is left to measure, and keep the figures that `bench.capacity` is calibrated with."""
    arrivals, beyond = target.arrivals(), len(jobs)
    came = [one for one in jobs if one.number in arrivals]
    late = {
        part: percentiles([min(arrivals[one.number]) - begins_at - one.offset_ms for one in came if one.part == part])
        for part in (LONE, STEADY, BEYOND)
    }
    creates = late_creates(stack, target, range(beyond, beyond + wanted.late), wanted.late_step_ms)
    late[LATE] = percentiles(creates[1::2])
    fit, calls = probe(stack, target, beyond + wanted.late)
    fit |= {"lateCreates": percentiles(creates[::2])["p50"], "first_start_ms": late[LONE]["p25"]}
    fit["next_start_ms"] = measure_starts().next_ms
    keep(RESULT, {"load": vars(wanted), "fitMs": fit, "lateMs": late, "callsMs": calls, "machine": machine()})


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.lateness", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    plain = Load()
    parser.add_argument("--json", action="store_true", help="no table, the JSON alone")
    parser.add_argument(
        "--docs",
        action="store_true",
        help="write the table into docs/performance.md, on a quiet machine",
    )
    parser.add_argument("--per-second", type=int, default=plain.per_second, help="of the steady rate (%(default)s)")
    parser.add_argument("--seconds", type=int, default=plain.seconds, help="of the steady rate (%(default)s)")
    parser.add_argument("--herd", type=int, default=plain.herd, help="jobs on one millisecond (%(default)s)")
    parser.add_argument("--only", action="append", choices=(CLOCKWORK, *RIVALS), help="may be repeated")
    options = parser.parse_args(arguments)
    if options.docs:
        refuse_busy()
    wanted = Load(per_second=options.per_second, seconds=options.seconds, herd=options.herd)
    names = options.only or (CLOCKWORK, *RIVALS)
    if set(names) & set(RIVALS):
        ensure_environment()
    results = dict(measure(names, wanted))
    if not options.json:
        _say(page(results, wanted))
    if options.docs:
        publish("lateness", page(results, wanted))
    print(json.dumps(report(results)))


if __name__ == "__main__":
    main()
