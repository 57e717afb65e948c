"""Write a named job, to create or change it: put the pointer, then the row, then check the horizon and advance.

A lost write leaves a pointer under a version that no row has; a poller drops it when it reads it. A call that loses the
compare-and-set on the row reads once more and never puts again. So a slow repeat cannot start a job's next life after
its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.errors import InvalidRequest, NameTaken, Problem, RevisionConflict
from clockwork.domain.executions import Execution
from clockwork.domain.fires.chains import first_pointer, going_on
from clockwork.domain.ids import ExecutionId
from clockwork.domain.keys import is_ordered
from clockwork.domain.named_jobs import Definition, JobState, NamedJob, versioned
from clockwork.domain.releases import Release
from clockwork.domain.requests.differences import differences
from clockwork.flows.access import get_by_key
from clockwork.flows.named.advance import advance_past_horizon, put_pointer
from clockwork.flows.named.in_flight import may_still_start, record_dropped, released_to
from clockwork.flows.named.repair import advance_again
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
    """A named job as it stands after a call, and its executions that may still start although the call forbids it.

    `created`: this call created the job. `released`: the releases that it sent. `running`: the executions that have a
    claim.
    """

    job: NamedJob
    created: bool = False
    released: Sequence[Release] = ()
    running: Sequence[Execution] = ()
    #: Other executions may be under way unseen, behind the records that were read.
    may_be_under_way: bool = False


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


#: A change of a job. It takes the job as it stands, now (ms), and up to when (ms) its fires have been released.
Change = Callable[[NamedJob, int, int], NamedJob]


def change(world: World, stored: NamedJob, revision: int | None, changed: Change) -> Written:
    """Replace the row of a job by the one that `changed` makes of it, if it is still as it was read (`stored`).

    Returns once it is certain which executions of the old version may still start. Raises RevisionConflict if the row
    has changed meanwhile, or is not at `revision` if that is given. Raises Unavailable if the result is not certain:
    the caller may repeat.
    """
    now = world.clock.now()
    if revision is not None and revision != stored.revision:
        raise RevisionConflict(f"the job is at revision {stored.revision}, the request is for revision {revision}")
    released_at = released_to(world, stored, now)
    following = msgspec.structs.replace(changed(stored, now, released_at), revision=stored.revision + 1, changed_at=now)
    home = _home_of(world, stored.client_id, following.definition, stored.partition_id)
    if home is None:
        plain = ensure_shards(world)
        home = plain[world.random.below(len(plain))]
    job = versioned(msgspec.structs.replace(following, partition_id=home))
    if not _write(world, stored, job):
        latest = get_by_key(world, stored.client_id, stored.job_key)
        at = "gone" if latest is None else f"at revision {latest.revision}"
        raise RevisionConflict(f"the job was changed meanwhile: it is {at}, the request was for {stored.revision}")
    released = advance_past_horizon(world, job, first_pointer(job)) if job.state is JobState.ACTIVE else ()
    if released_at < now:
        record_dropped(world, stored, job)
    running, unseen = may_still_start(world, stored, job.version)
    return Written(job, released=released, running=running, may_be_under_way=unseen)


def unchanged(world: World, stored: NamedJob) -> Written:
    """Answer a change that finds the job as it is to be, in the way of the call that made it so.

    That call may have died after it wrote the row, so the steps that follow are done again. Raises Unavailable if the
    result is not certain: the caller may repeat.
    """
    advance_again(world, stored)
    running, unseen = may_still_start(world, stored, stored.version)
    return Written(stored, running=running, may_be_under_way=unseen)


def replaced(definition: Definition, as_sent: bytes, *, same_schedule: bool) -> Change:
    """The change to a new definition. An unchanged schedule goes on where it stands, paused or not."""

    def make(job: NamedJob, now: int, released_at: int) -> NamedJob:
        kept = msgspec.structs.replace(job, definition=definition, as_sent=as_sent, active_from_at=0)
        is_paused = job.state is JobState.PAUSED
        if same_schedule and is_paused:
            return kept
        if same_schedule:
            return going_on(kept, job, released_at)
        start_at = _start_of(definition, now)
        paused_at = now if is_paused else None
        return msgspec.structs.replace(kept, chain_after_at=start_at, chain_ordinal=0, paused_at=paused_at)

    return make


def with_schedule_of(job: NamedJob, definition: Definition) -> Definition:
    """The definition with the job's schedule in place of its own, as that was resolved when the job was written."""
    return msgspec.structs.replace(definition, at=job.definition.at, recurrence=job.definition.recurrence)


