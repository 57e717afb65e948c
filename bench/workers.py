"""Workers of a pool on the local stack: processes of `clockwork_client.worker`, over the shipped API and real sockets.

- Jobs a second: 1,000 jobs without work are due; 1, 2 and 4 worker processes of 20 slots each take them.
- Lateness: 200 jobs over 20 s for two idle processes; from due to the beginning of the handler.
- Takeover: a worker is killed in the middle of a job that has kept a checkpoint; another goes on from it.
- Drain: a worker with a drain time of 0 gets SIGTERM in the middle of a job; another starts it anew.
- Low's share: 400 jobs of each priority wait; of the first 390 that start, one in 13 is to be of low.
- Flood: a quiet client has 100 jobs over 40 s, for two processes on a stack of their own. First they run alone. Then
  they run beside another client's jobs, all due at once, each of which holds a thread for half a second to one and a
  half. Last they run beside such jobs that last a second each, so that threads come free in step. A flood has every
  thread for ten seconds or so before the quiet client's jobs come: its first claims start environments of Lambdas,
  eight at once, which takes two cores some seconds. Three such floods follow one another, and the median of their
  percentiles counts: of 100 jobs it is the second latest, so that one pause of a shared machine would decide.

    python -m bench.workers [--json]

`lost` and `duplicates` count the jobs of the first two, and those of the quiet client. Takeover and drain are from the
signal to the beginning of the handler elsewhere. The last line of standard output is one JSON object. Exits 1 if a
bound is missed: that of a flood is twice max(alone, 50 ms), as in `bench.isolation`. About eighteen minutes, most of
it the emulator's.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.working.fleet import SLOTS, Begun, Fleet, until
from clockwork_client import Clockwork
from clockwork_client.worker import Context, Pool, Worker
from clockwork_client.worker.signals import run_until_signalled
from local.demo.screen import Screen
from local.dev.server import POOL, server

JOBS = 1_000
WORKERS = (1, 2, 4)
#: A quiet client's lateness (ms) below which nobody minds twice as much.
LEAST_ALONE_MS = 50
#: The quiet client's jobs, the seconds over which they are due, and the other client's.
QUIET, QUIET_SECONDS, FLOOD = 100, 40.0, 2_800
#: The number of floods, of whose figures the median counts.
ROUNDS = 3
#: The jobs of a flood that begin before the quiet client's: ten for each thread of two processes.
BEFORE = 10 * 2 * SLOTS


def measured() -> dict[str, Any]:
    """All measurements."""
    with tempfile.TemporaryDirectory() as folder, server(Screen()) as ready:
        fleet = Fleet(Path(folder), ready)
        rates, counted = {}, Counter[str]()
        for count in WORKERS:
            rates[str(count)] = throughput(fleet, count, counted)
        late = lateness(fleet, counted)
        took_over = takeover(fleet)
        drained = drain(fleet)
        share, lease_seconds = low_share(fleet), fleet.cw.pools.get(POOL).lease_seconds
    with tempfile.TemporaryDirectory() as folder, server(Screen()) as ready:
        alone, flooded, in_step = flood(Fleet(Path(folder), ready), counted)
    return {
        "jobsPerSecond": rates,
        "startLatenessP99Ms": late,
        "takeoverSeconds": took_over,
        "leaseSeconds": lease_seconds,
        "drainSeconds": drained,
        "lowShare": share,
        "floodedP99Ms": flooded,
        "floodedInStepP99Ms": in_step,
        "aloneP99Ms": alone,
        "lost": counted["lost"],
        "duplicates": counted["duplicates"],
    }


def broken(result: Mapping[str, Any]) -> list[str]:
    """A sentence for each bound that does not hold."""
    most = {
        "takeoverSeconds": result["leaseSeconds"] + 5,
        "drainSeconds": 2,
        "lowShare": 1.2 / 13,
        "floodedP99Ms": 2 * max(result["aloneP99Ms"], LEAST_ALONE_MS),
        "lost": 0,
        "duplicates": 0,
    }
    found = [f"{key} is {result[key]}, more than {bound:g}" for key, bound in most.items() if result[key] > bound]
    if result["lowShare"] < 0.8 / 13:
        found.append(f"lowShare is {result['lowShare']}, less than {0.8 / 13:g}")
    return found


def throughput(fleet: Fleet, count: int, counted: Counter[str]) -> float:
    """Jobs a second that `count` processes begin, all of which wait for them."""
    name = f"rate{count}"
    fleet.create(name, JOBS)
    time.sleep(5)
    with ExitStack() as held:
        for _ in range(count):
            held.enter_context(fleet.worker())
        until(lambda: len({one.name for one in fleet.begun(name)}) >= JOBS, f"{JOBS} jobs of {count} workers")
        time.sleep(2)
    found = fleet.begun(name)
    _count(found, JOBS, counted)
    return round((len(found) - 1) / (found[-1].at - found[0].at), 1)


def lateness(fleet: Fleet, counted: Counter[str]) -> float:
    """The 99th percentile (ms) of what two idle workers begin."""
    with fleet.worker(), fleet.worker():
        # The first calls start environments of Lambdas, here as in an account.
        fleet.create("warm", 40)
        until(lambda: len(fleet.begun("warm")) >= 40, "the first jobs")
        fleet.create("late", 200, over=20.0)
        until(lambda: len({one.name for one in fleet.begun("late-")}) >= 200, "200 jobs on time")
        time.sleep(2)
    found = fleet.begun("late-")
    _count(found, 200, counted)
    return _p99_ms(found)


def takeover(fleet: Fleet) -> float:
    """Seconds from the kill of a worker, right behind a heartbeat, to the beginning of its job elsewhere."""
    with fleet.worker() as first:
        fleet.create("killed", 1, lasts=300)
        until(lambda: fleet.begun("killed"), "a job that lasts")
        time.sleep(12)
        with fleet.worker():
            killed_at = time.time()
            first.send_signal(signal.SIGKILL)
            until(lambda: len(fleet.begun("killed")) > 1, "its takeover")
            again = fleet.begun("killed")[1]
    assert again.checkpoint == "begun", "it goes on from the checkpoint"
    assert again.attempt == 2, "as the next attempt"
    return round(again.at - killed_at, 2)


def drain(fleet: Fleet) -> float:
    """Seconds from SIGTERM, with no drain time, to the beginning of the job elsewhere."""
    with fleet.worker() as first:
        fleet.create("drained", 1, lasts=300)
        until(lambda: fleet.begun("drained"), "a job that lasts")
        with fleet.worker():
            time.sleep(3)
            ended_at = time.time()
            first.send_signal(signal.SIGTERM)
            until(lambda: len(fleet.begun("drained")) > 1, "what was handed back")
            again = fleet.begun("drained")[1]
    return round(again.at - ended_at, 2)


def low_share(fleet: Fleet) -> float:
    """Of the first 390 jobs that begin while all priorities have work, the part that is of low."""
    for priority in ("high", "normal", "low"):
        fleet.create(f"share-{priority}", 400, priority=priority)
    time.sleep(5)
    with fleet.worker(slots=4):
        until(lambda: len(fleet.begun("share-")) >= 400, "the jobs of three priorities")
    first = fleet.begun("share-")[:390]
    return round(sum(one.name.startswith("share-low") for one in first) / len(first), 4)


def flood(fleet: Fleet, counted: Counter[str]) -> tuple[float, float, float]:
    """The 99th percentiles (ms) of the quiet client: alone, beside a flood, and beside one in step."""
    quiet, loud = fleet.other_client("quiet"), fleet.other_client("loud")
    with fleet.worker(), fleet.worker():
        fleet.create("warmed", 40)
        until(lambda: len(fleet.begun("warmed")) >= 40, "the first jobs")
        alone = _quiet(fleet, quiet, "alone-", counted)
        rounds = [_beside(fleet, (quiet, loud), f"uneven{number}", 0.5, counted) for number in range(ROUNDS)]
        sys.stderr.write(f"beside each flood: {rounds} ms\n")
        in_step = _beside(fleet, (quiet, loud), "even", 0.0, counted)
    return alone, statistics.median(rounds), in_step


def _beside(
    fleet: Fleet, clients: tuple[Clockwork, Clockwork], name: str, spread: float, counted: Counter[str]
) -> float:
    """The quiet client's percentile beside a flood of jobs that last a second, give or take `spread`. It ends."""
    quiet, loud = clients
    flood = f"flood-{name}-"
    fleet.create(flood, FLOOD, behind=10.0, by=loud, holds=1.0, spread=spread)
    until(lambda: len(fleet.begun(flood)) > BEFORE, "the flood")
    flooded = _quiet(fleet, quiet, f"beside-{name}-", counted)
    assert len(fleet.begun(flood)) < FLOOD, "the flood is over before the quiet client's jobs are"
    until(lambda: len(fleet.begun(flood)) >= FLOOD, "the end of the flood")
    # The watches of its claims come a lease later, all of them by way of the same two cores.
    time.sleep(fleet.cw.pools.get(POOL).lease_seconds + 10)
    return flooded


