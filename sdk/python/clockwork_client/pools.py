"""`cw.pools`: the pools of workers that a deployment has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from clockwork_client import objects
from clockwork_client.answers import Answer
from clockwork_client.calls import segment
from clockwork_client.pages import Resource, items_of


class WaitingTickets(Answer):
    """The number of tickets of a priority that wait for a worker. SQS counts approximately.

    `delayed`: the number of further tickets that are not due yet, or that wait for a handler or for a limit of their
    client.
    """

    priority: str
    tickets: int
    delayed: int


class SeenWorker(Answer):
    """A worker that was seen within a day, and the largest lateness among the attempts that it claimed last.

    `seen_at` is the instant of its last note: up to a minute ago, or up to an hour if nothing has changed.
    """

    worker_id: str
    seen_at: datetime
    running: int
    started_late_ms: int | None


class RunningAttempt(Answer):
    """An attempt that a worker of a pool runs."""

    execution_id: str
    job_id: str
    client_id: str
    attempt: int
    worker_id: str | None
    started_at: datetime | None
    lease_until: datetime
    deadline_at: datetime
    cancel_requested: bool
    progress: float | None
    message: str | None


class PoolState(Answer):
    """A pool as an admin wrote it, with the URLs of its queues by priority. At revision 0 nobody has written it.

    `get` gives `waiting`, and to admins also `running` and `workers`. Each is absent if its source gives no answer.
    """

    name: str
    revision: int
    principals: tuple[str, ...]
    handlers: tuple[str, ...]
    lease_seconds: int
    queue_urls: Mapping[str, str]
    waiting: tuple[WaitingTickets, ...] | None
    running: int | None
    workers: tuple[SeenWorker, ...] | None


class RunningAttempts(list[RunningAttempt]):
    """The attempts that the workers of a pool run. `more`: the list, or the search, is not complete."""

    more: bool = False


class Pools(Resource):
    """Pools. All but `get` is for admins; `get` is for a pool's workers, too."""

    def __iter__(self) -> Iterator[PoolState]:
        return iter(self.list())

    def list(self) -> list[PoolState]:
        """All pools of the deployment, by name."""
        return [*self._pages("/v1/pools", PoolState, {}, None)]

    def get(self, name: str) -> PoolState:
        """Read a pool."""
        return PoolState(self._call("GET", f"/v1/pools/{segment(name)}"))

    def running(self, name: str, *, limit: int | None = None) -> RunningAttempts:
        """The attempts that the workers of a pool run, up to `limit` (100 unless given), for admins.

        An attempt may be missing in its first minute or two.
        """
        query = {"state": "RUNNING", **objects.fields(limit=limit)}
        answer = self._call("GET", f"/v1/pools/{segment(name)}/executions", query=query)
        found = RunningAttempts(items_of(answer, RunningAttempt))
        found.more = bool(answer.get("more"))
        return found

    def put(
        self,
        name: str,
        *,
        principals: Sequence[str] | None = None,
        handlers: Sequence[str] | None = None,
        lease_seconds: int | None = None,
        if_revision: int | None = None,
    ) -> PoolState:
        """Write a whole pool that the deployment has. An option that is left out gets its default."""
        body = objects.fields(principals=principals, handlers=handlers, lease_seconds=lease_seconds)
        return PoolState(self._call("PUT", f"/v1/pools/{segment(name)}", body, if_match=if_revision))
