"""A release: what travels through the release queue. It carries all that the delivery needs."""

from __future__ import annotations

from typing import Any

import msgspec

from clockwork.domain.executions import Attempt, Execution, State
from clockwork.domain.ids import ONLY_RUN, AnonymousJob, ExecutionId, decode_job
from clockwork.domain.jobs import Occurrence

#: The longest delay of one SQS message; what is further away travels in hops.
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-delay-queues.html
LONGEST_DELAY_SECONDS = 900


class Release(msgspec.Struct, frozen=True, tag="release", rename="camel", omit_defaults=True):
    """Attempt `attempt` of an occurrence, not to be started before `run_at` (ms).

    `run` is the last part of the executionId. `version` is that of the named job whose schedule asked for it; None for
    an anonymous job and for what was started by hand, which names its `definition` by digest instead: a pause does not
    touch it, a change does. `partition_id` is the shard of a named job.
    `history` holds the last failed attempts where no record keeps them (level `none`).
    `sweeps` counts how often the sweeper took it out of the dead-letter queue,
    `parkings` how often it was parked and let go.
    `alone`: it shares no message, since one that it shared came back.
    `waits` counts how often this attempt found no permit of its client's.
    """

    job_id: str
    occurrence: Occurrence
    run_at: int
    attempt: int = 1
    run: str = ONLY_RUN
    version: str | None = None
    definition: str | None = None
    partition_id: str | None = None
    history: tuple[Attempt, ...] = ()
    lost_workers: int = 0
    sweeps: int = 0
    parkings: int = 0
    alone: bool = False
    #: Its slot under the client's rate cap is `run_at`: it does not take another.
    paced: bool = False
    waits: int = 0

    @property
    def execution_id(self) -> str:
        """The id under which this occurrence is recorded, the same for every attempt."""
        return str(ExecutionId(self.job_id, self.occurrence.due_at, self.run))

    @property
    def shard(self) -> str:
        """The partition on whose timeline a release that is far away waits."""
        if self.partition_id is not None:
            return self.partition_id
        job = decode_job(self.job_id)
        assert isinstance(job, AnonymousJob), "a named job's release names its partition"
        return job.partition_id

    def first_record(self, state: State, expires_at: int, *, revision: int = 1, **more: Any) -> Execution:
        """The record of an occurrence that has none yet, to be kept until `expires_at` (ms).

        `more` are further fields of `Execution`. `revision` 0: it is not stored like this, but changed first.
        """
        return Execution(
            job_id=self.job_id,
            execution_id=self.execution_id,
            client_id=self.occurrence.client_id,
            due_at=self.occurrence.due_at,
            state=state,
            revision=revision,
            expires_at=expires_at,
            **more,
        )


class Refused(msgspec.Struct, frozen=True):
    """A release that the queue did not take: its place among those sent, and whether it can ever be taken."""

    index: int
    permanent: bool
    reason: str


class Delivery(msgspec.Struct, frozen=True):
    """What a target adapter is handed: one attempt, to be started now and to end before `deadline_at` (ms)."""

    execution_id: str
    job_id: str
    attempt: int
    occurrence: Occurrence
    deadline_at: int


def delay_seconds(run_at: int, now: int) -> int:
    """Whole seconds that a message may wait in the queue without being late: never more than is left, 0 to 900."""
    return max(0, min(LONGEST_DELAY_SECONDS, (run_at - now) // 1000))


def queue_of(partition_id: str, queues: int) -> int:
    """The place of the release queue that takes a shard's releases, of `queues` alike: 0 to `queues` - 1.

    Which one a release lies in decides nothing else: whoever receives it settles it by its record.
    """
    return int(partition_id[1:]) % queues
