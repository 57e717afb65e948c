"""`python -m tests.simulation [--seeds N] [--first-seed F] [--seed K]`: simulate; the last line is one JSON object."""

from __future__ import annotations

import argparse
import gc
import json
import logging
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from tests.simulation.branches import Arcs, branches_of, measured
from tests.simulation.coverage_of_run import LEAST_COVERAGE, LEAST_COVERAGE_OF_LONG, what_is_missing
from tests.simulation.faults import PROFILES, Fault
from tests.simulation.history import History
from tests.simulation.points import POINTS, go_through
from tests.simulation.run import OPERATIONS_PER_RUN, Result, Run, is_curious, meets_defects
from tests.simulation.running import RUNS_FROM
from tests.simulation.shrink import shrink

#: From this many seeds on, a run must have met every operation's answers and every kind of fault.
SEEDS_TO_MEET_ALL = 200
#: This many lines of a history are shown: the last ones, which explain the violation.
LINES = 120
#: The number of seeds with defects that measure branches, of seeds that strike what is struck seldom, and of seeds with
#: runs of workflows, wherever they are.
DEFECTS_TRACED, CURIOUS_TRACED, RUNS_TRACED = 24, 24, 40
#: From so many seeds on, a run measures branches in each fourth of them, too, and has to take a larger share.
LONG, ONE_TRACED_IN = 2_000, 4
#: A run of many seeds has one more with runs of workflows for each so many.
ONE_WITH_RUNS_IN = 4
#: The number of runs that share a process.
CHUNK = 5
#: A long run reports its progress each time after this many seeds.
TELL_EVERY = 100
T = TypeVar("T")
R = TypeVar("R")


@dataclass
class Totals:
    """The sum over many runs."""

    seeds: int = 0
    operations: int = 0
    delivered: int = 0
    violations: int = 0
    faults: Counter[Fault] = field(default_factory=Counter)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    drained_after_ms: int = 0
    arcs: list[Arcs] = field(default_factory=list)

    def add(self, result: Result, arcs: Arcs | None) -> None:
        """Adds one run, and the branches it took if they were measured."""
        if arcs is not None:
            self.arcs.append(arcs)
        self.seeds += 1
        self.operations += result.operations
        self.delivered += result.delivered
        self.violations += len(result.violations)
        self.faults += result.faults
        self.outcomes += result.outcomes
        self.drained_after_ms = max(self.drained_after_ms, result.drained_after_ms)


