"""Pool targets: handlers of a pool, whose workers pull the jobs. No transport delivers to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal

from clockwork.domain.pools.pool import HANDLER, POOL_NAME, PRIORITIES
from clockwork.targets.target import Asked, Asking, StoredTarget

Priority = Literal["normal", "high", "low"]
#: An attempt of a worker may take so long (s): seven days.
LONGEST_TIMEOUT_SECONDS = 604_800


class PoolTarget(StoredTarget, frozen=True, tag="pool"):
    """A handler of a pool that the client's allowedPools list: workers pull the job."""

    pool: Annotated[str, Asked(listed="allowed_pools", pattern=rf"^{POOL_NAME.pattern}\Z")]
    handler: Annotated[str, Asked(pattern=rf"^{HANDLER.pattern}\Z", description="one of the pool's handlers")]
    timeout_seconds: Annotated[
        float,
        Asked(
            ge=1, le=LONGEST_TIMEOUT_SECONDS, description="an attempt ends so long after its start, heartbeats or not"
        ),
    ] = 3_600
    priority: Annotated[Priority, Asked()] = "normal"

    shown_as: ClassVar[str] = "A handler of a pool, whose workers pull."
    is_reported: ClassVar[bool] = True

    def faults(self, asking: Asking) -> Iterable[tuple[str, str]]:
        """A pool that is not there, or a priority or a handler that the pool does not have.

        Only a client that may use the pool gets here: no other one learns whether there is such a pool.
        """
        priorities = asking.settings.pool_queue_urls.get(self.pool)
        if priorities is None:
            yield "pool", "is no pool of this deployment: its option `pools` names them"
            return
        if self.priority not in priorities:
            known = ", ".join(one for one in PRIORITIES if one in priorities)
            yield "priority", f"must be one of the pool's: {known}"
        pool = asking.pool_named(self.pool)
        if pool is None or self.handler not in pool.handlers:
            yield "handler", "is no handler of the pool: PUT /v1/pools/{pool} lists them"
