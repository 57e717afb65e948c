"""What the routes of executions that are dead, or are not wanted any more, do."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from pydantic import Field, ValidationInfo, field_validator

from clockwork.domain import ids, instants
from clockwork.domain.errors import InvalidRequest, Problem
from clockwork.edge.http.body import SINGLE_BYTES, read_body
from clockwork.edge.http.checks import Checks, EdgeModel, checks_of, validate
from clockwork.edge.http.pages import page
from clockwork.edge.http.request import Request
from clockwork.edge.requests.schedules import INSTANT, EmptyBody
from clockwork.edge.responses.executions import CancelledExecution, Execution, ExecutionPage, HandledDead
from clockwork.flows import access
from clockwork.flows.requests import cancel, read, redrive
from clockwork.flows.requests.redrive import DeadFilter, Handled
from clockwork.flows.world import World

Answer = tuple[HTTPStatus, Any]
MOST_HANDLED = 100
MOST_LISTED = 1_000
LISTED = 100


class DeadFilterBody(EdgeModel):
    """POST /v1/clients/{clientId}/dead/redrive and discard: which dead executions, and how many are looked at."""

    prefix: str | None = Field(None, description="of the jobKey; anonymous jobs have none")
    from_: str | None = Field(None, alias="from", json_schema_extra=INSTANT, description="due at this instant or later")
    to: str | None = Field(None, json_schema_extra=INSTANT, description="due at this instant or earlier")
    limit: int = Field(MOST_HANDLED, ge=1, le=MOST_HANDLED, description="executions looked at by this call")
    next_token: str | None = Field(None, description="as the call before answered it")

    @field_validator("from_", "to")
    @classmethod
    def _is_instant(cls, at: str | None) -> str | None:
        if at is not None:
            instants.from_text(at)
        return at

    @field_validator("prefix")
    @classmethod
    def _begins_a_key(cls, prefix: str | None, info: ValidationInfo) -> str | None:
        if prefix is not None and not ids.is_job_key(prefix):
            checks_of(info).report("/prefix", "must be the beginning of a jobKey")
        return prefix

    def to_filter(self) -> DeadFilter:
        """The filter as the flow takes it."""
        from_at = None if self.from_ is None else instants.from_text(self.from_)
        return DeadFilter(self.prefix, from_at, None if self.to is None else instants.from_text(self.to))


class DeadApi:
    """The operations on executions by hand of one Lambda environment."""

    world: World

    def list_dead(self, request: Request) -> Answer:
        """GET /v1/clients/{clientId}/dead: those that were due last first."""
        client = access.client_for(self.world, request.caller, request.path["clientId"])
        limit = request.number("limit", LISTED, MOST_LISTED)
        before = _position(request.query.get("nextToken"))
        found = redrive.list_dead(self.world, client.client_id, DeadFilter(request.prefix()), limit, before)
        shown = ((_token(one.attention_key), Execution.of(one)) for one in found.executions)
        return HTTPStatus.OK, ExecutionPage(*page(shown, found.next_before and _token(found.next_before)))

    def redrive_dead(self, request: Request) -> Answer:
        """POST /v1/clients/{clientId}/dead/redrive."""
        return self._handle(request, redrive.redrive_dead)

    def discard_dead(self, request: Request) -> Answer:
        """POST /v1/clients/{clientId}/dead/discard."""
        return self._handle(request, redrive.discard_dead)

    def redrive_execution(self, request: Request) -> Answer:
        """POST /v1/executions/{executionId}/redrive: the execution as it waits."""
        caller = access.require_known(self.world, request.caller)
        execution = read.get_execution(self.world, caller, request.path["executionId"])
        validate(EmptyBody, _optional(request), self._dead_checks(request))
        return HTTPStatus.OK, Execution.of(redrive.redrive(self.world, execution))

    def cancel_execution(self, request: Request) -> Answer:
        """POST /v1/executions/{executionId}/cancel: whether that came in time, and the execution as it stands."""
        caller = access.require_known(self.world, request.caller)
        validate(EmptyBody, _optional(request), self._dead_checks(request))
        answer, execution = cancel.cancel_execution(self.world, caller, request.path["executionId"])
        return HTTPStatus.OK, CancelledExecution.of(execution, result=answer.verdict)

    def _handle(self, request: Request, handle: Callable[..., Handled]) -> Answer:
        client = access.client_for(self.world, request.caller, request.path["clientId"])
        body = validate(DeadFilterBody, _optional(request), self._dead_checks(request))
        before = _position(body.next_token, "/nextToken")
        handled = handle(self.world, client.client_id, body.to_filter(), body.limit, before)
        next_token = handled.next_before and _token(handled.next_before)
        return HTTPStatus.OK, HandledDead(handled.seen, handled.changed, next_token)

    def _dead_checks(self, request: Request) -> Checks:
        return Checks(self.world.clock.now(), self.world.settings, None, request.faults())


def _optional(request: Request) -> Any:
    return read_body(request.event, SINGLE_BYTES) if request.event.get("body") else {}


def _token(attention_key: str) -> str:
    return ids.encode_part(attention_key.encode())


def _position(token: str | None, pointer: str = "") -> str | None:
    """The position behind which a list goes on. Raises InvalidRequest for a token that no list has given."""
    if token is None:
        return None
    try:
        position = ids.decode_part(token).decode("ascii")
        due, _, execution_id = position.partition("#")
        is_ours = due == f"{ids.decode_execution(execution_id).due_at:013d}"
    except ValueError:
        is_ours = False
    if not is_ours:
        what = "is not" if pointer else "the query parameter nextToken is not"
        raise InvalidRequest([Problem(pointer, f"{what} one that this list has given")])
    return position
