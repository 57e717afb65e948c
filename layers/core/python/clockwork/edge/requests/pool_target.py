"""A handler of a pool as a request names it, and whether its client may name it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from clockwork.domain.pools.pool import HANDLER, POOL_NAME, PRIORITIES
from clockwork.domain.targets.permissions import against_pool
from clockwork.edge.http.checks import Checks
from clockwork.edge.http.forms import TargetForm

#: An attempt of a worker may take so long (s): seven days.
LONGEST_TIMEOUT_SECONDS = 604_800


class PoolTargetBody(TargetForm, tag="pool"):
    """A handler of a pool that the client's allowedPools list: workers pull the job."""

    pool: Annotated[str, Meta(pattern=rf"^{POOL_NAME.pattern}\Z")]
    handler: Annotated[str, Meta(pattern=rf"^{HANDLER.pattern}\Z", description="one of the pool's handlers")]
    timeout_seconds: Annotated[
        float,
        Meta(
            ge=1, le=LONGEST_TIMEOUT_SECONDS, description="an attempt ends so long after its start, heartbeats or not"
        ),
    ] = 3_600
    priority: Literal["normal", "high", "low"] = "normal"

    def after(self, value: dict[str, Any], checks: Checks) -> None:  # noqa: ARG002 - of all forms
        """Report a pool, a handler or a priority that is not there, or not for the client."""
        for name, fault in self._faults(checks):
            checks.report(f"/target/{name}", fault)

    def _faults(self, checks: Checks) -> list[tuple[str, str]]:
        priorities = checks.settings.pool_queue_urls.get(self.pool)
        if priorities is None:
            return [("pool", "is no pool of this deployment: its option `pools` names them")]
        if (reason := against_pool(self.pool, checks.client)) is not None:
            return [("pool", reason)]
        pool = checks.pool_named(self.pool)
        faults = []
        if self.priority not in priorities:
            known = ", ".join(one for one in PRIORITIES if one in priorities)
            faults.append(("priority", f"must be one of the pool's: {known}"))
        if pool is None or self.handler not in pool.handlers:
            faults.append(("handler", "is no handler of the pool: PUT /v1/pools/{pool} lists them"))
        return faults
