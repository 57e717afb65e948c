"""The operations of the API, one method for each operation of `routes.ROUTES`; some are in base classes.

Each checks whether the caller may act for the client, validates the request, calls the flow and makes the answer.
"""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path

from clockwork.domain import ids
from clockwork.domain.clients import CLIENT_ID
from clockwork.domain.lifecycle.cancels import Verdict
from clockwork.edge.http.answer import PlainText
from clockwork.edge.http.body import SINGLE_BYTES, read_body
from clockwork.edge.http.pages import PageTokens, page
from clockwork.edge.http.request import Request
from clockwork.edge.http.validation import validate
from clockwork.edge.operations.base import Answer
from clockwork.edge.operations.bulk import BulkApi
from clockwork.edge.operations.clients import ClientApi
from clockwork.edge.operations.creates import CreateApi
from clockwork.edge.operations.dead import DeadApi
from clockwork.edge.operations.job_lists import JobListApi
from clockwork.edge.operations.named_jobs import NamedApi
from clockwork.edge.operations.original import OriginalApi, OriginalScheduleBody, schedule
from clockwork.edge.operations.overview import OverviewApi
from clockwork.edge.operations.pools import PoolApi
from clockwork.edge.operations.reports import ReportApi
from clockwork.edge.operations.workers import WorkerApi
from clockwork.edge.requests.clients import ClientBody
from clockwork.edge.responses.clients import ShownClient
from clockwork.edge.responses.executions import Cancellation, Execution, ExecutionPage, Waiting
from clockwork.edge.responses.fires import REAL, Foreseen
from clockwork.edge.responses.jobs import AnonymousJob
from clockwork.edge.responses.runs import NodeOfRun, RunCounts, RunNode, RunNodes
from clockwork.flows import access
from clockwork.flows.requests import cancel, read
from clockwork.flows.requests.clients import change_client
from clockwork.flows.requests.holding import what_holds
from clockwork.flows.workflows.views import nodes_of_run, place_of_node, view_of_run


class Api(
    CreateApi,
    NamedApi,
    JobListApi,
    BulkApi,
    ClientApi,
    DeadApi,
    OriginalApi,
    OverviewApi,
    PoolApi,
    ReportApi,
    WorkerApi,
):
    """All operations of one Lambda environment."""

    def post_schedule(self, request: Request) -> Answer:
        """POST /schedule of the original Clockwork."""
        value = read_body(request.event, SINGLE_BYTES)
        client = access.client_for(self.world, request.caller, request.named_client(value))
        checks = self._checks(request, client)
        body = validate(OriginalScheduleBody, value, checks)
        self._changing(request, client.client_id)
        self.intake.admit(self.world, client, 1)
        written = schedule(self.world, client, body, checks, self.partitions)
        self.count({"Accepted": int(written.created)})
        return HTTPStatus.OK, PlainText(body.ordering_key)

    def get_job(self, request: Request) -> Answer:
        """GET /v1/jobs/{jobId}."""
        caller = access.require_known(self.world, request.caller)
        job_id = request.path["jobId"]
        self._looking_at(request, caller, job_id)
        if ids.is_named(job_id):
            return self._show_named(caller, job_id)
        view = read.view_job(self.world, caller, job_id)
        return HTTPStatus.OK, AnonymousJob.of(view, self._released_until(view.job.job_ref.partition_id))

    def cancel_job(self, request: Request) -> Answer:
        """DELETE /v1/jobs/{jobId}."""
        caller = access.require_known(self.world, request.caller)
        job_id = request.path["jobId"]
        self._changing_at(request, caller, job_id)
        if ids.is_named(job_id):
            return self._cancel_named(request, caller)
        cancelled = Cancellation.of(job_id, cancel.cancel_job(self.world, caller, job_id))
        # The one due instant of an anonymous job either stays or goes.
        is_over = cancelled.result == Verdict.CANCELLED
        foreseen = Foreseen(dry_run=True, timing_changes=is_over, next_fires=[]) if self.is_dry else REAL
        return HTTPStatus.OK, Cancellation.like(foreseen, cancelled)

    def list_executions(self, request: Request) -> Answer:
        """GET /v1/jobs/{jobId}/executions, newest first."""
        caller = access.require_known(self.world, request.caller)
        job_id = request.path["jobId"]
        tokens = PageTokens(self.world, "listExecutions", job_id)
        limit, before = request.limit(), tokens.position_of(request.query.get("nextToken"))
        self._looking_at(request, caller, job_id)
        found = read.list_executions(self.world, caller, job_id, limit, before)
        shown = ((one.execution_id, Execution.of(one)) for one in found.executions)
        items, goes_on = page(shown, found.next_before)
        return HTTPStatus.OK, ExecutionPage(items, tokens.token_of(goes_on))

    def get_execution(self, request: Request) -> Answer:
        """GET /v1/executions/{executionId}."""
        caller = access.require_known(self.world, request.caller)
        self._looking_at(request, caller, ids.job_of(request.path["executionId"]))
        execution = read.get_execution(self.world, caller, request.path["executionId"])
        holding = what_holds(self.world, execution)
        run, node = view_of_run(self.world, execution), place_of_node(self.world, execution)
        more = {"run": run and RunCounts.like(run), "node": node and NodeOfRun.like(node)}
        return HTTPStatus.OK, Execution.whole(execution, waiting=holding and Waiting.of(holding), **more)

    def list_nodes(self, request: Request) -> Answer:
        """GET /v1/executions/{executionId}/nodes: the nodes of a run."""
        caller = access.require_known(self.world, request.caller)
        self._looking_at(request, caller, ids.job_of(request.path["executionId"]))
        nodes = nodes_of_run(self.world, read.get_execution(self.world, caller, request.path["executionId"]))
        return HTTPStatus.OK, RunNodes(nodes.generation, [RunNode.of(one) for one in nodes.items])

    def put_client(self, request: Request) -> Answer:
        """PUT /v1/clients/{clientId}, for admins."""
        client_id = request.path["clientId"]
        checks = self._checks(request)
        if not CLIENT_ID.fullmatch(client_id):
            checks.report("", "the clientId in the path must be 1-64 of a-z, 0-9 and -, starting with a letter")
        body = validate(ClientBody, read_body(request.event, SINGLE_BYTES), checks)
        self._require_secrets(body.signing_secrets)
        with self._noting(request, "putClient") as note:
            client = change_client(self.world, client_id, request.revision(), body.to_client, note, repairs=True)
        return HTTPStatus.OK, ShownClient.of(client)

    def get_client(self, request: Request) -> Answer:
        """GET /v1/clients/{clientId}, for admins and the client's own principals."""
        return HTTPStatus.OK, ShownClient.of(access.client_for(self.world, request.caller, request.path["clientId"]))

    def get_openapi(self, _: Request) -> Answer:
        """GET /v1/openapi.json: the description that `python -m clockwork.edge.description.openapi` has written."""
        return HTTPStatus.OK, (Path(__file__).parents[1] / "openapi.json").read_text(encoding="utf-8")
