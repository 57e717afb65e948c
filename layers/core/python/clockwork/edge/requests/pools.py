"""The body of a request to write a pool."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clockwork.domain.pools.pool import HANDLER, LEASE_SECONDS, LEAST_LEASE_SECONDS, MOST_LEASE_SECONDS, Pool
from clockwork.edge.http.fields import kept
from clockwork.edge.http.models import EdgeModel
from clockwork.edge.requests.clients import MOST_PRINCIPALS, Principal

Handler = Annotated[str, Field(pattern=f"^{HANDLER.pattern}$")]


class PoolBody(EdgeModel):
    """PUT /v1/pools/{pool}: replaces the pool whole."""

    principals: list[Principal] = Field(
        [], max_length=MOST_PRINCIPALS, description="ARNs of the IAM users and roles of its workers"
    )
    handlers: list[Handler] = Field([], max_length=200, description="what the targets of jobs may name")
    lease_seconds: int = Field(
        LEASE_SECONDS,
        ge=LEAST_LEASE_SECONDS,
        le=MOST_LEASE_SECONDS,
        description="how long a claim, and each heartbeat, holds",
    )

    def to_pool(self, stored: Pool) -> Pool:
        """The pool as it is kept."""
        return kept(Pool, self, stored)
