"""The operations that write and read pools."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus

from clockwork.domain.pools.pool import Pool, Tickets
from clockwork.edge.http.body import SINGLE_BYTES, read_body
from clockwork.edge.http.request import Request
from clockwork.edge.http.validation import validate
from clockwork.edge.operations.base import Answer, Operations
from clockwork.edge.requests.pools import PoolBody
from clockwork.edge.responses.pools import PoolList, RunningAttempt, RunningList, ShownPool
from clockwork.flows.outages import tolerated
from clockwork.flows.pools.presence import Hands, in_progress
from clockwork.flows.requests.pools import change_pool, get_pool, list_pools, pool_for, require_queues

log = logging.getLogger(__name__)


class PoolApi(Operations):
    """The operations on the pools of the deployment."""

    def list_pools(self, _: Request) -> Answer:
        """GET /v1/pools, for admins."""
        return HTTPStatus.OK, PoolList([self._shown(pool) for pool in list_pools(self.world)])

    def put_pool(self, request: Request) -> Answer:
        """PUT /v1/pools/{pool}, for admins."""
        name = request.path["pool"]
        require_queues(self.world, name)
        body = validate(PoolBody, read_body(request.event, SINGLE_BYTES), self._checks(request))
        with self._noting(request, "putPool") as note:
            pool = change_pool(self.world, name, request.revision(), body.to_pool, note)
        return HTTPStatus.OK, self._shown(pool)

    def get_pool(self, request: Request) -> Answer:
        """GET /v1/pools/{pool}, for admins and the pool's workers.

        The running attempts take up to a thousand reads, and name the workers: only admins get them.
        """
        pool, waiting, hands = pool_for(self.world, request.caller, request.path["pool"]), None, None
        # A pool is looked at above all when something is wrong: a queue that gives no answer hides nothing.
        with tolerated(self.world, log, "tickets are not counted: %s", {"action": "tickets_not_counted"}):
            waiting = self.world.pool_queues.waiting(pool.name)
        if request.caller.is_admin:
            with tolerated(self.world, log, "workers are not told: %s", {"action": "workers_not_told"}):
                hands = in_progress(self.world, pool)
        return HTTPStatus.OK, self._shown(pool, waiting, hands)

    def list_running(self, request: Request) -> Answer:
        """GET /v1/pools/{pool}/executions, for admins."""
        limit = request.limit()
        hands = in_progress(self.world, get_pool(self.world, request.path["pool"]))
        running = [RunningAttempt.of(one) for one in hands.running[:limit]]
        return HTTPStatus.OK, RunningList(running, hands.more or len(hands.running) > limit)

    def _shown(self, pool: Pool, waiting: Mapping[str, Tickets] | None = None, hands: Hands | None = None) -> ShownPool:
        return ShownPool.of(pool, self.world.settings.pool_queue_urls[pool.name], waiting, hands)
