"""Write a named job, to create or change it: put the pointer, then the row, then check the horizon and advance.

A lost write leaves a pointer under a series that no row has; a poller drops it when it reads it. A call that loses the
compare-and-set on the row reads once more and never puts again. A slow repeat therefore cannot start a job's next life
after its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.errors import InvalidRequest, NameTaken, Problem, RevisionConflict
from clockwork.domain.executions import Execution
from clockwork.domain.fires.chains import first_pointer
from clockwork.domain.fires.stretches import stretch_between
from clockwork.domain.ids import only_execution
from clockwork.domain.keys import is_ordered
from clockwork.domain.limits.circuits import host_of
from clockwork.domain.named.changes import (
    Change,
    begins_chain,
    catches_up,
    changed,
    replaced_since,
    with_series,
)
from clockwork.domain.named_jobs import Definition, JobState, NamedJob
from clockwork.domain.releases import Release
from clockwork.domain.requests.differences import differences
from clockwork.domain.requests.trail import Note, unnoted
from clockwork.flows.access import get_by_key
from clockwork.flows.named.advance import advance_past_horizon, put_pointer
from clockwork.flows.named.in_flight import UnderWay, apply_to_older, release_parked
from clockwork.flows.named.repair import catch_up, is_told, settle_again
from clockwork.flows.skipped import Stretch, record_skipped
from clockwork.flows.timeline.shards import ensure_shards, is_given_up, ordered_home
from clockwork.flows.world import World


class NamedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a named job: its definition as the client wrote it, and with its instants resolved.

    `as_sent` is canonical JSON.
    """

    client: Client
    job_key: str
    as_sent: bytes
    definition: Definition
    #: A one-shot that has ended gives up its key: to another definition at once, to the same definition as soon as a
    #: repeat no longer counts as the same request.
    gives_up_key: bool = False


class Written(msgspec.Struct, frozen=True):
    """A named job as it stands after a call, and what became of its executions.

    `created`: this call created the job. `is_changed`: it wrote the row. `released`: the releases that it sent.
    `under_way`: the executions of before that have not ended, or that it ended.
    """

    job: NamedJob
    created: bool = False
    is_changed: bool = True
    released: Sequence[Release] = ()
    under_way: UnderWay = UnderWay()

    @property
    def running(self) -> Sequence[Execution]:
        """The executions that have a claim: these may still start, or reach their target."""
        return self.under_way.running

    @property
    def may_be_under_way(self) -> bool:
        """Whether other executions may be under way unseen, behind the records that were read."""
        return not self.under_way.all_seen


def create_named(world: World, request: NamedRequest, partitions: Sequence[str]) -> Written:
    """Create a job under its key. A repeat of the same definition gets the job that exists.

    `partitions`: the plain shards, from which an unordered job draws its own. Raises NameTaken if the key has another
    definition, InvalidRequest if the schedule never fires, and RevisionConflict if the job was created and deleted
    meanwhile. Raises Unavailable if the result is not certain: the caller may repeat.
    """
    # 1. Read the row first: a repeat writes nothing.
    stored = get_by_key(world, request.client.client_id, request.job_key)
    if stored is not None and stored.is_alive and not _is_given_up(world, stored, request):
        return _repeated(world, stored, request)
    # 2. Put the pointer, then the row, on condition that the row is still as it was read.
    job = _first_revision(world, request, stored, partitions)
    if first_pointer(job) is None:
        raise InvalidRequest([Problem("/schedule", "never fires within the time that can be planned")])
    if not _write(world, stored, job):
        winner = get_by_key(world, request.client.client_id, request.job_key)
        if winner is not None and winner.is_alive:
            return _repeated(world, winner, request)
        raise RevisionConflict("the job was created and deleted meanwhile; nothing was created by this request")
    # 3. Check the horizon, and advance the chain past it.
    return Written(job, created=True, released=advance_past_horizon(world, job, first_pointer(job)))


def change(world: World, stored: NamedJob, revision: int | None, wanted: Change, note: Note = unnoted) -> Written:
    """Replace the row of a job by the one that `wanted` makes of it, if it is still as it was read (`stored`).

    Returns once it is certain what of the job may still start. `note` is called before anything is written. Raises
    RevisionConflict if the row has changed meanwhile, or is not at `revision` if that is given. Raises Unavailable if
    the result is not certain: the caller may repeat.
    """
    if revision is not None and revision != stored.revision:
        raise RevisionConflict(f"the job is at revision {stored.revision}, the request is for revision {revision}")
    # 1. What is due by the boundary goes on. Clocks differ, and boundaries never go back.
    now = world.clock.now()
    boundary_at = max(now, stored.boundary_at)
    job = _behind_what_is_told(
        world, stored, changed(stored, boundary_at, now, wanted, partial(_home_of, world, stored))
    )
    note(stored.client_id)
    # 2. Release that under the row as it stands, unless its pointers go on. Tell what a pause held back permanently.
    caught_up = catch_up(world, stored, boundary_at) if catches_up(stored, job) else ()
    _tell_replaced(world, stored, job, boundary_at)
    # 3. Put the first pointer, then write the row, on condition that it is still as it was read.
    if not _write(world, stored, job):
        latest = get_by_key(world, stored.client_id, stored.job_key)
        at = "gone" if latest is None else f"at revision {latest.revision}"
        raise RevisionConflict(f"the job was changed meanwhile: it is {at}, the request was for {stored.revision}")
    # 4. Advance the chain of what this call wrote, also if the row has changed since: the look sorts that out.
    released = (
        advance_past_horizon(world, job, first_pointer(job))
        if begins_chain(stored, job)
        else settle_again(world, job)
        if job.state is JobState.ACTIVE
        else ()
    )
    # 5. List what runs, end at once what waits and is not wanted any more, and unpark what waits for another host.
    under_way = apply_to_older(world, job)
    if host_of(stored.definition.target) != host_of(job.definition.target):
        release_parked(world, job, under_way.waiting)
    return Written(job, released=(*caught_up, *released), under_way=under_way)