def main(arguments: list[str]) -> int:
    """Simulates; returns 1 if an invariant was violated or something required was not met."""
    options = _options(arguments)
    logging.disable(logging.CRITICAL)
    seeds = (
        [options.seed]
        if options.seed is not None
        else list(range(options.first_seed, options.first_seed + options.seeds))
    )
    if len(seeds) >= SEEDS_TO_MEET_ALL:
        seeds += [RUNS_FROM + seed for seed in seeds[: len(seeds) // ONE_WITH_RUNS_IN]]
    totals = simulate(seeds, options)
    many = totals.seeds >= SEEDS_TO_MEET_ALL and not options.until_violation
    branches = branches_of(totals.arcs) if totals.arcs else None
    coverage = branches.share if branches is not None else None
    least = LEAST_COVERAGE_OF_LONG if totals.seeds >= LONG else LEAST_COVERAGE
    missing = what_is_missing(totals.faults, totals.outcomes, coverage, least) if many else []
    for gap in missing:
        print(f"not met: {gap}")
    if options.missing and branches is not None:
        print("\n".join(f"no seed took {branch}" for branch in branches.missing))
    answer = {
        "seeds": totals.seeds,
        "operations": totals.operations,
        "delivered": totals.delivered,
        "violations": totals.violations,
        "faults": {str(kind): totals.faults[kind] for kind in Fault},
        "flowsBranchCoverage": coverage,
    }
    print(f"everything had drained at most {totals.drained_after_ms / 1000:.0f} s after faults stopped")
    print(json.dumps(answer))
    return 1 if totals.violations or missing else 0


def simulate(seeds: Sequence[int], options: argparse.Namespace) -> Totals:
    """Runs seeds on all cores, and explains each failing one. Only some measure branches: tracing is slow.

    If they are many, the scenes of rare moments are played as well.
    """
    totals = Totals()
    traced = frozenset() if options.no_coverage else _traced(seeds, options.coverage_seeds)
    for result, arcs in _results(seeds, partial(go, options.operations, options.faults, traced), options.jobs):
        totals.add(result, arcs)
        if totals.seeds % TELL_EVERY == 0:
            print(f"{totals.seeds} of {len(seeds)} seeds, {totals.violations} violations", file=sys.stderr, flush=True)
        if result.violations:
            if options.until_violation:
                print(f"seed {result.seed}: {result.violations[0]}")
                break
            explain(Run(result.seed, options.operations, options.faults).go())
    if traced and len(seeds) >= SEEDS_TO_MEET_ALL and not options.until_violation:
        for violations, arcs in _results(list(POINTS), go_through, options.jobs):
            print("".join(f"{violation}\n" for violation in violations), end="")
            totals.violations += len(violations)
            totals.arcs.append(arcs)
    return totals


def _traced(seeds: Sequence[int], count: int) -> frozenset[int]:
    """The seeds that measure branches: the first `count`, and the first of three kinds that alone take some.

    Of a long run, each fourth seed measures them, too.
    """
    defects = [seed for seed in seeds if meets_defects(seed)][:DEFECTS_TRACED]
    curious = [seed for seed in seeds if is_curious(seed)][:CURIOUS_TRACED]
    with_runs = [seed for seed in seeds if seed >= RUNS_FROM][:RUNS_TRACED]
    further = seeds[::ONE_TRACED_IN] if len(seeds) >= LONG else ()
    return frozenset((*seeds[:count], *defects, *curious, *with_runs, *further))


def go(operations: int, faults: int | None, traced: frozenset[int], seed: int) -> tuple[Result, Arcs | None]:
    """Runs one seed. Returns its result without the long history, and the branches it took if the seed is traced."""
    run = Run(seed, operations, faults)
    result, arcs = measured(run.go) if seed in traced else (run.go(), None)
    return replace(result, history=History(0)), arcs


def _results(things: Sequence[T], work: Callable[[T], R], jobs: int) -> Iterator[R]:
    if len(things) == 1:
        yield work(things[0])
        return
    chunks = [things[first : first + CHUNK] for first in range(0, len(things), CHUNK)]
    with ProcessPoolExecutor(jobs) as pool:
        for results in pool.map(partial(_in_child, work), chunks):
            yield from results


def _in_child(work: Callable[[T], R], chunk: Sequence[T]) -> Sequence[R]:
    """The results of work in a forked process that collects no garbage: it ends with its garbage.

    Nearly all of a run becomes garbage at its end only. To collect that takes a seventh of a run's time.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def send() -> None:
        gc.disable()
        sender.send([work(thing) for thing in chunk])

    child = context.Process(target=send)
    child.start()
    sender.close()
    try:
        results: Sequence[R] = receiver.recv()
    except EOFError:
        raise RuntimeError(f"the process of {list(chunk)} died: its error is above") from None
    finally:
        child.join()
    return results


def explain(result: Result) -> None:
    """Shrinks a failing run, and prints its history and the command that repeats it."""
    smallest, operations, faults = shrink(result)
    violation = smallest.violations[0]
    print(f"seed {result.seed} ({result.profile}): {violation}")
    print("\n".join(list(smallest.history.lines(violation.about))[-LINES:]))
    command = f"python -m tests.simulation --seed {result.seed} --operations {operations} --faults {faults}"
    print(f"again: {command}\n", flush=True)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--seed", type=int, help="this one only")
    parser.add_argument("--operations", type=int, default=OPERATIONS_PER_RUN, help="only the first so many of a seed")
    parser.add_argument("--faults", type=int, help="at most so many of a seed")
    parser.add_argument("--until-violation", action="store_true", help="stop at the first, unexplained")
    parser.add_argument("--no-coverage", action="store_true", help="do not measure branches")
    parser.add_argument("--missing", action="store_true", help="list the branches of the flows that no seed took")
    parser.add_argument("--coverage-seeds", type=int, default=8 * len(PROFILES), help="in so many seeds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
