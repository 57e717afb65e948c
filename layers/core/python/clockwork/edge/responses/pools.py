"""The bodies of answers about pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from msgspec import Meta

from clockwork.domain.pools.pool import Pool
from clockwork.edge.http.answer import AnswerBody


class WaitingTickets(AnswerBody):
    """How many tickets of a priority wait for a worker, as SQS counts: approximately."""

    priority: str
    tickets: int


class ShownPool(AnswerBody):
    """A pool as an admin wrote it, with its queues. One that nobody has written is at revision 0."""

    name: str
    revision: Annotated[int, Meta(description="how many times it was written; a change may name it, as If-Match")]
    principals: tuple[str, ...]
    handlers: tuple[str, ...]
    lease_seconds: int
    queue_urls: Annotated[Mapping[str, str], Meta(description="by priority: from these workers receive tickets")]

    waiting: Annotated[
        list[WaitingTickets] | None, Meta(description="unless a list shows the pool, or SQS gives no answer")
    ] = None

    @classmethod
    def of(cls, pool: Pool, queue_urls: Mapping[str, str], waiting: Mapping[str, int] | None = None) -> Self:
        """The pool as it is kept, the URLs of its queues by priority, and how many tickets wait in them."""
        told = None if waiting is None else [WaitingTickets(priority, count) for priority, count in waiting.items()]
        return cls.like(pool, queue_urls=dict(queue_urls), waiting=told)


class PoolList(AnswerBody):
    """All pools of the deployment, by name."""

    items: list[ShownPool]
