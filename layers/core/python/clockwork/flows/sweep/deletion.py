"""End what a client leaves behind that is being deleted, then let the client go: so much at each sweep.

Its named jobs are cancelled in the order of their keys, its parked occurrences end CANCELLED. Anonymous jobs that are
not due yet stay in their rows, which no index finds by client: the deliverer ends each when it comes due. The client's
row stays as a tombstone, so that the deliverer knows them, and so that a client which gets the id anew does not inherit
them.

How it fails. The sweeper dies anywhere: the next sweep begins behind the last key that was noted, and what has ended
already is found so. A job or a row cannot be read: those behind it end, the client stays DELETING, and its id is not
free. A read takes longer than a visit has: it is noted what was read, and the next visit goes on there. An api that has
the client in its cache creates one job more: the first sweep waits until no cache can hold the client as it was.
"""

from __future__ import annotations

import logging

import msgspec

from clockwork.domain.clients import DELETED, SPARE_MS, Client, as_gone
from clockwork.domain.errors import RevisionConflict, Unreadable
from clockwork.domain.lifecycle.parking import Parked
from clockwork.domain.named.changes import Home, cancelled
from clockwork.domain.named_jobs import NamedJob
from clockwork.flows.named import write
from clockwork.flows.sweep.discard import discard
from clockwork.flows.sweep.parked_rows import ParkedRows
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: Jobs, or parked rows, that are read at once.
PAGE = 50
#: Keys of jobs that are not ended yet and that a line of the log names.
MOST_TOLD = 20


def end_client(world: World, client: Client, parked: Parked, until: int) -> bool:
    """End what is left of a client, as far as time allows before `until` (ms); True if nothing is left of it.

    Raises Unavailable.
    """
    if client.gone_at is None:
        settled_at = (client.deleting_at or 0) + _longest_known_ms(world)
        if world.clock.now() < settled_at or not _end_jobs(world, client, until):
            return False
        if not _end_parked(world, client.client_id, until):
            return False
        for host in world.regulation.circuits(client.client_id):
            world.regulation.close_circuit(client.client_id, host)
        latest = world.clients.get(client.client_id, fresh=True)
        if latest is None or not world.clients.put(as_gone(latest, world.clock.now()), replaces=latest.revision):
            return False
        log.info("a client is gone", extra={"action": "client_gone", "clientId": client.client_id})
    world.regulation.forget_parked(parked)
    return True


def _longest_known_ms(world: World) -> int:
    """How long (ms) after its delete a request, or a message, may still see the client as it was, and some to spare."""
    settings = world.settings
    longest = max(settings.api_timeout_seconds, settings.ingester_timeout_seconds)
    return (settings.client_cache_seconds + longest) * 1000 + SPARE_MS


def _end_jobs(world: World, client: Client, until: int) -> bool:
    """Cancel named jobs behind the last noted key, and give their rows an end. True if none is left.

    Progress is noted before a look at the clock, so each visit ends at least one job. A job that cannot be read, or
    that a caller changed just now, is left to the next visit, which begins there; the jobs behind it end.
    """
    after = noted = client.ended_to
    left: list[str] = []
    more, in_time = True, world.clock.now() < until
    while more and in_time:
        listed = world.jobs.list(client.client_id, None, after, PAGE)
        more = listed.more
        for after, job in listed.jobs:
            if isinstance(job, Unreadable) or not _end(world, job):
                left.append(after)
            noted = noted if left else after
            in_time = world.clock.now() < until
            if not in_time:
                more = more or after != listed.jobs[-1][0]
                break
    if left:
        extra = {"action": "jobs_not_ended", "clientId": client.client_id, "jobKeys": left[:MOST_TOLD]}
        log.warning("%d jobs of a deleted client are not ended yet", len(left), extra=extra)
    if noted != client.ended_to:
        ended = msgspec.structs.replace(client, ended_to=noted, revision=client.revision + 1)
        world.clients.put(ended, replaces=client.revision)
    return not more and not left


def _end(world: World, job: NamedJob) -> bool:
    """Cancel the job if it lives, and let TTL delete its row once no record of it is kept; False if that is not done.

    Without the row a job under the same key has another incarnation all the same: the next client's are all higher.
    """
    expires_at = world.clock.now() + world.execution_kept_ms(job.definition.retention_days)

    def ended(before: NamedJob, boundary_at: int, home: Home) -> NamedJob:
        return msgspec.structs.replace(cancelled(DELETED)(before, boundary_at, home), expires_at=expires_at)

    if not job.is_alive:
        return bool(job.expires_at) or world.jobs.save(job, msgspec.structs.replace(job, expires_at=expires_at))
    try:
        write.change(world, job, None, ended)
    except RevisionConflict:
        return False  # A caller changed it just now: the next sweep reads it again.
    return True


def _end_parked(world: World, client_id: str, until: int) -> bool:
    reading = ParkedRows(world, client_id)
    everything = Parked(client_id, discard_until=world.clock.now())
    while True:  # one page at least, however long the named jobs took
        discard(world, reading, everything, reading.page(PAGE), DELETED)
        if reading.is_over:
            return not reading.leaves_any
        if world.clock.now() >= until:
            return False
