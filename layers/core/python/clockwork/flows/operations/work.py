"""One call of an operation: up to 100 items behind its cursor, as the route of its kind would change them.

How it fails. The process dies, or a store gives no answer: what was changed stays changed, and the same items are
looked at again. A redrive that died before its release finds the execution waiting, and releases it then. An item that
cannot be changed is passed with its reason. A client's cap refuses the call before it changes anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from clockwork.domain.clients import Client
from clockwork.domain.errors import TooManyRequests
from clockwork.domain.lifecycle.ownership import told_of_unreadable
from clockwork.domain.named.changes import Change, cancelled
from clockwork.domain.named.many import has_tag, is_left_paused, pausing, resuming
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.requests.operations import Kind, Operation, Passed, Worked
from clockwork.domain.requests.quotas import admitted, day_of, seconds_left_of_day
from clockwork.domain.requests.reading import Kind as Pace
from clockwork.domain.requests.trail import unnoted
from clockwork.flows.requests import redrive
from clockwork.flows.requests.bulk import Which, change_jobs
from clockwork.flows.requests.redrive import DeadFilter
from clockwork.flows.world import World

#: A call about named jobs begins no job once it has taken so long (ms).
CALL_MS = 5_000


def work(world: World, client: Client, operation: Operation) -> Worked:
    """Make one call. Raises TooManyRequests before anything is changed; Unavailable if the result is not certain."""
    began_at, rate = world.clock.now(), _rate(client, operation)
    limit = operation.call_size(rate)
    change = _change_jobs if operation.is_about_jobs else _change_dead
    with _metered(world):
        done = change(world, client, operation, limit)
        # Its reads are the client's own, at the pace of requests that change something.
        read_ms = world.environment.meter.price * 1000 / Pace.CHANGE.per_second
    took_ms = max(done.matched * 1000 / rate, read_ms)
    return Worked(done.matched, done.changed, done.passed, done.cursor, began_at + math.ceil(took_ms))


def _rate(client: Client, operation: Operation) -> float:
    """The items of a second: no more than the client may create, if each of them makes an occurrence or starts some."""
    makes = operation.kind in (Kind.REDRIVE_DEAD, Kind.RESUME_JOBS)
    own = client.creates_per_second if makes else None
    return operation.max_per_second if own is None else min(own, operation.max_per_second)


@contextmanager
def _metered(world: World) -> Iterator[None]:
    """Count what the block reads. Other repairs of a sweep are not counted: nobody pays for them."""
    world.environment.meter.begin()
    try:
        yield
    finally:
        world.environment.meter.counts = False


def _change_dead(world: World, client: Client, operation: Operation, limit: int) -> Worked:
    meant = operation.meant
    wanted = DeadFilter(meant.prefix, meant.from_at, meant.to_at, operation.since_at)
    which = (world, client.client_id, wanted, limit, operation.cursor)
    if operation.kind is Kind.DISCARD_DEAD:
        done = redrive.discard_dead(*which)
    else:
        done = redrive.redrive_dead(*which, admit=lambda count, nodes=0: _count_day(world, client, count + nodes))
    return Worked(done.seen, done.changed, done.passed, done.next_before, 0)


def _count_day(world: World, client: Client, count: int) -> None:
    """Count occurrences among the jobs of the client's day. Raises TooManyRequests if the day has no room for them."""
    now = world.clock.now()
    most = client.jobs_per_day
    if most is None or not count:
        return
    if not world.regulation.count_created(client.client_id, day_of(now), count, most):
        raise TooManyRequests(f"the day (UTC) has no room for them: jobsPerDay is {most:,}", seconds_left_of_day(now))


def _change_jobs(world: World, client: Client, operation: Operation, limit: int) -> Worked:
    meant, is_tagged = operation.meant, has_tag(operation.meant.tag)

    def is_meant(job: NamedJob) -> bool:
        was_there = job.is_alive and job.created_at <= operation.made_at
        return was_there and is_tagged(job) and not is_left_paused(meant.paused_reason, job)

    def change_of(job: NamedJob) -> Change | None:
        if operation.kind is Kind.CANCEL_JOBS:
            return cancelled(operation.reason)
        if operation.kind is Kind.PAUSE_JOBS:
            return pausing(job, operation.reason, cancels=operation.cancels_waiting, by=operation.made_by)
        return resuming(job, operation.reason, cancels=operation.cancels_waiting)

    which = Which(meant.prefix, is_meant, limit)
    until = world.clock.now() + CALL_MS
    done = change_jobs(world, client.client_id, which, operation.cursor, change_of, until, admit=admitted, note=unnoted)
    unreadable = told_of_unreadable(operation.since_at, done.unreadable)
    passed = [Passed(one.job.job_key, one.reason) for one in done.passed]
    passed += [Passed(job_key, "this version cannot read it") for job_key in unreadable]
    return Worked(done.matched, done.changed, passed, done.next_after, 0)
