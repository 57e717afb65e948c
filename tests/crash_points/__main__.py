"""`python -m tests.crash_points [scene ...]`: kills a process at every call to AWS, including equal points."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from tests.crash_points.enumeration import Enumeration, failed
from tests.crash_points.services import services
from tests.simulation.scenes import SCENES


def main(scenes: Sequence[str]) -> int:
    """Tries the named scenes, or all of them; returns 1 if an invariant does not hold at some point."""
    points = violations = 0
    for scene in scenes or SCENES:
        with services() as aws:
            enumeration = Enumeration(aws, scene, every=True)
            enumeration.run()
        points += len(enumeration.tried)
        print(f"{scene}: {len(enumeration.tried)} points", flush=True)
        for tried in failed(enumeration.tried):
            violations += 1
            print(f"  {tried.point}\n    {tried.violations}")
    print(json.dumps({"scenes": len(scenes or SCENES), "points": points, "violations": violations}))
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
