"""Releases: the contents of the release queue's messages.

A release of a named job has no payload: the job's row has it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from clockwork.domain.executions import Attempt, Execution, Outcome, State
from clockwork.domain.ids import ONLY_RUN, AnonymousJob, ExecutionId, decode_job, derive, is_named
from clockwork.domain.jobs import Occurrence
from clockwork.domain.waits import Cause, Held, Line, Waited

#: The longest delay of one SQS message (s). A release that is further away travels in hops of this length.
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-delay-queues.html
LONGEST_DELAY_SECONDS = 900


class Release(msgspec.Struct, frozen=True, tag="release", rename="camel", omit_defaults=True):
    """Attempt number `attempt` of an occurrence. The deliverer does not start it before `run_at` (ms).

    `watches`: it is the watch of an attempt that ends by callback. It comes when the claim ends, and starts
    nothing. `checks`: it is the check of a ticket, and starts nothing either. `checked`: a check of its attempt is
    on its way. `run` is the last part of the executionId. `revision` is that of the named job's row from which it
    was made; None for an anonymous job. The occurrence of a named job is a hint: its row has the rest. `as_it_was`:
    a redrive that asks nothing of its job, and whose occurrence is whole. `partition_id` is the shard of a named
    job. `history` holds the last failed attempts if no record keeps them (level `none`). `sweeps` counts how often
    the sweeper took the release out of the dead-letter queue, `parkings` how often it was parked and unparked.
    `came_back`: a message of this attempt was received again before it was parked, so it may be what takes its
    deliverers down. `alone`: it shares no message with others, since a message that it shared came back. `waits`
    counts how often this attempt found no permit of its client, `meets` how often it met the live claim of another
    copy. `spilled`: its ticket is beyond its client's share of the pool, and lies in the overflow queue of its priority
    for the rest of its attempt. `line` is its place among those that found no slot. `waited` are the waits of this
    attempt that are over, at level `none` those of all attempts so far, and `held` is the one after which it runs at
    `run_at`.
    """

    job_id: str
    occurrence: Occurrence
    run_at: int
    attempt: int = 1
    run: str = ONLY_RUN
    revision: int | None = None
    as_it_was: bool = False
    partition_id: str | None = None
    history: tuple[Attempt, ...] = ()
    lost_workers: int = 0
    sweeps: int = 0
    parkings: int = 0
    came_back: bool = False
    alone: bool = False
    #: `run_at` is its slot under the client's rate limit, so it takes no other slot.
    paced: bool = False
    waits: int = 0
    meets: int = 0
    waited: Waited | None = None
    held: Held | None = None
    line: Line | None = None
    watches: bool = False
    checks: bool = False
    checked: bool = False
    spilled: bool = False

    @property
    def has_waited(self) -> bool:
        """Whether it waited after its poller released it. Its execution may have ended meanwhile.

        `paced` marks a release that has a slot.
        """
        is_back = self.line is not None and self.line.since < self.run_at
        has_moved = self.sweeps > 0 or self.parkings > 0 or self.watches
        return self.attempt > 1 or has_moved or self.waits > 0 or is_back

    @property
    def execution_id(self) -> str:
        """The executionId: the id of this occurrence's record, the same for every attempt."""
        return str(ExecutionId(self.job_id, self.occurrence.due_at, self.run))

    @property
    def of_revision(self) -> tuple[str, ...]:
        """The part of a derived id that comes from the revision of its named job.

        A change may end the releases of earlier revisions and want the same fire by a later one: neither takes the
        place of the other.
        """
        return () if self.revision in (None, 1) else (f"r{self.revision}",)

    def row_id(self, purpose: str, *more: int) -> str:
        """The id of the row in which this very attempt waits for a purpose. A repeated put makes the same row."""
        return derive(purpose, self.execution_id, self.attempt, *more, *self.of_revision)

    @property
    def shard(self) -> str:
        """The partitionId of its shard. A release that is far away waits on the timeline of that shard."""
        if self.partition_id is not None:
            return self.partition_id
        job = decode_job(self.job_id)
        assert isinstance(job, AnonymousJob), "a named job's release names its partition"
        return job.partition_id

    def for_attempt(self, attempt: int) -> Release:
        """The release of this attempt or of another one, which neither watches nor checks. Its check is for its own."""
        is_same = attempt == self.attempt
        of_it = {name: getattr(self, name) and is_same for name in ("checked", "came_back", "spilled")}
        return msgspec.structs.replace(self, attempt=attempt, watches=False, checks=False, **of_it)

    def lateness_ms(self, started_at: int) -> int:
        """How late a first attempt began (ms): after its due instant, or its create or redrive if that came later."""
        return started_at - self.occurrence.late_since

    def put_off(self, cause: Cause, now: int, run_at: int, **more: Any) -> Release:
        """The release for `run_at` (ms) or its own if that is later, for a cause that is met at `now`.

        `more` are other fields to change. A wait for another `run_at` before it is over by then.
        """
        since, run_at = max(now, self.run_at), max(run_at, self.run_at)
        held = Held(cause, since) if run_at > since else None
        return msgspec.structs.replace(self, waited=self.waited_by(self.run_at), held=held, run_at=run_at, **more)

    def without_slot(self) -> Release:
        """The release without its slot, which passes before it may start.

        Its turn in the line has come all the same: so it may reserve the next free slot.
        """
        if not self.paced:
            return self
        line = self.line or Line(None, self.occurrence.due_since)
        place = self.run_at if line.place is None else min(line.place, self.run_at)
        return msgspec.structs.replace(self, paced=False, line=Line(place, line.since))

    def held_back(self, cause: Cause, now: int) -> Release:
        """The release as it waits from `now` on (ms) for an instant that is not known yet."""
        held = Held(cause, max(now, self.run_at))
        return msgspec.structs.replace(self, waited=self.waited_by(self.run_at), held=held)

    def waited_by(self, at: int) -> Waited | None:
        """All waits of the release, the last one as far as it was over at `at` (ms)."""
        ms = 0 if self.held is None else min(self.run_at, at) - self.held.since
        return self.waited if self.held is None or ms <= 0 else (self.waited or Waited()).and_for(self.held.cause, ms)

    def first_record(self, state: State, expires_at: int, *, revision: int = 1, **more: Any) -> Execution:
        """The first record of an occurrence that has none yet, kept until `expires_at` (ms).

        `more` are further fields of `Execution`. With `revision` 0 the caller does not store it as it is: the caller
        changes it first.
        """
        return Execution(
            job_id=self.job_id,
            execution_id=self.execution_id,
            client_id=self.occurrence.client_id,
            due_at=self.occurrence.due_at,
            state=state,
            revision=revision,
            expires_at=expires_at,
            created_at=None if is_named(self.job_id) else self.occurrence.created_at,
            **more,
        )


