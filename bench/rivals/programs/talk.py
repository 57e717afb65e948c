"""The protocol of these programs: one JSON line in, one out. Standard input that ends is the end of the program.

Out first: {"ready": true}. Then in: {"jobs": [[url, due instant in epoch ms], ...], "together": whether the quickest
way of creating many may be taken, else one job a request}. Out: {"seconds": from the line until all were accepted}.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

#: How many requests are under way at once while jobs are created one a request.
IN_FLIGHT = 8
Job = tuple[str, int]


def serve(create: Callable[[Sequence[Job], bool], object]) -> None:
    """Say that the program is ready; create what is asked for, until standard input ends."""
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        began = time.monotonic()
        create([(url, due_at) for url, due_at in asked["jobs"]], asked["together"])
        print(json.dumps({"seconds": time.monotonic() - began}), flush=True)
    os._exit(0)  # threads that wait for jobs would keep the process


def one_by_one(create: Callable[[Job], object], jobs: Sequence[Job], in_flight: int = IN_FLIGHT) -> None:
    """Create each job by a call of its own; raises what the first call that fails raises."""
    with ThreadPoolExecutor(in_flight) as threads:
        for _ in threads.map(create, jobs):
            pass
