"""The program of a worker in the chaos rounds: it writes down each step of its work once that step is kept.

    python -m tests.chaos.worker_program POOL FILE SLOTS

A line is [job, step, attempt, process, seconds since the epoch]. It comes behind the step's checkpoint: so no line is
written under a claim that somebody else has by then.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from clockwork_client import Clockwork
from clockwork_client.worker import Context, Pool, Worker
from clockwork_client.worker.signals import run_until_signalled


def pool_of(name: str, file: Path) -> Pool:
    """The pool, whose handler takes so many steps of so many seconds each."""
    pool = Pool(name)
    # One unbuffered write per line: the lines outlive this process, however it ends.
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    @pool.handler("work")
    def work(payload: dict[str, Any], ctx: Context) -> dict[str, int]:
        done = ctx.last_checkpoint.value if ctx.last_checkpoint else 0
        for step in range(done + 1, payload["steps"] + 1):
            time.sleep(payload["seconds"])
            ctx.checkpoint(step)
            line = json.dumps([payload["name"], step, ctx.attempt, os.getpid(), time.time()])
            os.write(descriptor, line.encode() + b"\n")
        return {"steps": payload["steps"]}

    return pool


if __name__ == "__main__":
    pool = pool_of(sys.argv[1], Path(sys.argv[2]))
    run_until_signalled(Worker(pool, Clockwork(), concurrency=int(sys.argv[3]), drain=5.0))
