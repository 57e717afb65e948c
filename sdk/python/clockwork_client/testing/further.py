"""The rest of a deployment: fleets, pollers that do not run, new rules of time zones, audits, requests that race."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import timedelta, tzinfo
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from clockwork.domain.cron.zones import INSTALLED, Rules, ruled_by
from clockwork.edge.app import Handler, make_api
from clockwork.flows.sweep.audit import AuditReport, audit_slice
from clockwork.flows.world import World
from clockwork.memory.world import MemoryClockwork
from clockwork_client.client import Clockwork
from clockwork_client.errors import NotFound
from clockwork_client.testing.gateway import principal
from clockwork_client.testing.lambdas import Lambdas
from clockwork_client.testing.sides import Lock, Turns, in_turns
from clockwork_client.testing.workers import InlineWorkers, Takes
from clockwork_client.worker.pool import Pool


class Further(ABC):
    """The part of a VirtualClockwork that is about the deployment itself."""

    #: An admin's Clockwork.
    admin: Clockwork
    _core: MemoryClockwork
    _lambdas: Lambdas
    _workers: InlineWorkers

    def __init__(self) -> None:
        self._turns = Turns()
        self._lock = Lock(self._turns)
        #: The rules of time zones that hold.
        self._rules: Rules = INSTALLED

    def miss_polls(self, **duration: float) -> None:
        """From now on no poller runs for so long: `miss_polls(minutes=10)`, with the units of a timedelta.

        Jobs that the pollers have released by now, up to four minutes ahead, are delivered in time. Other jobs are
        late, or skipped, as `catchUp` says. After three days rows are lost, as in a deployment.
        """
        self._lambdas.blind_until = self._core.clock.at + round(timedelta(**duration) / timedelta(milliseconds=1))

    def rules(self, zones: Mapping[str, tzinfo]) -> None:
        """From now on these zones have other rules: `rules({"Europe/Berlin": timezone(timedelta(hours=2))})`.

        All other zones keep those that are installed; an empty mapping goes back to them. In a deployment new rules
        come with a new version of its layers.
        """
        replaced = dict(zones)
        self._rules = Rules(lambda name: replaced.get(name) or ZoneInfo(name))

    def audit(self) -> AuditReport:
        """Check the next fires of all named jobs now, as a deployment does within each day.

        The answer has how many were `audited` and `repaired`.
        """
        with self._lock, ruled_by(self._rules):
            return audit_slice(self._core.world, 0, 1, self._core.clock.at + 3_600_000)

    def side_by_side(self, *calls: Callable[[], Any]) -> list[Any]:
        """Make requests at once, which take turns at each of their reads and writes.

        Returns what each call returned, in their order, or the exception that it raised. The calls are functions
        without arguments: `side_by_side(lambda: cw.jobs.cancel(one), lambda: cw.jobs.pause(one))`.
        """
        return self._turns.run(calls)

    def work(self, pool: Pool, *, workers: int = 1, concurrency: int = 1, takes: Takes = 0) -> None:
        """From now on the handlers of a pool do its jobs as they come due: so many workers with so many slots each.

        `pools` of this Clockwork has to name it, and a client needs it among its `allowed_pools`. `takes`: for how long
        an attempt holds its slot, in seconds or as a timedelta, or a function of the payload. Its handler runs at the
        end of that time, or when a cancel is asked for; it may call `client(...)`. While all priorities have work, 8
        jobs of `high` start to 4 of `normal` and 1 of `low`. Raises TypeError for another thing than a Pool, and
        LookupError for a pool that `pools` does not name.
        """
        if not isinstance(pool, Pool):
            raise TypeError(f"work takes the Pool that has the handlers, as Pool('etl'), not {pool!r}")
        worker = principal(f"worker-{pool.name}")
        try:
            self.admin.pools.put(pool.name, principals=[worker], handlers=sorted(pool.handlers))
        except NotFound:
            advice = f"VirtualClockwork(pools=[{pool.name!r}]) makes one"
            raise LookupError(f"this Clockwork has no pool {pool.name!r}: {advice}") from None
        self._workers.add(pool, self._client(worker, None), workers, concurrency, takes)

    def drain(self, pool: Pool) -> int:
        """End the workers of a pool as SIGTERM does: they hand back what runs, and take no more until `work` again.

        Returns how many attempts were handed back.
        """
        with self._lock:
            return self._workers.drain(pool.name)

    @abstractmethod
    def _client(self, caller: str, client_id: str | None) -> Clockwork:
        """The Clockwork of a principal."""

    def _serve(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """Answer a request as the api Lambda does."""
        with ruled_by(self._rules):
            handle = self._in_turns if self._turns.is_one else self._api
            return handle(event, context)

    @cached_property
    def _api(self) -> Handler:
        return self._handler_of(self._core.world)

    @cached_property
    def _in_turns(self) -> Handler:
        return self._handler_of(in_turns(self._core.world, self._turns))

    def _handler_of(self, world: World) -> Handler:
        return make_api(world, lambda _: None)
