"""Makes a failing run smaller: fewer operations, then fewer faults, as long as the same invariant fails."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.run import Result, Run


def shrink(failed: Result) -> tuple[Result, int, int]:
    """The smallest failing run found by halving: its result, and its limits of operations and faults."""
    invariant = failed.violations[0].invariant
    faults = failed.faults.total()

    def fails(operations: int, faults: int) -> bool:
        violations = Run(failed.seed, operations, faults).go().violations
        return bool(violations) and violations[0].invariant == invariant

    if not fails(failed.operations, faults):
        return failed, failed.operations, faults
    operations = _least(failed.operations, lambda count: fails(count, faults))
    faults = _least(faults, lambda count: fails(operations, count))
    return Run(failed.seed, operations, faults).go(), operations, faults


def _least(known_to_fail: int, fails: Callable[[int], bool]) -> int:
    """The least count that failed. Halving assumes that failing is monotone, and checks each step."""
    passes, failing = -1, known_to_fail
    while failing - passes > 1:
        middle = (passes + failing) // 2
        if fails(middle):
            failing = middle
        else:
            passes = middle
    return failing
