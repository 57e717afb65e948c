"""`cw.pools`: the pools of workers that a deployment has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clockwork_client import requests
from clockwork_client.answers import Answer
from clockwork_client.calls import segment
from clockwork_client.pages import Resource


class WaitingTickets(Answer):
    """How many tickets of a priority wait for a worker, as SQS counts: approximately."""

    priority: str
    tickets: int


class PoolState(Answer):
    """A pool as an admin wrote it, with the URLs of its queues by priority. At revision 0 nobody has written it.

    `waiting` is told by `get`, unless SQS gives no answer.
    """

    name: str
    revision: int
    principals: tuple[str, ...]
    handlers: tuple[str, ...]
    lease_seconds: int
    queue_urls: Mapping[str, str]
    waiting: tuple[WaitingTickets, ...] | None


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
