"""Someone looks around: a client's named jobs, page by page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from clockwork.domain.named import NamedJob
from clockwork.flows.world import World

#: Jobs read at once, and in all for one page: a filter that lets little through gets a short page and a token.
READ_AT_ONCE = 200
MOST_READ = 2_000


class JobPage(msgspec.Struct, frozen=True):
    """Jobs in the order of their keys. `next_after` asks for those that follow, if there may be any."""

    jobs: Sequence[NamedJob]
    next_after: str | None


def list_jobs(
    world: World,
    client_id: str,
    prefix: str | None,
    after_key: str | None,
    limit: int,
    wanted: Callable[[NamedJob], bool],
) -> JobPage:
    """Up to `limit` of a client's jobs that have the prefix and are wanted. A page may be short and not the last."""
    found: list[NamedJob] = []
    read = 0
    while read < MOST_READ:
        jobs = world.jobs.list(client_id, prefix, after_key, READ_AT_ONCE)
        for job in jobs:
            if wanted(job):
                found.append(job)
            after_key = job.job_key
            if len(found) == limit:
                return JobPage(found, after_key)
        read += len(jobs)
        if len(jobs) < READ_AT_ONCE:
            return JobPage(found, None)
    return JobPage(found, after_key)
