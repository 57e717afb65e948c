"""Create or change a named job: pointer, then row, then look and advance.

A lost write leaves a pointer under a version that no row has: it is dropped when read. Who loses the condition reads
once more and never puts again, so that a slow repeat cannot start a job's next life after its end.
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
from clockwork.flows.named.in_flight import (
    may_still_start,
    record_dropped,
    released_to,
    still_under_way,
    unrecorded_until,
)
from clockwork.flows.named.repair import advance_again
from clockwork.flows.timeline.shards import ensure_shards, is_given_up, ordered_home
from clockwork.flows.world import World


class NamedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A named job as asked for: as the client wrote it (canonical JSON), and with its instants resolved."""

    client: Client
    job_key: str
    as_sent: bytes
    definition: Definition
    #: A one-shot that has ended gives its key up: to another definition at once, to the same one after the time for
    #: which a repeat counts as the same request.
    gives_up_key: bool = False


class Written(msgspec.Struct, frozen=True):
    """A named job as it stands after a call, and what of it may still start although this call says otherwise."""

    job: NamedJob
    created: bool = False
    released: Sequence[Release] = ()
    running: Sequence[Execution] = ()
    #: At record level `none`, where claims cannot be seen: something may still be on its way.
    may_be_under_way: bool = False


def create_named(world: World, request: NamedRequest, partitions: Sequence[str]) -> Written:
    """Create a job under its key. The same as sent is the same job; another is NameTaken. Unavailable: repeat."""
    # 1. Read first: a repeat writes nothing.
    stored = get_by_key(world, request.client.client_id, request.job_key)
    if stored is not None and stored.is_alive and not _is_given_up(world, stored, request):
        return _repeated(world, stored, request)
    # 2. The pointer, then the row on condition that it is as it was read.
    job = _first_revision(world, request, stored, partitions)
    if first_pointer(job) is None:
        raise InvalidRequest([Problem("/schedule", "never fires within the time that can be planned")])
    if not _write(world, stored, job):
        winner = get_by_key(world, request.client.client_id, request.job_key)
        if winner is not None and winner.is_alive:
            return _repeated(world, winner, request)
        raise RevisionConflict("the job was created and deleted meanwhile; nothing was created by this request")
    # 3. Look and advance.
    return Written(job, created=True, released=advance_past_horizon(world, job, first_pointer(job)))


#: What a change makes of a job: as it stands, now (ms), and up to when (ms) its fires have been released.
Change = Callable[[NamedJob, int, int], NamedJob]


def change(world: World, stored: NamedJob, revision: int | None, changed: Change) -> Written:
    """Write what `changed` makes of the job, if it is still as read (and has `revision`, if one is given).

    Returns once it is certain what of the old version may still start. Raises RevisionConflict; Unavailable: repeat.
    """
    now = world.clock.now()
    if revision is not None and revision != stored.revision:
        raise RevisionConflict(f"the job is at revision {stored.revision}, the request is for revision {revision}")
    released_at = released_to(world, stored, now)
    following = msgspec.structs.replace(
        changed(stored, now, released_at),
        revision=stored.revision + 1,
        changed_at=now,
        unrecorded_until=unrecorded_until(stored, now),
    )
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
    running, unseen = may_still_start(world, stored, job)
    return Written(job, released=released, running=running, may_be_under_way=unseen)


def unchanged(world: World, stored: NamedJob) -> Written:
    """The answer to a change that finds the job as it is to be: that of the call which made it so, told again.

    Nobody knows whether that call lived to do what follows the row's write, so it is done again. Unavailable: repeat.
    """
    advance_again(world, stored)
    running, unseen = still_under_way(world, stored)
    return Written(stored, running=running, may_be_under_way=unseen)


def replaced(definition: Definition, as_sent: bytes, *, same_schedule: bool) -> Change:
    """The change that a new definition is. An unchanged schedule goes on where it stands, paused or not."""

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
    """A definition whose schedule is the job's, as that was resolved when it was written."""
    return msgspec.structs.replace(definition, at=job.definition.at, recurrence=job.definition.recurrence)


def paused(reason: str | None) -> Change:
    """The change that a pause is: nothing starts until it is resumed."""
    return lambda job, _, released_at: msgspec.structs.replace(
        job, state=JobState.PAUSED, reason=reason, paused_at=released_at
    )


def resumed(reason: str | None) -> Change:
    """The change that ends a pause: what was due in it was missed, and the catch-up policy decides about it."""

    def make(job: NamedJob, now: int, _: int) -> NamedJob:
        again = going_on(job, job, job.changed_at if job.paused_at is None else job.paused_at)
        return msgspec.structs.replace(again, state=JobState.ACTIVE, reason=reason, active_from_at=now, paused_at=None)

    return make


def cancelled(reason: str | None) -> Change:
    """The change that a delete is: a tombstone, so that the key used again is another job."""
    return lambda job, *_: msgspec.structs.replace(job, state=JobState.CANCELLED, reason=reason)


def has_ended(world: World, job: NamedJob) -> bool:
    """Whether a recorded job that fires once has done so and its execution is final."""
    at = job.definition.at
    if at is None or job.definition.record == "none":
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
    """The shard of a job: that of its ordering key; without one the plain shard that it had, if new jobs go there."""
    if definition.ordering_key is not None:
        return ordered_home(world, client_id, definition.ordering_key)
    return None if before is None or is_ordered(before) or is_given_up(world, before) else before


def _start_of(definition: Definition, now: int) -> int:
    """A one-shot fires at its instant though that be past; a recurring job from now on."""
    return now if definition.at is None else definition.at - 1
