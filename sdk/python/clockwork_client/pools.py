"""`cw.pools`: the pools of workers that a deployment has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from clockwork_client import requests
from clockwork_client.answers import Answer
from clockwork_client.calls import segment
from clockwork_client.pages import Resource


class WaitingTickets(Answer):
    """How many tickets of a priority wait for a worker, as SQS counts: approximately.

    `delayed`: how many more are not due yet, or were put off, as their handler was lacking or a limit of their client
    was used up.
    """

    priority: str
    tickets: int
    delayed: int


class SeenWorker(Answer):
    """A worker that the pool has heard of within a day; of the attempts that it claimed last, how late the latest was.

    `seen_at` is when it was noted last, which may be a minute ago, or an hour if nothing has changed.
    """

    worker_id: str
    seen_at: datetime
    running: int
    started_late_ms: int | None


class RunningAttempt(Answer):
    """An attempt that a worker of a pool has in hand."""

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

    `get` tells `waiting`, and `running` and `workers` to admins alone, unless what tells them gives no answer.
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
    """What the workers of a pool have in hand. `more`: there are more than are listed, or than were looked at."""

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
        """What the workers of a pool have in hand, up to `limit` (100 unless given), for admins.

        An attempt may be missing in its first minute or two.
        """
        query = {"state": "RUNNING", **requests.fields(limit=limit)}
        answer = self._call("GET", f"/v1/pools/{segment(name)}/executions", query=query)
        found = RunningAttempts(map(RunningAttempt, answer["items"]))
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
        """Write a pool that the deployment has, whole: an option that is left out gets its default."""
        body = requests.fields(principals=principals, handlers=handlers, lease_seconds=lease_seconds)
        return PoolState(self._call("PUT", f"/v1/pools/{segment(name)}", body, if_match=if_revision))