def _quiet(fleet: Fleet, client: Clockwork, name: str, counted: Counter[str]) -> float:
    fleet.create(name, QUIET, over=QUIET_SECONDS, by=client)
    until(lambda: len({one.name for one in fleet.begun(name)}) >= QUIET, "the quiet client's jobs")
    found = fleet.begun(name)
    _count(found, QUIET, counted)
    return _p99_ms(found)


def _p99_ms(found: Sequence[Begun]) -> float:
    late = sorted((one.at - one.due_at) * 1000 for one in found)
    return round(late[int(len(late) * 0.99) - 1], 1)


def _count(found: Sequence[Begun], wanted: int, counted: Counter[str]) -> None:
    names = {one.name for one in found}
    counted["lost"] += wanted - len(names)
    counted["duplicates"] += len(found) - len(names)


def work(log: Path, slots: int) -> None:
    """Be a worker, which writes a line when a handler begins."""
    pool = Pool(POOL)
    lines = log.open("a", buffering=1)

    @pool.handler("work")
    def begin(payload: dict[str, Any], ctx: Context) -> None:
        last = ctx.last_checkpoint.value if ctx.last_checkpoint else None
        lines.write(
            json.dumps(Begun(time.time(), payload["name"], ctx.attempt, last, payload["dueAt"], os.getpid())) + "\n"
        )
        spread = payload.get("spread", 0.0)
        time.sleep(max(0.0, payload.get("holds", 0.0) + random.uniform(-spread, spread)))
        if lasts := payload.get("lasts"):
            ctx.checkpoint("begun")
            ends_at = time.monotonic() + lasts
            while time.monotonic() < ends_at and last is None and ctx.attempt == 1:
                ctx.heartbeat()
                time.sleep(0.05)

    run_until_signalled(Worker(pool, Clockwork(), concurrency=slots, drain=0.0))


def main() -> None:
    """Measure, or be a worker. Exits 1 if a bound does not hold."""
    parser = argparse.ArgumentParser(prog="python -m bench.workers", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one line of JSON alone on standard output (always so)")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--slots", type=int, default=SLOTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.slots)
    else:
        result = measured()
        found = broken(result)
        for sentence in found:
            sys.stderr.write(f"{sentence}\n")
        print(json.dumps(result))
        if found:
            sys.exit(1)


if __name__ == "__main__":
    main()
