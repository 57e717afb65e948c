"""`cw.operations`: changes of many jobs or dead executions, which sweeps of the deployment carry out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from clockwork_client import objects
from clockwork_client.answers import Answer
from clockwork_client.calls import made, segment
from clockwork_client.pages import Pages, Resource

Kind = Literal["redriveDead", "discardDead", "pauseJobs", "resumeJobs", "cancelJobs"]


class OperationFilter(Answer):
    """The items that an operation means."""

    prefix: str | None
    tag: str | None
    from_: datetime | None
    to: datetime | None
    paused_reason: str | None


class PassedItem(Answer):
    """A jobKey or an executionId that an operation did not change, and the reason."""

    item: str
    reason: str


class Operation(Answer):
    """An operation and how far it is. `state` is RUNNING, STOPPING, STOPPED, DONE or FAILED.

    The counts are those of calls that ended. Each of `uncertain_calls` may have changed up to 100 items more.
    """

    operation_id: str
    client_id: str
    kind: str
    filter: OperationFilter
    waiting: str | None
    reason: str | None
    max_per_second: float
    state: str
    made_at: datetime
    made_by: str
    stopped_by: str | None
    ended_at: datetime | None
    matched: int
    changed: int
    passed: int
    passed_items: tuple[PassedItem, ...] | None
    calls: int
    uncertain_calls: int | None
    waits_until: datetime | None
    fault: str | None

    @property
    def is_over(self) -> bool:
        """Whether it changes nothing any more."""
        return self.state not in ("RUNNING", "STOPPING")


class Operations(Resource):
    """Operations of a client. They go on whatever happens to the caller."""

    def __iter__(self) -> Iterator[Operation]:
        return self.list()

    def begin(
        self,
        kind: Kind,
        *,
        prefix: str | None = None,
        tag: str | None = None,
        from_: objects.Instant | None = None,
        to: objects.Instant | None = None,
        paused_reason: str | None = None,
        waiting: Literal["keep", "cancel"] | None = None,
        max_per_second: float | None = None,
        reason: str | None = None,
        client_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Operation:
        """Begin an operation: the next sweep, within a minute, makes its first call.

        `from_` and `to` are due instants of dead executions, `tag` is of jobs, `prefix` of the job's key. A client has
        at most four operations that are not over: a fifth is a Conflict.
        """
        which = objects.fields(prefix=prefix, tag=tag, from_=from_, to=to, paused_reason=paused_reason)
        body = objects.fields(kind=kind, filter=which, waiting=waiting, max_per_second=max_per_second, reason=reason)
        key = idempotency_key or self._machine.new_key()
        return made(Operation, self._call("POST", self._path(client_id), body, key=key), key)

    def get(self, operation_id: str, *, client_id: str | None = None) -> Operation:
        """Read an operation."""
        return Operation(self._call("GET", self._path(client_id, operation_id)))

    def list(
        self, *, client_id: str | None = None, page_size: int | None = None, next_token: str | None = None
    ) -> Pages[Operation]:
        """The operations of a client, the newest first. They are kept for 30 days after they ended."""
        return self._pages(self._path(client_id), Operation, {"limit": page_size}, next_token)

    def stop(self, operation_id: str, *, reason: str | None = None, client_id: str | None = None) -> Operation:
        """Stop an operation. If its answer is STOPPING, a call of up to 100 items is under way and may still end."""
        body = None if reason is None else {"reason": reason}
        return Operation(self._call("POST", self._path(client_id, operation_id) + "/stop", body))

    def _path(self, client_id: str | None, operation_id: str | None = None) -> str:
        path = f"/v1/clients/{self._client(client_id)}/operations"
        return path if operation_id is None else f"{path}/{segment(operation_id)}"
