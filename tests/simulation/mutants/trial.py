"""A trial of a mutant. A check notices it by failing; a check that cannot be carried out makes the trial void."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.simulation.mutants.covering import UNMEASURED, Covering
from tests.simulation.mutants.mutant import Mutant, Rotten
from tests.simulation.mutants.operators import Place
from tests.simulation.mutants.seeds import FOUND
from tests.simulation.mutants.tree import Done, Tree

#: pytest's exit status when all tests passed, or some failed. Any other status says nothing about the code:
#: https://docs.pytest.org/en/stable/reference/exit-codes.html
PASSED, FAILED = 0, 1
CRASH_POINTS = "tests/simulation/test_crash_points.py"
#: Tests of decisions, flows and handlers, all in memory.
UNIT_TESTS = ("tests/unit", "tests/handlers")
RARE_MOMENTS = "tests/simulation/test_faults.py"
#: Many times as long (s) as these checks take in an unbroken tree.
SECONDS_PER_TEST = 240
SECONDS_FOR_TESTS = 900
SECONDS_FOR_SEEDS = 3_600
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
    """The check that noticed, and its message. `seed` is the simulator's."""

    by: str
    told: str
    seed: int | None = None


@dataclass(frozen=True)
class Trial:
    """The result of a mutant's trial. `fault` says why the trial is void."""

    mutant: Mutant
    noticed: Noticed | None
    seconds: float
    fault: str = ""


def tried(tree: Tree, mutant: Mutant, noticing: Callable[[Tree], Noticed | None]) -> Trial:
    """Breaks the tree, runs the checks, and returns the trial."""
    began = time.monotonic()
    noticed, fault = None, ""
    try:
        with tree.broken(mutant):
            noticed = noticing(tree)
    except (Void, Rotten) as error:
        fault = str(error)
    return Trial(mutant, noticed, time.monotonic() - began, fault)


def simulator_notices(tree: Tree, seeds: int) -> Noticed | None:
    """The violation that the simulator finds within `seeds` seeds, or None. Raises Void."""
    done = tree.run(["-m", "tests.simulation.mutants.seeds", str(seeds)], SECONDS_FOR_SEEDS)
    if done.code == FOUND:
        found = json.loads(done.out)
        return Noticed("simulator", found["told"], found["seed"])
    if done.code != 0:
        raise Void(_last_words(done))
    return None


def some_tests_notice(tree: Tree, tests: Sequence[str], by: str) -> Noticed | None:
    """The first of these tests that fails, or None. Raises Void."""
    plugins = ["-p", "no:cacheprovider", "-p", "tests.simulation.mutants.bounded_tests"]
    # What `make test` leaves to the night is asked, too.
    options = ["-q", "-x", "-m", "", "--no-header", "--tb=line", "-o", f"timeout={SECONDS_PER_TEST}"]
    done = tree.run(["-m", "pytest", *plugins, *options, *UNMEASURED, *tests], SECONDS_FOR_TESTS)
    if done.code == FAILED:
        told = [line for line in done.out.splitlines() if line.startswith(("FAILED tests", "ERROR tests"))]
        return Noticed(by, told[0] if told else _last_words(done))
    if done.code != PASSED:
        raise Void(_last_words(done))
    return None


def named_is_noticed(tree: Tree, mutant: Mutant, seeds: int) -> Noticed | None:
    """The check that notices a named mutant: its tests, its scene, or the simulator in `seeds` seeds. Raises Void."""
    if mutant.tests:
        return some_tests_notice(tree, [mutant.tests], "its unit tests")
    if mutant.scene:
        return some_tests_notice(tree, [RARE_MOMENTS, CRASH_POINTS, "-k", mutant.scene], f"scene {mutant.scene}")
    return simulator_notices(tree, seeds)


def anybody_notices(tree: Tree, place: Place, covering: Covering, seeds: int) -> Noticed | None:
    """The first check that notices a random mutant: unit tests that take its lines, then simulator, then crash points.

    A line that only runs while its module is loaded may matter to any test, so all unit tests are run. Raises Void.
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
