"""Workers: a process that pulls the jobs of a pool, runs them, and reports their outcomes.

from clockwork_client.worker import Pool

pool = Pool("batch-etl")

@pool.handler("generate_invoices")
def generate_invoices(payload, ctx):
    for month in payload["months"]:
        ctx.heartbeat(message=f"invoices of {month}")

Run it with `clockwork worker module:pool --concurrency 20`, or `pool.run(concurrency=20)`.
"""

from __future__ import annotations

from clockwork_client.worker.attempt import Cancelled, Checkpoint, Lost
from clockwork_client.worker.context import Context
from clockwork_client.worker.fail import Fail
from clockwork_client.worker.pool import Pool
from clockwork_client.worker.worker import Worker

__all__ = ["Cancelled", "Checkpoint", "Context", "Fail", "Lost", "Pool", "Worker"]
