"""Releases: the contents of the release queue's messages, each of one of three kinds.

A `Deliver` asks for an attempt. A `Watch` finds the end of an attempt's claim. A `Check` finds out whether a ticket was
lost. A release of a named job has no payload: the job's row has it.
"""

from __future__ import annotations

from typing import Any, Self

import msgspec

from clockwork.domain.executions import Execution, Outcome, Source, State
from clockwork.domain.ids import ONLY_RUN, ExecutionId, NamedJobId, decode_job, derive, is_named
from clockwork.domain.jobs import NodeOf, Occurrence
from clockwork.domain.policies import NO_BUDGET, UNCLAIMED
from clockwork.domain.waits import NO_WAITS, Cause, Held, Line, Waited, Waits
from clockwork.targets.message import Errand, Message

#: The longest delay of one SQS message (s). A release that is further away travels in hops of this length.
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-delay-queues.html
LONGEST_DELAY_SECONDS = 900


class Of(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """The execution of a release, with the due instant of its occurrence, and where it comes from.

    `run` is the last part of the executionId. `partition_id` is the shard of a named job. `revision` is that of the
    named job's row from which the release was made; None for an anonymous job. `source` of a named job: `job` if its
    row says what is delivered, or `record` if a redrive delivers what the record has. `node`: of a workflow's node.
    """

    job_id: str
    run: str = ONLY_RUN
    partition_id: str | None = None
    revision: int | None = None
    source: Source = "job"
    node: NodeOf | None = None


class Travels(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The detours of a `Deliver`. `parkings` counts how often it was parked and unparked.

    `came_back`: a message of this attempt was received again before it was parked, so it may be what takes its
    deliverers down. `alone`: it shares no message with others, since a message that it shared came back.
    """

    parkings: int = 0
    came_back: bool = False
    alone: bool = False


NO_TRAVELS = Travels()


class Release(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """The fields of all kinds: attempt number `attempt` of an occurrence, and its earliest instant, `run_at` (ms).

    The occurrence of a named job is a hint: its row has the rest. `sweeps` counts how often the sweeper took the
    release out of the dead-letter queue.
    """

    of: Of
    occurrence: Occurrence
    run_at: int
    attempt: int = 1
    sweeps: int = 0

    @property
    def job_id(self) -> str:
        """The id of its job."""
        return self.of.job_id

    @property
    def revision(self) -> int | None:
        """The revision of the named job's row from which it was made; None for an anonymous job."""
        return self.of.revision

    @property
    def follows_job(self) -> bool:
        """Whether the row of its named job says what is delivered."""
        return self.of.source == "job" and is_named(self.of.job_id)

    @property
    def has_waited(self) -> bool:
        """Whether it waited after its poller released it. Its execution may have ended meanwhile."""
        return True

    @property
    def is_recorded(self) -> bool:
        """Whether its attempt is claimed on a record. At level `none` all attempts are but the first one."""
        return self.occurrence.record == "full" or self.attempt > 1

    @property
    def execution_id(self) -> str:
        """The executionId: the id of this occurrence's record, the same for every attempt."""
        return str(ExecutionId(self.of.job_id, self.occurrence.due_at, self.of.run))

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
        if self.of.partition_id is not None:
            return self.of.partition_id
        job = decode_job(self.of.job_id)
        assert not isinstance(job, NamedJobId), "a named job's release names its partition"
        return job.partition_id

    def of_its(self, **of: Any) -> Self:
        """The release with other values of some fields of `of`."""
        return msgspec.structs.replace(self, of=msgspec.structs.replace(self.of, **of))

    def lateness_ms(self, started_at: int) -> int:
        """How late a first attempt began (ms): after its due instant, or its create or redrive if that came later."""
        return started_at - self.occurrence.late_since

    def waited_by(self, _at: int) -> Waited | None:
        """All waits of the release, the last one as far as it was over at an instant (ms). Only a `Deliver` has any."""
        return None

    def sent_alone(self) -> Release:
        """The release as it shares no message with others. A watch or a check never does."""
        return self

    def for_attempt(self, attempt: int) -> Deliver:
        """The release that asks for this attempt of the same execution, or for another one."""
        return Deliver(self.of, self.occurrence, self.run_at, attempt, self.sweeps)

    def first_record(self, state: State, expires_at: int, *, revision: int = 1, **more: Any) -> Execution:
        """The first record of an occurrence that has none yet, kept until `expires_at` (ms).

        `more` are further fields of `Execution`. The attempts before this one count, though no record tells of them.
        With `revision` 0 the caller does not store it as it is: the caller changes it first.
        """
        fields = {
            "job_id": self.of.job_id,
            "execution_id": self.execution_id,
            "client_id": self.occurrence.client_id,
            "due_at": self.occurrence.due_at,
            "created_at": None if is_named(self.of.job_id) else self.occurrence.created_at,
            "attempt": self.attempt - 1,
            "budget": UNCLAIMED if self.occurrence.record == "none" else NO_BUDGET,
        }
        return Execution(**{**fields, **more}, state=state, revision=revision, expires_at=expires_at)


class Deliver(Release, frozen=True, tag="deliver"):
    """Asks for the attempt, which starts at `run_at` (ms) or later. `checked`: a check of it is on its way.

    `spilled`: its ticket is beyond its client's share of the pool. The overflow queue of its priority has the ticket
    for the rest of the attempt.
    """

    checked: bool = False
    spilled: bool = False
    waits: Waits = NO_WAITS
    travels: Travels = NO_TRAVELS

    @property
    def has_waited(self) -> bool:
        """Whether it waited after its poller released it. Its execution may have ended meanwhile.

        A release that has a slot, or waits for one for the first time, has not waited.
        """
        line = self.waits.line
        has_moved = self.attempt > 1 or self.sweeps > 0 or self.travels.parkings > 0
        return has_moved or self.waits.permits > 0 or (line is not None and line.since < self.run_at)

    def for_attempt(self, attempt: int) -> Deliver:
        """The release of this attempt or of another one. Check, queue and return of a message are of one attempt."""
        if attempt == self.attempt:
            return self
        travels = msgspec.structs.replace(self.travels, came_back=False)
        return msgspec.structs.replace(self, attempt=attempt, checked=False, spilled=False, travels=travels)

    def sent_alone(self) -> Deliver:
        """The release as it shares no message with others."""
        return msgspec.structs.replace(self, travels=msgspec.structs.replace(self.travels, alone=True))

    def waiting(self, **waits: Any) -> Deliver:
        """The release with other values of some fields of its waits."""
        return msgspec.structs.replace(self, waits=msgspec.structs.replace(self.waits, **waits))

    def put_off(self, cause: Cause, now: int, run_at: int, **waits: Any) -> Deliver:
        """The release for `run_at` (ms) or its own if that is later, for a cause that is met at `now`.

        `waits` are other fields of its waits to change. A wait for another `run_at` before it is over by then.
        """
        since, run_at = max(now, self.run_at), max(run_at, self.run_at)
        held = Held(cause, since) if run_at > since else None
        waiting = self.waiting(waited=self.waited_by(self.run_at), held=held, **waits)
        return msgspec.structs.replace(waiting, run_at=run_at)

    def without_slot(self) -> Deliver:
        """The release without its slot, which passes before it may start.

        Its turn in the line has come all the same: so it may reserve the next free slot.
        """
        if not self.waits.paced:
            return self
        line = self.waits.line or Line(None, self.occurrence.due_since)
        place = self.run_at if line.place is None else min(line.place, self.run_at)
        return self.waiting(paced=False, line=Line(place, line.since))

    def held_back(self, cause: Cause, now: int) -> Deliver:
        """The release as it waits from `now` on (ms) for an instant that is not known yet."""
        return self.waiting(waited=self.waited_by(self.run_at), held=Held(cause, max(now, self.run_at)))

    def waited_by(self, at: int) -> Waited | None:
        """All waits of the release, the last one as far as it was over at `at` (ms)."""
        waited, held = self.waits.waited, self.waits.held
        ms = 0 if held is None else min(self.run_at, at) - held.since
        return waited if held is None or ms <= 0 else (waited or Waited()).and_for(held.cause, ms)


class Watch(Release, frozen=True, tag="watch"):
    """Comes when the claim of its attempt ends. It ends that claim, and sends what follows. It starts nothing."""


class Check(Release, frozen=True, tag="check"):
    """Comes days after the ticket of its attempt was sent. It becomes that ticket again if nobody has claimed it."""


class Refused(msgspec.Struct, frozen=True):
    """A release that the queue did not take: its place among those sent, and whether it can ever be taken."""

    index: int
    permanent: bool
    reason: str


class Delivery(msgspec.Struct, frozen=True):
    """One attempt, as a target adapter gets it: to be started now, and to end before `deadline_at` (ms).

    `token`: under which its receiver calls back, if the attempt ends by callback. `node`: of a workflow's node.
    `begun`: as in `Budget`. `errand`: nothing is started; what was begun is looked up or stopped. `run_at`: in ms.
    """

    execution_id: str
    job_id: str
    attempt: int
    occurrence: Occurrence
    deadline_at: int
    token: str | None = None
    node: NodeOf | None = None
    begun: int = 0
    errand: Errand | None = None
    run_at: int | None = None

    def __repr__(self) -> str:
        """Without the token, and without the payload: neither must reach a log."""
        return f"Delivery({self.execution_id!r}, attempt={self.attempt}, deadline_at={self.deadline_at})"

    @property
    def message(self) -> Message:
        """The content that the receiver gets."""
        due_at, payload = self.occurrence.due_at, self.occurrence.payload
        run, name = (None, None) if self.node is None else (self.node.run, self.node.name)
        # A first attempt is wanted once it is late, whatever held it up; a retry or redrive at an instant of its own.
        run_at = self.occurrence.late_since if self.attempt == 1 else self.run_at
        facts = (self.token, run, name, self.begun, run_at)
        return Message(self.execution_id, self.job_id, self.attempt, due_at, payload, *facts)

    @property
    def ends_there(self) -> bool:
        """Whether its service is to say when that ends which it begins."""
        completion = self.occurrence.completion
        return completion is not None and completion.mode == "end"

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
