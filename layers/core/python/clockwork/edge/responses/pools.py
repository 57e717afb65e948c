"""The bodies of answers about pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from msgspec import Meta

from clockwork.domain.pools.pool import Pool
from clockwork.edge.http.answer import AnswerBody


class ShownPool(AnswerBody):
    """A pool as an admin wrote it, with its queues. One that nobody has written is at revision 0."""

    name: str
    revision: Annotated[int, Meta(description="how many times it was written; a change may name it, as If-Match")]
    principals: tuple[str, ...]
    handlers: tuple[str, ...]
    lease_seconds: int
    queue_urls: Annotated[Mapping[str, str], Meta(description="by priority: from these workers receive tickets")]

    @classmethod
    def of(cls, pool: Pool, queue_urls: Mapping[str, str]) -> Self:
        """The pool as it is kept, and the URLs of its queues by priority."""
        return cls.like(pool, queue_urls=dict(queue_urls))


class PoolList(AnswerBody):
    """All pools of the deployment, by name."""

    items: list[ShownPool]
