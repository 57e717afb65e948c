"""The client of one Clockwork API."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from clockwork_client import objects, requests, resources
from clockwork_client.answers import Target
from clockwork_client.calls import Caller, Machine, Unanswered, made
from clockwork_client.clients import Clients
from clockwork_client.errors import NotConfigured, UnexpectedAnswer
from clockwork_client.operations import Operations
from clockwork_client.overview import AuditEntry, Shard, UpcomingItem, WhoAmI
from clockwork_client.pages import Pages, dry, items_of
from clockwork_client.pools import Pools
from clockwork_client.results import Job
from clockwork_client.signing import Signer
from clockwork_client.transport import Transport, Urllib3, is_here
from clockwork_client.version import __version__
from clockwork_client.workflows.runs import Runs
from clockwork_client.workflows.workflow import Workflow

if TYPE_CHECKING:
    from botocore.credentials import Credentials
    from typing_extensions import Unpack

    from clockwork_client.bulk import Bulk

#: A server on this machine listens, or is not there (s).
_CONNECTING_HERE = 0.3
_AGENT = f"clockwork-client/{__version__} python/{sys.version_info[0]}.{sys.version_info[1]}"


class Clockwork:
    """Schedules jobs and reads them; safe to share between threads.

    `url` is the API's (`CLOCKWORK_URL`), `client_id` the client that calls are for (`CLOCKWORK_CLIENT_ID`; a principal
    that acts for just one client may leave it out). Credentials and region are found as the AWS CLI finds them.
    `timeout` (s) is for one try of a call, `deadline` (s) for all its tries together. `connecting` (s) is the part of
    the deadline in which a first connection has to come about: 0.3 s on this machine, elsewhere all of it.
    """

    def __init__(
        self,
        url: str | None = None,
        client_id: str | None = None,
        *,
        region: str | None = None,
        profile: str | None = None,
        credentials: Credentials | None = None,
        timeout: float = 10.0,
        deadline: float = 30.0,
        connecting: float | None = None,
        transport: Transport | None = None,
        machine: Machine | None = None,
    ) -> None:
        self.url = _checked(url or os.environ.get("CLOCKWORK_URL"))
        self.client_id = client_id or os.environ.get("CLOCKWORK_CLIENT_ID") or None
        self._own_transport = Urllib3(self.url) if transport is None else None
        self.signer = Signer(self.url, region, profile, credentials)
        sending = transport or self._own_transport
        assert sending is not None
        if connecting is None:
            connecting = _CONNECTING_HERE if is_here(self.url) else deadline
        self._caller = Caller(
            self.url, self.signer, sending, timeout, deadline, connecting, _AGENT, machine or Machine()
        )
        self.jobs = resources.Jobs(self._caller, self.client_id)
        self.executions = resources.Executions(self._caller, self.client_id)
        self.runs = Runs(self._caller, self.client_id)
        self.dead = resources.Dead(self._caller, self.client_id)
        self.operations = Operations(self._caller, self.client_id)
        self.clients = Clients(self._caller, self.client_id)
        self.pools = Pools(self._caller, self.client_id)

    def __repr__(self) -> str:
        return f"Clockwork({self.url!r}, client_id={self.client_id!r})"

    @property
    def unanswered(self) -> Unanswered | None:
        """The last call that changes something, if it was sent and interrupted. Its result is unknown."""
        return self._caller.unanswered

    def __enter__(self) -> Clockwork:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        if self._own_transport is not None:
            self._own_transport.close()

    def schedule(
        self,
        target: Target | Workflow | str,
        payload: Any = None,
        *,
        client_id: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
        **options: Unpack[requests.JobOptions],
    ) -> Job:
        """Create a job: `cw.schedule("https://example.com/hook", {"order": 17}, in_="5m")`.

        A repeat after a lost answer creates no second job, for 24 hours. This method makes the key for that, unless it
        is given. A caller that may die and start again gives its own key, for example the number of the order. With
        `dry_run` nothing is created: the answer has the next fires.
        """
        body = requests.job(target, payload, **options)
        if client_id:
            body["clientId"] = client_id
        return self.create(body, idempotency_key=idempotency_key, dry_run=dry_run)

    def workflow(self, *, timeout: objects.Duration | None = None) -> Workflow:
        """A workflow without steps yet, as a target: `wf = cw.workflow(timeout=3600)`, then `wf.step(...)`."""
        return Workflow(timeout=timeout)

    def create(
        self,
        job: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
        deadline: float | None = None,
        dry_run: bool = False,
    ) -> Job:
        """Create a job that `job(...)` made, perhaps long ago and elsewhere. Its own `clientId`, if any, counts."""
        body = dict(job)
        if self.client_id is not None:
            body.setdefault("clientId", self.client_id)
        key = idempotency_key or self._caller.machine.new_key()
        found = self._caller.call("POST", "/v1/jobs", body, query=dry(dry_run), key=key, deadline=deadline)
        return made(Job, found, key)

    def schedule_many(
        self,
        jobs: Iterable[Mapping[str, Any]],
        *,
        key: str | None = None,
        parallel: int = 4,
        deadline: float = 300.0,
        client_id: str | None = None,
    ) -> Bulk:
        """Create many jobs, each made by `job(...)`. Iterate over the results, in the order of the jobs.

        `key` makes a second run safe: the same jobs under the same key within 24 hours are created once. `parallel`
        requests of up to 500 jobs run at once, and each has the `deadline` (s). Raises `Stopped` when a whole batch
        fails.
        """
        from clockwork_client.bulk import Bulk

        found = key or self._caller.machine.new_key()
        return Bulk(self._caller, jobs, client_id or self.client_id, found, parallel, deadline)

    def upcoming(
        self,
        *,
        from_: objects.Instant | None = None,
        to: objects.Instant | None = None,
        client_id: str | None = None,
        page_size: int | None = None,
        next_token: str | None = None,
    ) -> Pages[UpcomingItem]:
        """The jobs of a client that start within 24 hours, or between `from_` and `to`; anonymous ones included."""
        client = client_id or self.client_id
        query = {"clientId": client, **objects.fields(from_=from_, to=to), "limit": page_size}
        return Pages(
            lambda after: self._caller.call("GET", "/v1/upcoming", query={**query, "nextToken": after}),
            UpcomingItem,
            next_token,
        )

    def audit(
        self,
        *,
        job_id: str | None = None,
        client_id: str | None = None,
        page_size: int | None = None,
        next_token: str | None = None,
    ) -> Pages[AuditEntry]:
        """The changes of a client, or of one job, with author, time and reason. The newest first, without creates."""
        query = {"clientId": client_id or self.client_id, "jobId": job_id, "limit": page_size}
        return Pages(
            lambda after: self._caller.call("GET", "/v1/audit", query={**query, "nextToken": after}),
            AuditEntry,
            next_token,
        )

    def whoami(self) -> WhoAmI:
        """The caller as Clockwork sees it, and the clients that it may act for."""
        return WhoAmI(self._caller.call("GET", "/v1/whoami"))

    def shards(self) -> list[Shard]:
        """The state of each shard of the timeline (admins)."""
        return items_of(self._caller.call("GET", "/v1/shards"), Shard)

    def backlog(self) -> int | None:
        """The approximate number of messages in the fullest release queue (admins). None if the last count failed."""
        answer = self._caller.call("GET", "/v1/shards")
        if not isinstance(answer, dict):
            raise UnexpectedAnswer("the shards are not a JSON object")
        found = answer.get("waiting")
        return found if isinstance(found, int) else None

    def health(self) -> Mapping[str, Any]:
        """`{"status": "ok"}` if the API answers."""
        return dict(self._caller.call("GET", "/v1/health"))

    def description(self) -> Mapping[str, Any]:
        """The API's own description (OpenAPI 3.1)."""
        return dict(self._caller.call("GET", "/v1/openapi.json"))


def _checked(url: str | None) -> str:
    if not url:
        raise NotConfigured("no URL of the API: set CLOCKWORK_URL, or Clockwork(url=...)")
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise NotConfigured(f"{url!r} is no URL of an API: https://... is")
    if parts.query or parts.fragment or parts.username is not None:
        raise NotConfigured("the URL of the API must have no user, query or fragment")
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}"
