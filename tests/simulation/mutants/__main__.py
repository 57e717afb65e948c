"""`python -m tests.simulation.mutants [--random N]`: break the sources one way at a time, and run the checks."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial

from tests.simulation.faults import PROFILES
from tests.simulation.mutants.covering import Covering, measure
from tests.simulation.mutants.mutant import Mutant
from tests.simulation.mutants.named import NAMED
from tests.simulation.mutants.operators import Place, shuffled
from tests.simulation.mutants.report import print_score, print_table, print_trial
from tests.simulation.mutants.tree import Tree
from tests.simulation.mutants.trial import (
    CRASH_POINTS,
    SECONDS_FOR_TESTS,
    UNIT_TESTS,
    Noticed,
    Trial,
    anybody_notices,
    named_is_noticed,
    simulator_notices,
    some_tests_notice,
    tried,
)
from tests.simulation.mutants.workers import Workers, workers

#: The simulator must notice a named mutant without a scene within this many seeds: each profile of faults ten times.
NAMED_SEEDS = 10 * len(PROFILES)
#: A random mutant gets this many seeds, each profile three times, besides the unit tests and the crash points.
RANDOM_SEEDS = 3 * len(PROFILES)
#: The share of random mutants that must be noticed.
LEAST_SHARE = 0.95
Check = Callable[[Tree], Noticed | None]


def main(arguments: list[str]) -> int:
    """Tries all mutants; returns 1 if a named one is not noticed, or fewer random ones than LEAST_SHARE."""
    options = _options(arguments)
    with workers(options.workers) as these:
        chosen = [mutant for mutant in NAMED if options.only in mutant.name]
        checks = _checks_of(chosen) if options.only else _all_checks(with_tests=options.random > 0)
        for said in _said_of_what_is_shipped(these, checks):
            seed = "" if said.seed is None else f" at seed {said.seed}"
            print(f"What is shipped fails already, so mutants would prove nothing: {said.by}{seed}, {said.told}")
            return 1
        print("what is shipped passes all that follows", flush=True)
        named = _try_named(these, chosen)
        drawn = [] if options.only else _try_random(these, options.random, options.seed, options.among)
    print_table(named)
    print_score(drawn)
    named_caught, random_caught = (sum(trial.noticed is not None for trial in trials) for trials in (named, drawn))
    answer = {"named": len(named), "namedCaught": named_caught, "random": len(drawn), "randomCaught": random_caught}
    print(json.dumps(answer))
    return 0 if named_caught == len(named) and random_caught >= LEAST_SHARE * len(drawn) else 1


def _said_of_what_is_shipped(these: Workers, checks: Sequence[Check]) -> list[Noticed]:
    """The failures of these checks in an unbroken tree. There must be none, or mutants would prove nothing."""
    return [noticed for noticed in these.each(lambda tree, check: check(tree), checks) if noticed is not None]


def _checks_of(mutants: Sequence[Mutant]) -> list[Check]:
    """The checks that these mutants need, each once."""
    found = {(mutant.tests, mutant.scene): mutant for mutant in mutants}
    return [partial(named_is_noticed, mutant=mutant, seeds=NAMED_SEEDS) for mutant in found.values()]


def _all_checks(*, with_tests: bool) -> list[Check]:
    checks: list[Check] = [
        partial(simulator_notices, seeds=NAMED_SEEDS),
        partial(some_tests_notice, tests=[CRASH_POINTS], by="crash points"),
    ]
    if with_tests:
        checks.append(partial(some_tests_notice, tests=UNIT_TESTS, by="unit tests"))
    return checks


def _try_named(these: Workers, mutants: Sequence[Mutant]) -> list[Trial]:
    def work(tree: Tree, mutant: Mutant) -> Trial:
        return tried(tree, mutant, lambda tree: named_is_noticed(tree, mutant, NAMED_SEEDS))

    trials = []
    for number, trial in enumerate(these.each(work, mutants), 1):
        print_trial(number, len(mutants), trial)
        trials.append(trial)
    return trials


def _try_random(these: Workers, count: int, seed: int, among: str) -> list[Trial]:
    """Tries drawn changes until `count` trials are valid: the next drawn change replaces a void trial."""
    if not count:
        return []
    (covering,) = these.each(lambda tree, tests: measure(tree, tests, SECONDS_FOR_TESTS), [UNIT_TESTS])
    places = [place for place in shuffled(seed) if place.file.startswith(among)]
    print(f"\n{count} of {len(places)} random changes, drawn by the seed {seed}", flush=True)
    trials: list[Trial] = []
    while places and len(trials) < count:
        missing = count - len(trials)
        drawn, places = places[:missing], places[missing:]
        for trial in these.each(partial(_try_place, covering), drawn):
            print_trial(len(trials) + 1, count, trial)
            trials += [] if trial.fault else [trial]
    return trials


def _try_place(covering: Covering, tree: Tree, place: Place) -> Trial:
    return tried(tree, place.mutant(), lambda tree: anybody_notices(tree, place, covering, RANDOM_SEEDS))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutants", description=__doc__)
    parser.add_argument("--random", type=int, default=40, help="so many changes of an operator or constant")
    parser.add_argument("--seed", type=int, default=0, help="decides which ones")
    parser.add_argument("--among", default="", help="only in files of the package whose path begins like this")
    parser.add_argument("--only", default="", help="only named mutants whose name holds this, and no random ones")
    parser.add_argument("--workers", type=int, default=2, help="so many at once")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
