"""`python -m tests.simulation.mutants.seeds COUNT`: simulates seed by seed until the checker finds a violation.

Its exit status is FOUND, with the violation as one JSON object, or 0. Any other status says nothing about the code
under test.
"""

from __future__ import annotations

import json
import logging
import sys

from tests.simulation.mutants.bounds import NoEnd, bound_memory, bound_time
from tests.simulation.run import Run

#: The exit status that reports a violation; Python itself never exits with it.
FOUND = 10
#: A seed takes about two seconds; one that takes longer than this (s) counts as endless.
SECONDS_PER_SEED = 60


def main(arguments: list[str]) -> int:
    """Runs the seeds from 0 on; returns FOUND at the first violation."""
    (count,) = map(int, arguments)
    logging.disable(logging.CRITICAL)
    bound_memory()
    for seed in range(count):
        try:
            with bound_time(SECONDS_PER_SEED):
                violations = Run(seed).go().violations
        except NoEnd:
            told = "L1: the run does not end"
        else:
            told = str(violations[0]) if violations else ""
        if told:
            print(json.dumps({"seed": seed, "told": told.strip().splitlines()[0]}))
            return FOUND
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