def paused(reason: str | None) -> Change:
    """The change that pauses a job: nothing of its schedule starts until it is resumed."""
    return lambda job, _, released_at: msgspec.structs.replace(
        job, state=JobState.PAUSED, reason=reason, paused_at=released_at
    )


def resumed(reason: str | None) -> Change:
    """The change that ends a pause. Fires that were due in it were missed, and the catch-up policy decides on them."""

    def make(job: NamedJob, now: int, _: int) -> NamedJob:
        again = going_on(job, job, job.changed_at if job.paused_at is None else job.paused_at)
        return msgspec.structs.replace(again, state=JobState.ACTIVE, reason=reason, active_from_at=now, paused_at=None)

    return make


def cancelled(reason: str | None) -> Change:
    """The change that deletes a job. The row stays as a tombstone, so that the key used again is another job."""
    return lambda job, *_: msgspec.structs.replace(job, state=JobState.CANCELLED, reason=reason)


def has_ended(world: World, job: NamedJob) -> bool:
    """Whether a one-shot has fired and its execution is final.

    An active one whose record may have expired by now counts as ended, too.
    """
    at = job.definition.at
    if at is None:
        return False
    record = world.executions.find(job.job_id, str(ExecutionId(job.job_id, at, job.version)))
    if record is not None:
        return record.is_final
    kept_ms = world.execution_kept_ms(job.definition.retention_days)
    return job.state is JobState.ACTIVE and world.clock.now() - max(at, job.changed_at) >= kept_ms


def _is_given_up(world: World, stored: NamedJob, request: NamedRequest) -> bool:
    if not request.gives_up_key:
        return False
    is_repeat = world.clock.now() < stored.created_at + world.settings.idempotency_seconds * 1000
    return not (stored.as_sent == request.as_sent and is_repeat) and has_ended(world, stored)


def _repeated(world: World, stored: NamedJob, request: NamedRequest) -> Written:
    if stored.as_sent != request.as_sent:
        problems = [Problem(pointer, "differs") for pointer in differences(stored.as_sent, request.as_sent)]
        raise NameTaken(f"the jobKey {request.job_key!r} names another job; PUT or PATCH changes it", problems)
    advance_again(world, stored)
    return Written(stored)


def _write(world: World, before: NamedJob | None, after: NamedJob) -> bool:
    pointer = first_pointer(after) if after.state is JobState.ACTIVE else None
    if pointer is not None:
        put_pointer(world, after, pointer)
    return world.jobs.save(before, after)


def _first_revision(
    world: World, request: NamedRequest, stored: NamedJob | None, partitions: Sequence[str]
) -> NamedJob:
    now = world.clock.now()
    before = None if stored is None else stored.partition_id
    drawn = partitions[world.random.below(len(partitions))]
    job = NamedJob(
        client_id=request.client.client_id,
        job_key=request.job_key,
        incarnation=1 if stored is None else stored.incarnation + 1,
        revision=1,
        version="",
        state=JobState.ACTIVE,
        partition_id=_home_of(world, request.client.client_id, request.definition, before) or drawn,
        definition=request.definition,
        as_sent=request.as_sent,
        created_at=now,
        changed_at=now,
        chain_after_at=_start_of(request.definition, now),
    )
    return versioned(job)


def _home_of(world: World, client_id: str, definition: Definition, before: str | None) -> str | None:
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
