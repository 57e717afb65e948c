"""The bodies of answers about pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from msgspec import Meta

from clockwork.domain.executions import Execution
from clockwork.domain.instants import to_text
from clockwork.domain.pools.pool import Pool, Tickets, by_priority
from clockwork.edge.http.answer import AnswerBody, Instant
from clockwork.flows.pools.presence import Hands


class WaitingTickets(AnswerBody):
    """How many tickets of a priority wait for a worker, as SQS counts: approximately."""

    priority: str
    tickets: int
    delayed: Annotated[
        int, Meta(description="not due yet, or put off: no worker had their handler, or by a limit of their client")
    ]


class SeenWorker(AnswerBody, kw_only=True):
    """A worker that the pool has heard of within a day."""

    worker_id: Annotated[str, Meta(description="as it names itself")]
    seen_at: Annotated[Instant, Meta(description="when it claimed or sent a heartbeat, as was noted last")]
    running: Annotated[int, Meta(description="attempts that it holds")]
    started_late_ms: Annotated[
        int | None, Meta(description="how late the tickets were claimed that it got last, the latest of them")
    ] = None


class RunningAttempt(AnswerBody, kw_only=True):
    """An attempt that a worker of the pool runs."""

    execution_id: str
    job_id: str
    client_id: str
    attempt: int
    worker_id: str | None = None
    started_at: Instant | None = None
    lease_until: Annotated[Instant, Meta(description="without a heartbeat its worker is taken for lost then")]
    deadline_at: Instant
    cancel_requested: bool
    progress: float | None = None
    message: str | None = None

    @classmethod
    def of(cls, record: Execution) -> Self:
        """The attempt under way of a record."""
        assert record.claim is not None, "it runs under a claim"
        return cls.like(
            record.claim.awaited,
            execution_id=record.execution_id,
            job_id=record.job_id,
            client_id=record.client_id,
            attempt=record.attempt,
            started_at=to_text(record.claim.started_at),
            lease_until=to_text(record.claim.until),
            cancel_requested=record.cancel_noted_at is not None,
        )


class RunningList(AnswerBody):
    """The attempts that the workers of a pool run, the latest seen workers first."""

    items: list[RunningAttempt]
    more: Annotated[bool, Meta(description="there are more than are listed, or than were looked at")]


class ShownPool(AnswerBody):
    """A pool as an admin wrote it, with its queues. A pool that nobody has written is at revision 0."""

    name: str
    revision: Annotated[int, Meta(description="how many times it was written; a change may name it, as If-Match")]
    principals: tuple[str, ...]
    handlers: tuple[str, ...]
    lease_seconds: int
    queue_urls: Annotated[
        Mapping[str, str],
        Meta(description="by priority, and by priority-overflow: from all of these workers receive tickets"),
    ]

    waiting: Annotated[
        list[WaitingTickets] | None, Meta(description="unless a list shows the pool, or SQS gives no answer")
    ] = None
    running: Annotated[
        int | None,
        Meta(description="for admins: attempts that its workers hold, of a thousand that were looked at"),
    ] = None
    workers: Annotated[list[SeenWorker] | None, Meta(description="for admins: the 200 seen last, within a day")] = None

    @classmethod
    def of(
        cls,
        pool: Pool,
        queue_urls: Mapping[str, str],
        waiting: Mapping[str, Tickets] | None = None,
        hands: Hands | None = None,
    ) -> Self:
        """The pool as it is kept, the URLs of its queues, how many tickets wait in each of them, and its workers."""
        told = None if waiting is None else [WaitingTickets(name, *one) for name, one in by_priority(waiting).items()]
        running, workers = (None, None) if hands is None else (len(hands.running), _workers(hands))
        return cls.like(pool, queue_urls=dict(queue_urls), waiting=told, running=running, workers=workers)


def _workers(hands: Hands) -> list[SeenWorker]:
    running = hands.running_of
    return [
        SeenWorker(
            worker_id=one.worker_id,
            seen_at=to_text(one.seen_at),
            running=running[one.worker_id],
            started_late_ms=one.started_late_ms,
        )
        for one in hands.workers
    ]


class PoolList(AnswerBody):
    """All pools of the deployment, by name."""

    items: list[ShownPool]