class Refused(msgspec.Struct, frozen=True):
    """A release that the queue did not take: its place among those sent, and whether it can ever be taken."""

    index: int
    permanent: bool
    reason: str


class Delivery(msgspec.Struct, frozen=True):
    """One attempt, as a target adapter gets it: to be started now, and to end before `deadline_at` (ms).

    `token`: under which its receiver calls back, if the attempt ends by callback.
    """

    execution_id: str
    job_id: str
    attempt: int
    occurrence: Occurrence
    deadline_at: int
    token: str | None = None

    def __repr__(self) -> str:
        """Without the token, and without the payload: neither must reach a log."""
        return f"Delivery({self.execution_id!r}, attempt={self.attempt}, deadline_at={self.deadline_at})"

    def too_late(self, now: int) -> Outcome | None:
        """The outcome of an attempt that is not started any more at `now` (ms), since its time is over; None before."""
        if now < self.deadline_at:
            return None
        return Outcome(State.TIMED_OUT, now, now, error="its time was over before it was sent")


def delay_seconds(run_at: int, now: int) -> int:
    """The delay of a message (whole seconds, 0 to 900): never more than the time left, so that it is not late."""
    return max(0, min(LONGEST_DELAY_SECONDS, (run_at - now) // 1000))


def queue_of(partition_id: str, queues: int) -> int:
    """The index of the release queue that takes a shard's releases: 0 to `queues` - 1. All these queues are alike.

    Nothing else depends on the queue in which a release lies: the deliverer that receives it goes by its record.
    """
    return int(partition_id[1:]) % queues
