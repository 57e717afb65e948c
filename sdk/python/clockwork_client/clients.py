"""`cw.clients`: the API's routes about clients, one method each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from clockwork_client import objects, overview, requests, results
from clockwork_client.attention import Activity, Attention, Causes, ClientRuns, causes_of
from clockwork_client.pages import Pages, Resource
from clockwork_client.states import ExecutionState

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Clients(Resource):
    """Clients. All but `get` and `usage` is for admins. `if_revision` works as for a job."""

    def get(self, client_id: str | None = None) -> results.Client:
        """Read a client."""
        return results.Client(self._call("GET", self._path(client_id)))

    def __iter__(self) -> Iterator[results.Client]:
        return self.list()

    def list(self, *, page_size: int | None = None, next_token: str | None = None) -> Pages[results.Client]:
        """All clients, in no particular order. Those that the API's version cannot read are left out."""
        return self._pages("/v1/clients", results.Client, {"limit": page_size}, next_token)

    def usage(self, client_id: str | None = None) -> overview.Usage:
        """A client's waiting work, and the rest of its caps."""
        return overview.Usage(self._call("GET", self._path(client_id, "/usage")))

    def attention(
        self,
        *,
        kinds: Sequence[Literal["dead", "retrying"]] = ("dead", "retrying"),
        prefix: str | None = None,
        from_: objects.Instant | None = None,
        to: objects.Instant | None = None,
        client_id: str | None = None,
        page_size: int | None = None,
        next_token: str | None = None,
    ) -> Attention:
        """One page of a client's executions that are dead, or have failed and are tried again, with their causes.

        `prefix` is of the job's key. While the answer has a `next_token`, another page follows.
        """
        query = {"kind": ",".join(kinds), "prefix": prefix, "limit": page_size, "nextToken": next_token}
        query |= objects.fields(from_=from_, to=to)
        return Attention(self._call("GET", self._path(client_id, "/attention"), query=query))

    def causes(
        self,
        *,
        kinds: Sequence[Literal["dead", "retrying"]] = ("dead", "retrying"),
        prefix: str | None = None,
        from_: objects.Instant | None = None,
        to: objects.Instant | None = None,
        client_id: str | None = None,
        pages: int = 10,
        next_token: str | None = None,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> Causes:
        """The causes of what is dead or tried again, over so many pages of `attention`, of 1,000 executions at most.

        It ends early once `goes_on` says no. While the answer has a `next_token`, other executions follow.
        """
        found: list[Attention] = []
        while len(found) < pages and (not found or (next_token and goes_on())):
            found.append(
                self.attention(
                    kinds=kinds,
                    prefix=prefix,
                    from_=from_,
                    to=to,
                    client_id=client_id,
                    page_size=1_000,
                    next_token=next_token,
                )
            )
            next_token = found[-1].next_token
        return causes_of(found)

    def runs(
        self,
        *,
        from_: objects.Instant | None = None,
        to: objects.Instant | None = None,
        state: ExecutionState | None = None,
        prefix: str | None = None,
        tag: str | None = None,
        jobs: Literal["named", "all"] | None = None,
        client_id: str | None = None,
        page_size: int | None = None,
        next_token: str | None = None,
    ) -> ClientRuns:
        """One page of the runs of a client's named jobs that were due within a time: the last 24 hours unless given.

        A page looks at 400 jobs at most, in the order of their keys. While it has a `next_token`, other jobs follow.
        `jobs="all"`: what has ended of all jobs, those without a key as well, if the client has the option
        `runs_index`.
        """
        query = {**objects.fields(from_=from_, to=to), "state": state, "prefix": prefix, "tag": tag}
        query |= {"jobs": jobs, "limit": page_size, "nextToken": next_token}
        return ClientRuns(self._call("GET", self._path(client_id, "/runs"), query=query))

    def activity(
        self,
        *,
        from_: objects.Instant | None = None,
        to: objects.Instant | None = None,
        step: int | None = None,
        client_id: str | None = None,
    ) -> Activity:
        """How many executions of a client started and ended in the last hour, or in another time of 24 hours at most.

        `step`: seconds, in whole minutes; 60 unless given. Environments note their counts about once a minute.
        """
        query = {**objects.fields(from_=from_, to=to), "step": step}
        return Activity(self._call("GET", self._path(client_id, "/activity"), query=query))

    def put(
        self,
        client_id: str | None = None,
        *,
        if_revision: int | None = None,
        **options: Unpack[requests.ClientOptions],
    ) -> results.Client:
        """Create a client, or replace it whole: an option that is left out gets its default."""
        body = requests.client_body(options)
        return results.Client(self._call("PUT", self._path(client_id), body, if_match=if_revision))

    def pause(
        self, client_id: str | None = None, *, reason: str | None = None, if_revision: int | None = None
    ) -> results.Client:
        """Park the occurrences that come due for a client."""
        path = self._path(client_id, "/pause")
        return results.Client(self._call("POST", path, _reason(reason), if_match=if_revision))

    def resume(
        self, client_id: str | None = None, *, reason: str | None = None, if_revision: int | None = None
    ) -> results.Client:
        """End a pause: parked executions are unparked on a ramp."""
        path = self._path(client_id, "/resume")
        return results.Client(self._call("POST", path, _reason(reason), if_match=if_revision))

    def delete(self, client_id: str | None = None, *, if_revision: int | None = None) -> results.Client:
        """Begin to delete a client: its jobs start no more.

        Sweeps end the waiting work; then the client is NotFound.
        """
        return results.Client(self._call("DELETE", self._path(client_id), if_match=if_revision))

    def release_parked(self, client_id: str | None = None, *, max_per_second: float | None = None) -> results.Unparking:
        """Unpark a client's parked occurrences, 10 a second unless said otherwise."""
        body = objects.fields(max_per_second=max_per_second)
        return results.Unparking(self._call("POST", self._path(client_id, "/parked/release"), body))

    def discard_parked(self, client_id: str | None = None) -> results.Discarding:
        """End a client's parked occurrences undelivered."""
        return results.Discarding(self._call("POST", self._path(client_id, "/parked/discard")))

    def _path(self, client_id: str | None, rest: str = "") -> str:
        return f"/v1/clients/{self._client(client_id)}{rest}"


def _reason(reason: str | None) -> dict[str, str] | None:
    return None if reason is None else {"reason": reason}
