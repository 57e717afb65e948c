"""Which unit tests take which line of the unbroken package, so that a mutant meets the tests that may notice it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import coverage

from tests.simulation.mutants.tree import Tree

#: Tests of benchmarks measure, or start the emulator, which is not in the copy of the tree. On a machine that is busy
#: with mutants they fail by themselves, and prove nothing.
UNMEASURED = ("--ignore=tests/unit/bench",)
PLUGINS = ("-p", "no:cacheprovider", "-p", "tests.simulation.mutants.contexts")


class Covering:
    """The tests that take each line of each file of the package."""

    def __init__(self, package: Path, measured: Path) -> None:
        self._package = package
        self._found = coverage.CoverageData(str(measured))
        self._found.read()

    def tests_of(self, file: str, lines: Iterable[int]) -> list[str]:
        """The tests that take one of the lines, sorted. Empty if the lines run only at import, or never."""
        by_line = self._found.contexts_by_lineno(str(self._package / file))
        # Parameters are cut off, since a command line does not take all of their names.
        return sorted({test.partition("[")[0] for line in lines for test in by_line.get(line, ()) if test})


def measure(tree: Tree, tests: Sequence[str], seconds: float) -> Covering:
    """Runs tests in a tree, and records which lines each of them takes. Raises RuntimeError if they do not pass."""
    measured = tree.root / ".measured"
    done = tree.run(
        ["-m", "pytest", "-q", "-m", "", *PLUGINS, *UNMEASURED, f"--contexts-into={measured}", *tests], seconds
    )
    if done.code != 0:
        raise RuntimeError(f"the unit tests do not pass while they are measured: {done.out[-2_000:]}")
    return Covering(tree.package, measured)
