"""Trigger a named job by hand: run it now, or execute a past range again. Its schedule stays as it is."""

from __future__ import annotations

from clockwork.domain import ids, keys
from clockwork.domain.fires.backfills import PlannedBackfill, fires_of_range, plan_backfill
from clockwork.domain.fires.chains import run_of
from clockwork.domain.fires.timings import Timing
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.requests.quotas import Admit
from clockwork.domain.storage.rows import row_of
from clockwork.domain.workflows.definition import nodes_of
from clockwork.flows.idempotency import claim_key
from clockwork.flows.named.advance import advance_past_horizon, put_pointer
from clockwork.flows.timeline.put import put_and_check
from clockwork.flows.world import World
from clockwork.ports import KeyRow


def run_now(world: World, job: NamedJob, idempotency_key: str | None) -> str:
    """Execute the job once, now, whether or not it is paused; returns the executionId.

    Raises KeyReused if the key stands for another request, Unavailable if the answer is not certain.
    """
    origin = _origin(world, job, f"run/{job.job_id}", idempotency_key)
    now = origin.created_at
    release = run_of(job, now, now, f"r{ids.derive('run', job.job_id, origin.seed)}")
    key = keys.row_key(release.run_at, ids.derive("run", job.job_id, origin.seed))
    row = row_of(job.partition_id, key, [release], world.row_expires_at(release.run_at))
    put_and_check(world, [row], ids_are_new=idempotency_key is None)
    return release.execution_id


def backfill(
    world: World,
    job: NamedJob,
    from_at: int,
    to_at: int,
    per_second: float,
    idempotency_key: str | None,
    *,
    admit: Admit,
) -> PlannedBackfill:
    """Execute every fire of the job's schedule from `from_at` to `to_at` (ms, both included), `per_second` a second.

    `admit` is told how many fires there are before anything is written, and raises if the client may not have so many.
    Once the job has another timing, the same range is another request, also under the same key. Raises
    InvalidRequest if the range holds too many fires, KeyReused if the key stands for another request, and Unavailable
    if the answer is not certain.
    """
    fires = fires_of_range(job, from_at, to_at)
    admit(fires.count, fires.count * nodes_of(job.definition.target))
    timing = Timing.of(job.definition).digest
    asked = f"backfill/{job.job_id}/{timing}/{from_at}/{to_at}/{per_second}"
    origin = _origin(world, job, asked, idempotency_key)
    backfill_id = f"b{ids.derive('backfill', job.job_id, origin.seed)}"
    planned = plan_backfill(job, backfill_id, fires, to_at, per_second, origin.created_at)
    if planned.pointer is not None:
        put_pointer(world, job, planned.pointer)
        advance_past_horizon(world, job, planned.pointer)
    return planned


def _origin(world: World, job: NamedJob, asked: str, idempotency_key: str | None) -> KeyRow:
    digest = ids.digest_of([asked.encode()])
    # The keys of a client that had the id before are not this one's.
    client = None if idempotency_key is None else world.clients.get(job.client_id)
    since_at = 0 if client is None else client.since_at
    return claim_key(world, job.client_id, idempotency_key, digest, world.random.token(), job.partition_id, since_at)
