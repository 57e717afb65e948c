"""The demonstration's workers: a process of `clockwork_client.worker`, which logs its work to a file.

python -m local.demo.scenes.jobs FILE
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
from local.dev.server import POOL

#: The number of invoices, made one after the other, with a checkpoint behind each.
INVOICES = 60
_SECONDS_EACH = 0.25


def pool_of(log: Path) -> Pool:
    """The pool, whose handlers write a line for each step: handler, step, attempt, process."""
    pool = Pool(POOL)
    lines = log.open("a", buffering=1)

    def tell(handler: str, step: int, ctx: Context) -> None:
        lines.write(json.dumps([handler, step, ctx.attempt, os.getpid()]) + "\n")

    @pool.handler()
    def generate_invoices(_: Any, ctx: Context) -> dict[str, int]:
        done = ctx.last_checkpoint.value if ctx.last_checkpoint else 0
        for number in range(done + 1, INVOICES + 1):
            time.sleep(_SECONDS_EACH)
            tell("generate_invoices", number, ctx)
            ctx.checkpoint(number)
        return {"invoices": INVOICES}

    @pool.handler()
    def train_model(_: Any, ctx: Context) -> None:
        step = 0
        while True:
            time.sleep(_SECONDS_EACH)
            tell("train_model", step := step + 1, ctx)
            ctx.heartbeat(message=f"step {step}")

    return pool


if __name__ == "__main__":
    run_until_signalled(Worker(pool_of(Path(sys.argv[1])), Clockwork(), concurrency=4, drain=0.0))
