"""The operations on dead executions: list, redrive and discard them; and the cancel of any execution."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any, get_args

from pydantic import Field, ValidationInfo, field_validator

from clockwork.domain import ids
from clockwork.domain.clients import DELETED, Client
from clockwork.domain.errors import NotDead
from clockwork.domain.executions import Execution as Stored
from clockwork.domain.lifecycle.ownership import is_of_client_since
from clockwork.domain.lifecycle.redrives import is_redrivable, names_of, nodes_again
from clockwork.domain.requests.trail import Note
from clockwork.domain.storage.attention import Kind
from clockwork.domain.workflows.definition import LONGEST_NAME, MOST_NODES
from clockwork.edge.http.models import EdgeModel
from clockwork.edge.http.pages import PageTokens, page
from clockwork.edge.http.request import Request
from clockwork.edge.operations.base import Answer, Operations
from clockwork.edge.requests.changes import EmptyBody, InstantText, beginning_of_key
from clockwork.edge.requests.schedules import instant_of
from clockwork.edge.responses.attention import AttentionItem, AttentionPage, DeadPage, HandledDead, groups_of
from clockwork.edge.responses.executions import CancelledExecution, Execution
from clockwork.flows import access
from clockwork.flows.activity.budget import Budget
from clockwork.flows.requests import cancel, read, redrive
from clockwork.flows.requests.redrive import DeadFilter, Handled
from clockwork.flows.world import World

MOST_HANDLED = 100


class DeadFilterBody(EdgeModel):
    """POST /v1/clients/{clientId}/dead/redrive and discard: which dead executions, and how many are looked at."""

    prefix: str | None = Field(None, description="of the jobKey; anonymous jobs have none")
    from_: InstantText | None = Field(None, alias="from", description="due at this instant or later")
    to: InstantText | None = Field(None, description="due at this instant or earlier")
    limit: int = Field(MOST_HANDLED, ge=1, le=MOST_HANDLED, description="executions looked at by this call")
    next_token: str | None = Field(None, description="as the call before answered it")

    @field_validator("from_", "to")
    @classmethod
    def _is_instant(cls, at: str | None) -> str | None:
        instant_of(at)
        return at

    @field_validator("prefix")
    @classmethod
    def _begins_a_key(cls, prefix: str | None, info: ValidationInfo) -> str | None:
        return beginning_of_key(prefix, info)

    def to_filter(self, client: Client) -> DeadFilter:
        """The filter as the flow takes it."""
        return DeadFilter(self.prefix, instant_of(self.from_), instant_of(self.to), client.since_at)


class RedriveBody(EdgeModel):
    """POST /v1/executions/{executionId}/redrive."""

    as_it_was: bool = Field(
        False, description="of a named job: as the record has it, and not by the definition that the job has now"
    )
    from_: list[Annotated[str, Field(max_length=LONGEST_NAME)]] = Field(
        [],
        alias="from",
        max_length=MOST_NODES,
        description="of a run: these nodes start again as well, and what follows",
    )


def _kinds(request: Request) -> list[Kind]:
    """The kinds that a query asks for, the dead first."""
    known = get_args(Kind)
    asked = request.query.get("kind", ",".join(known)).split(",")
    return [one for one in known if one in asked]


class DeadApi(Operations):
    """The operations on dead executions, and the cancel of any execution."""

    def list_dead(self, request: Request) -> Answer:
        """GET /v1/clients/{clientId}/dead: dead executions, those that were due last first."""
        client = access.client_for(self.world, request.caller, request.path["clientId"])
        limit = request.limit()
        tokens = PageTokens(self.world, "listDead", client.client_id, client.since_at)
        before = tokens.position_of(request.query.get("nextToken"))
        from_at, to_at = request.instants("from", "to")
        wanted = DeadFilter(request.key("prefix"), from_at, to_at, client.since_at)
        self._looking(request, client.client_id)
        found = redrive.list_dead(self.world, client.client_id, wanted, limit, before)
        shown = ((one.attention_key, Execution.of(one)) for one in found.executions)
        items, goes_on = page(shown, found.next_before)
        return HTTPStatus.OK, DeadPage(items, found.read, tokens.token_of(goes_on))

    def list_attention(self, request: Request) -> Answer:
        """GET /v1/clients/{clientId}/attention: the dead, and then those that have failed and are tried again."""
        client = access.client_for(self.world, request.caller, request.path["clientId"])
        limit, kinds = request.limit(), _kinds(request)
        tokens = PageTokens(self.world, "listAttention", client.client_id, client.since_at, ",".join(kinds))
        kind, _, before = (tokens.position_of(request.query.get("nextToken")) or f"{kinds[0]}|").partition("|")
        from_at, to_at = request.instants("from", "to")
        wanted = DeadFilter(request.key("prefix"), from_at, to_at, client.since_at)
        self._looking(request, client.client_id)
        shown: list[tuple[str, AttentionItem]] = []
        goes_on: str | None = None
        looked_at, budget = 0, Budget(self.world)
        for number, one in enumerate(one for one in kinds if one >= kind):
            if number and (len(shown) >= limit or not budget.note_read()):
                goes_on = f"{one}|"
                break
            read = redrive.list_dead if one == "dead" else redrive.list_retrying
            behind = (before or None) if number == 0 else None
            found = read(self.world, client.client_id, wanted, limit - len(shown), behind, budget)
            looked_at += found.read
            shown += [(f"{one}|{each.attention_key}", AttentionItem.of(each, one)) for each in found.executions]
            if found.next_before is not None:
                goes_on = f"{one}|{found.next_before}"
                break
        items, goes_on = page(shown, goes_on)
        return HTTPStatus.OK, AttentionPage(items, groups_of(items), looked_at, tokens.token_of(goes_on))

    def redrive_dead(self, request: Request) -> Answer:
        """POST /v1/clients/{clientId}/dead/redrive."""

        def handle(world: World, client_id: str, *which: Any, note: Note) -> Handled:
            def admit(count: int, nodes: int = 0) -> None:
                self._admitting(client_id)(count, nodes)
                if count:
                    note(client_id)

            return redrive.redrive_dead(world, client_id, *which, admit=admit)

        return self._handle(request, "redriveDead", handle)

    def discard_dead(self, request: Request) -> Answer:
        """POST /v1/clients/{clientId}/dead/discard."""
        return self._handle(request, "discardDead", redrive.discard_dead)

    def redrive_execution(self, request: Request) -> Answer:
        """POST /v1/executions/{executionId}/redrive: answers the execution, which waits for its attempt."""
        caller = access.require_known(self.world, request.caller)
        self._changing_at(request, caller, ids.job_of(request.path["executionId"]))
        execution = read.get_execution(self.world, caller, request.path["executionId"])
        body = self._optional(request, RedriveBody)
        with self._noting(request, "redriveExecution", body, execution_id=execution.execution_id) as note:
            if is_redrivable(execution):
                self._require_own(execution)
                self._admitting(execution.client_id)(1, nodes_again(execution))
                note(execution.client_id)
            waiting = redrive.redrive(self.world, execution, as_it_was=body.as_it_was, again=tuple(body.from_))
        return HTTPStatus.OK, Execution.of(waiting)

    def cancel_execution(self, request: Request) -> Answer:
        """POST /v1/executions/{executionId}/cancel: answers whether it came in time, and the execution."""
        caller = access.require_known(self.world, request.caller)
        self._optional(request, EmptyBody)
        execution_id = request.path["executionId"]
        self._changing_at(request, caller, ids.job_of(execution_id))
        with self._noting(request, "cancelExecution", execution_id=execution_id) as note:
            answer, execution = cancel.cancel_execution(self.world, caller, execution_id, note)
        listed = [Execution.of(one) for one in answer.executions] if names_of(execution) else None
        return HTTPStatus.OK, CancelledExecution.of(execution, result=answer.verdict, executions=listed)

    def _require_own(self, execution: Stored) -> None:
        """Raise NotDead if the execution is of a client that had the id before this one."""
        client = self.world.clients.get(execution.client_id)
        if client is None:
            return
        if client.deleting_at is not None or not is_of_client_since(client.since_at, execution):
            raise NotDead(DELETED)

    def _handle(self, request: Request, action: str, handle: Callable[..., Handled]) -> Answer:
        client = access.client_for(self.world, request.caller, request.path["clientId"])
        body = self._optional(request, DeadFilterBody)
        tokens = PageTokens(self.world, action, client.client_id, client.since_at)
        before = tokens.position_of(body.next_token, "/nextToken")
        self._changing(request, client.client_id)
        with self._noting(request, action, body) as note:
            handled = handle(self.world, client.client_id, body.to_filter(client), body.limit, before, note=note)
        return HTTPStatus.OK, HandledDead(handled.seen, handled.changed, tokens.token_of(handled.next_before))
