"""`python -m tests.simulation.mutants.seeds COUNT`: simulate seed by seed until the checker finds something.

Ends with FOUND and tells what as one JSON object, or with 0. Any other end says nothing about the code under test.
"""

from __future__ import annotations

import json
import logging
import sys

from tests.simulation.mutants.bounds import NoEnd, bound_memory, bound_time
from tests.simulation.run import Run

#: The exit status that tells of a violation: Python itself never ends with it.
FOUND = 10
#: A seed takes a third of a second; one that is not through after so many has no end (s).
SECONDS_PER_SEED = 60


def main(arguments: list[str]) -> int:
    """Try the seeds from 0 on; FOUND at the first violation."""
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
