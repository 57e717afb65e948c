"""A handler of a pool as a request names it, and whether its client may name it."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from clockwork.domain.pools.pool import HANDLER, POOL_NAME
from clockwork.domain.targets.permissions import against_pool
from clockwork.edge.http.checks import Checks, EdgeModel, checks_of

#: An attempt of a worker may take so long (s): seven days.
LONGEST_TIMEOUT_SECONDS = 604_800


class PoolTargetBody(EdgeModel):
    """A handler of a pool that the client's allowedPools list: workers pull the job."""

    type: Literal["pool"]
    pool: str = Field(pattern=f"^{POOL_NAME.pattern}$")
    handler: str = Field(pattern=f"^{HANDLER.pattern}$", description="one of the pool's handlers")
    timeout_seconds: float = Field(
        3_600,
        ge=1,
        le=LONGEST_TIMEOUT_SECONDS,
        description="an attempt ends so long after its start, heartbeats or not",
    )
    priority: Literal["normal", "high", "low"] = "normal"

    @model_validator(mode="after")
    def _is_there(self, info: ValidationInfo) -> Self:
        checks = checks_of(info)
        for name, fault in self._faults(checks):
            checks.report(f"/target/{name}", fault)
        return self

    def _faults(self, checks: Checks) -> list[tuple[str, str]]:
        priorities = checks.settings.pool_queue_urls.get(self.pool)
        if priorities is None:
            return [("pool", "is no pool of this deployment: its option `pools` names them")]
        if (reason := against_pool(self.pool, checks.client)) is not None:
            return [("pool", reason)]
        pool = checks.pool_named(self.pool)
        faults = []
        if self.priority not in priorities:
            faults.append(("priority", f"must be one of the pool's: {', '.join(priorities)}"))
        if pool is None or self.handler not in pool.handlers:
            faults.append(("handler", "is no handler of the pool: PUT /v1/pools/{pool} lists them"))
        return faults
