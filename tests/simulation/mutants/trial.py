"""A trial: who notices? A check notices by failing. One that cannot be carried out says nothing: the trial is void."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.simulation.mutants.covering import UNTIMED, Covering
from tests.simulation.mutants.mutant import Mutant, Rotten
from tests.simulation.mutants.operators import Place
from tests.simulation.mutants.seeds import FOUND
from tests.simulation.mutants.tree import Done, Tree

#: What pytest ends with when tests were run and all passed, or some failed. Anything else says nothing of the code:
#: https://docs.pytest.org/en/stable/reference/exit-codes.html
PASSED, FAILED = 0, 1
CRASH_POINTS = "tests/simulation/test_crash_points.py"
#: Those of decisions and flows, and of handlers, all in memory.
UNIT_TESTS = ("tests/unit", "tests/handlers")
#: Many times what these take where nothing is broken (s).
SECONDS_PER_TEST = 60
SECONDS_FOR_TESTS = 900
SECONDS_FOR_SEEDS = 1_200
LOAD_ALL = """
import importlib, pkgutil
for package in ("clockwork.domain", "clockwork.flows", "clockwork.memory"):
    for found in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
"""


class Void(Exception):
    """A check neither passed nor failed, such as one that could not be loaded."""


@dataclass(frozen=True)
class Noticed:
    """Who noticed, and what was said of it. `seed` is the simulator's."""

    by: str
    told: str
    seed: int | None = None


@dataclass(frozen=True)
class Trial:
    """What came of a mutant. `fault`: why its trial says nothing."""

    mutant: Mutant
    noticed: Noticed | None
    seconds: float
    fault: str = ""


def tried(tree: Tree, mutant: Mutant, noticing: Callable[[Tree], Noticed | None]) -> Trial:
    """Break the tree and let it be checked."""
    began = time.monotonic()
    noticed, fault = None, ""
    try:
        with tree.broken(mutant):
            noticed = noticing(tree)
    except (Void, Rotten) as error:
        fault = str(error)
    return Trial(mutant, noticed, time.monotonic() - began, fault)


def simulator_notices(tree: Tree, seeds: int) -> Noticed | None:
    """What the simulator says of the tree within so many seeds. Raises Void."""
    done = tree.run(["-m", "tests.simulation.mutants.seeds", str(seeds)], SECONDS_FOR_SEEDS)
    if done.code == FOUND:
        found = json.loads(done.out)
        return Noticed("simulator", found["told"], found["seed"])
    if done.code != 0:
        raise Void(_last_words(done))
    return None


def some_tests_notice(tree: Tree, tests: Sequence[str], by: str) -> Noticed | None:
    """The first of these tests that fails. Raises Void."""
    plugins = ["-p", "no:cacheprovider", "-p", "tests.simulation.mutants.bounded_tests"]
    options = ["-q", "-x", "--no-header", "--tb=line", "-o", f"timeout={SECONDS_PER_TEST}"]
    done = tree.run(["-m", "pytest", *plugins, *options, *UNTIMED, *tests], SECONDS_FOR_TESTS)
    if done.code == FAILED:
        told = [line for line in done.out.splitlines() if line.startswith(("FAILED tests", "ERROR tests"))]
        return Noticed(by, told[0] if told else _last_words(done))
    if done.code != PASSED:
        raise Void(_last_words(done))
    return None


def anybody_notices(tree: Tree, place: Place, covering: Covering, seeds: int) -> Noticed | None:
    """Who notices a random mutant, the quickest first: the unit tests that take its lines, simulator, crash points.

    A line that is taken as its module is loaded may matter to any test. Raises Void.
    """
    loaded = tree.run(["-c", LOAD_ALL], SECONDS_PER_TEST)
    if loaded.code != 0:
        raise Void(f"it cannot be loaded: {_last_words(loaded)}")
    tests = covering.tests_of(place.file, place.lines)
    noticed = some_tests_notice(tree, tests or UNIT_TESTS, "unit tests")
    noticed = noticed or simulator_notices(tree, seeds)
    return noticed or some_tests_notice(tree, [CRASH_POINTS], "crash points")


def _last_words(done: Done) -> str:
    lines = [line for line in (done.out + done.err).splitlines() if line.strip()]
    return f"exit status {done.code}: {lines[-1][:200] if lines else 'nothing was said'}"
