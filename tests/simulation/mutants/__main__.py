"""`python -m tests.simulation.mutants [--random N]`: break the shipped sources one way at a time; who notices?"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable

from tests.simulation.mutants.named import NAMED
from tests.simulation.mutants.operators import draw
from tests.simulation.mutants.trial import Mutant, Rotten, broken, simulator_notices, unit_tests_notice

UNBROKEN = Mutant("what is shipped", "flows/world.py", ())
#: A named mutant must be noticed within so many seeds.
NAMED_SEEDS = 108
#: A random one gets so many, and the unit tests where these find nothing.
RANDOM_SEEDS = 36


def main(arguments: list[str]) -> int:
    """Try all; 1 if a named mutant, or a random one that is no known equivalent, is not noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutants", description=__doc__)
    parser.add_argument("--random", type=int, default=40)
    parser.add_argument("--random-seed", type=int, default=0)
    parser.add_argument("--only", default="", help="named mutants whose name holds this")
    options = parser.parse_args(arguments)
    with broken(UNBROKEN) as place:
        told = simulator_notices(place, NAMED_SEEDS) or (unit_tests_notice(place) if options.random else None)
        if told is not None:
            print(f"What is shipped fails already, so mutants would prove nothing: {told}")
            return 1
    named = [mutant for mutant in NAMED if options.only in mutant.name]
    drawn = draw(options.random, options.random_seed)
    named_caught = _count(named, NAMED_SEEDS, unit_tests=False)
    random_caught = _count(drawn, RANDOM_SEEDS, unit_tests=True)
    answer = {"named": len(named), "namedCaught": named_caught, "random": len(drawn), "randomCaught": random_caught}
    print(json.dumps(answer))
    return 0 if named_caught == len(named) and random_caught == len(drawn) else 1


def _count(mutants: Iterable[Mutant], seeds: int, *, unit_tests: bool) -> int:
    caught = 0
    for mutant in mutants:
        began = time.monotonic()
        try:
            with broken(mutant) as place:
                told = simulator_notices(place, seeds)
                if told is None and unit_tests:
                    told = unit_tests_notice(place)
        except Rotten as error:
            print(f"ROTTEN   {error}")
            continue
        caught += told is not None
        verdict = "caught  " if told is not None else "SURVIVES"
        print(f"{verdict} {mutant.name} ({time.monotonic() - began:.1f} s): {told or 'nobody noticed'}", flush=True)
    return caught


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