def unchanged(world: World, stored: NamedJob) -> Written:
    """Answer a change that finds the job as it is to be, in the way of the call that made it so.

    That call may have died after it wrote the row, so the steps that follow are done again. Raises Unavailable if the
    result is not certain: the caller may repeat.
    """
    released = settle_again(world, stored)
    under_way = apply_to_older(world, stored, is_repeat=True)
    release_parked(world, stored, under_way.waiting, is_repeat=True)
    return Written(stored, is_changed=False, released=released, under_way=under_way)


def has_ended(world: World, job: NamedJob) -> bool:
    """Whether a one-shot has fired and its execution is final.

    An active one whose record may have expired by now counts as ended, too.
    """
    at = job.definition.at
    if at is None:
        return False
    record = world.executions.find(job.job_id, only_execution(job.job_id, at))
    if record is not None:
        return record.is_final and record.end.ended_by is None
    kept_ms = world.execution_kept_ms(job.definition.retention_days)
    return job.state is JobState.ACTIVE and world.clock.now() - max(at, job.asked_at) >= kept_ms


def _is_given_up(world: World, stored: NamedJob, request: NamedRequest) -> bool:
    if not request.gives_up_key:
        return False
    is_repeat = world.clock.now() < stored.created_at + world.settings.idempotency_seconds * 1000
    return not (stored.as_sent == request.as_sent and is_repeat) and has_ended(world, stored)


def _repeated(world: World, stored: NamedJob, request: NamedRequest) -> Written:
    if stored.as_sent != request.as_sent:
        problems = [Problem(pointer, "differs") for pointer in differences(stored.as_sent, request.as_sent)]
        raise NameTaken(f"the jobKey {request.job_key!r} names another job; PUT or PATCH changes it", problems)
    settle_again(world, stored)
    return Written(stored, is_changed=False)


def _write(world: World, before: NamedJob | None, after: NamedJob) -> bool:
    is_new = before is None or before.incarnation != after.incarnation or begins_chain(before, after)
    pointer = first_pointer(after) if is_new else None
    if pointer is not None:
        put_pointer(world, after, pointer)
    return world.jobs.save(before, after)


def _behind_what_is_told(world: World, before: NamedJob, after: NamedJob) -> NamedJob:
    """The row behind its one fire, if that is due by now and has a record: a fire is delivered once.

    The record may expire sooner than one of this row's fire would, so nobody may look for it later.
    """
    at = after.definition.at
    if at is None or not begins_chain(before, after) or at > after.boundary_at or not is_told(world, after, at):
        return after
    return with_series(msgspec.structs.replace(after, chain_after_at=at))


def _tell_replaced(world: World, before: NamedJob, after: NamedJob, boundary_at: int) -> None:
    """Tell what a pause held back of a schedule that is replaced, before the row is written: nobody could afterwards.

    If the row is lost to a resume, a release of that resume delivers it all the same.
    """
    held_from = replaced_since(before, after)
    if held_from is None:
        return
    reason = f"replaced by revision {after.revision} in a pause"
    stretch = stretch_between(before, held_from, boundary_at, reason)
    if stretch is not None:
        record_skipped(world, [Stretch(before, *stretch, ended_by=after.revision)])


def _first_revision(
    world: World, request: NamedRequest, stored: NamedJob | None, partitions: Sequence[str]
) -> NamedJob:
    now = world.clock.now()
    before = None if stored is None else stored.partition_id
    drawn = partitions[world.random.below(len(partitions))]
    job = NamedJob(
        client_id=request.client.client_id,
        job_key=request.job_key,
        # Above all those of a client that had the id before, whether or not a tombstone is left.
        incarnation=max(0 if stored is None else stored.incarnation, request.client.since_at) + 1,
        revision=1,
        state=JobState.ACTIVE,
        partition_id=_kept_home(world, request.client.client_id, request.definition, before) or drawn,
        definition=request.definition,
        as_sent=request.as_sent,
        created_at=now,
        changed_at=now,
        chain_after_at=_start_of(request.definition, now),
        asked_at=now,
        boundary_at=now,
    )
    return with_series(job)


def _home_of(world: World, stored: NamedJob, definition: Definition) -> str:
    """The shard of a job that is changed: it stays where it is, unless the shard is given up or another key's."""
    kept = _kept_home(world, stored.client_id, definition, stored.partition_id)
    if kept is not None:
        return kept
    plain = ensure_shards(world)
    return plain[world.random.below(len(plain))]


def _kept_home(world: World, client_id: str, definition: Definition, before: str | None) -> str | None:
    """The shard of a job: that of its ordering key; without one the plain shard that it had, if new jobs go there.

    None: the caller draws a plain shard.
    """
    if definition.ordering_key is not None:
        return ordered_home(world, client_id, definition.ordering_key)
    return None if before is None or is_ordered(before) or is_given_up(world, before) else before


def _start_of(definition: Definition, now: int) -> int:
    """The instant (ms) after which the chain begins.

    A one-shot fires at its instant even if that is past. A recurring job fires from now on.
    """
    return now if definition.at is None else definition.at - 1
