"""The base class of the operations: it holds the world, and reads and validates a request's optional body."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from clockwork.domain import ids
from clockwork.domain.clients import Client
from clockwork.domain.requests.quotas import Admit
from clockwork.domain.requests.reading import Kind
from clockwork.domain.requests.trail import Entry, Note
from clockwork.domain.timeline import Shard, released_until
from clockwork.edge.http.answer import to_json
from clockwork.edge.http.body import SINGLE_BYTES, read_body
from clockwork.edge.http.checks import Checks
from clockwork.edge.http.request import Request
from clockwork.edge.http.validation import Body, validate
from clockwork.flows.access import Caller, payers
from clockwork.flows.outages import tolerated
from clockwork.flows.requests.quotas import Intake
from clockwork.flows.trail import noting
from clockwork.flows.world import World

if TYPE_CHECKING:
    from pydantic import BaseModel

log = logging.getLogger(__name__)

Answer = tuple[HTTPStatus, Any]
#: For how long (ms) an environment goes by what it last read of the shards.
RELEASED_KEPT_MS = 5_000
#: Takes the metrics of a request, by name.
Counts = Callable[[Mapping[str, int | Sequence[int]]], None]


class Operations:
    """The operations of one Lambda environment."""

    world: World
    #: Writes metrics.
    count: Counts
    #: Counts what this environment has let in from clients with caps.
    intake: Intake
    #: Whether nothing is written: a request asks what it would do.
    is_dry: bool
    #: The shards as this environment read them last, and when that was (ms); and when it asked last.
    _shards: tuple[Sequence[Shard], int] = ((), 0)
    _shards_asked_at = 0

    def _released_until(self, partition_id: str | None = None) -> tuple[int | None, int]:
        """Until when (ms) a shard has released all, as of an instant (ms); without its name whichever is the last.

        If the shards give no answer, what they said before counts, and they are left alone as long as after one.
        """
        now = self.world.clock.now()
        if not 0 <= now - self._shards_asked_at < RELEASED_KEPT_MS:
            self._shards_asked_at = now
            with tolerated(self.world, log, "the shards are not read: %s", {"action": "released_not_read"}):
                self._shards = self.world.shards.all(), now
        shards, at = self._shards
        return released_until(one for one in shards if partition_id in (None, one.partition_id)), at

    def _admitting(self, client_id: str) -> Admit:
        """The function that lets in so many occurrences of a client, and counts them."""
        client = self.world.clients.get(client_id)
        # What has no row has no caps.
        return partial(self.intake.admit, self.world, client or Client(client_id=client_id))

    def _looking(self, request: Request, *client_ids: str) -> None:
        """Let in a request that only reads, at the pace of one of these clients; an admin's at no pace.

        The client pays for it, whoever asks: the reads are of its partition. Raises TooManyRequests.
        """
        self.intake.reading.admit(self.world, Kind.LOOK, client_ids, refuses=not request.caller.is_admin)

    def _looking_at(self, request: Request, caller: Caller, job_id: str | None) -> None:
        """The same of a request about one job."""
        self._looking(request, *payers(caller, job_id))

    def _changing(self, request: Request, *client_ids: str) -> None:
        """Let in a request that may change something: it pays for what it reads and does not write."""
        self.intake.reading.admit(self.world, Kind.CHANGE, client_ids, refuses=not request.caller.is_admin)

    def _changing_at(self, request: Request, caller: Caller, job_id: str | None) -> None:
        """The same of a request about one job."""
        self._changing(request, *payers(caller, job_id))

    def _until(self) -> int:
        """Until when (ms) a call reads on: half of its time is left to the job in progress, and to the answer."""
        return self.world.clock.now() + self.world.settings.api_timeout_seconds * 500

    def _checks(self, request: Request, client: Client | None = None) -> Checks:
        """The Checks of a request: faults outside its body are reported with those inside."""
        now, settings = self.world.clock.now(), self.world.settings
        return Checks(
            now,
            settings,
            client,
            request.faults(),
            pool_named=self.world.pools.get,
            traceparent=request.traceparent if settings.tracing else "",
        )

    def _noting(
        self,
        request: Request,
        action: str,
        body: BaseModel | None = None,
        *,
        execution_id: str | None = None,
        job_key: str | None = None,
        changes: Sequence[str] = (),
    ) -> AbstractContextManager[Note]:
        """The Note of a control call, which the block is to call before it changes something.

        `action`: the operation's name in the API's description. The entry has the job of the path, or of the execution;
        the reason that the body gives, and its other fields that are not left out. `changes` are pointers that are
        known before.
        """
        job_id = request.path.get("jobId") if execution_id is None else ids.job_of(execution_id)
        fields = {} if body is None else body.model_dump(by_alias=True, exclude_unset=True, exclude_none=True)
        fields.pop("nextToken", None)
        entry = Entry(
            client_id="",
            at=self.world.clock.now(),
            entry_id=self.world.random.token(),
            principal=request.caller.principal,
            action=action,
            expires_at=0,
            job_id=job_id,
            job_key=job_key or ids.key_of(job_id),
            execution_id=execution_id,
            reason=fields.pop("reason", None),
            changes=tuple(changes),
            asked={name: _as_text(one) for name, one in fields.items()},
        )
        return noting(self.world, entry)

    def _optional(self, request: Request, model: type[Body]) -> Body:
        """The body of a request that may have none: it is an empty object then. Raises as `validate` does."""
        value = read_body(request.event, SINGLE_BYTES) if request.event.get("body") else {}
        return validate(model, value, self._checks(request))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value)
