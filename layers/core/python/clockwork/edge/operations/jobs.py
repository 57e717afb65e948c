"""The operations of the API, one method for each operation of `routes.ROUTES`; some are in base classes.

Each checks whether the caller may act for the client, validates the request, calls the flow and makes the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Any

from clockwork.domain import ids
from clockwork.domain.clients import CLIENT_ID, Client
from clockwork.domain.ids import digest_of
from clockwork.domain.requests.create import CreateRequest, NewJob
from clockwork.domain.requests.packing import Outline
from clockwork.edge.http.body import BATCH_BYTES, SINGLE_BYTES, canonical, read_body
from clockwork.edge.http.checks import Checks, validate
from clockwork.edge.http.pages import page
from clockwork.edge.http.request import Request
from clockwork.edge.operations import batches
from clockwork.edge.operations.base import Answer
from clockwork.edge.operations.bulk import BulkApi
from clockwork.edge.operations.clients import ClientApi
from clockwork.edge.operations.dead import DeadApi
from clockwork.edge.operations.named_jobs import NamedApi, as_sent
from clockwork.edge.operations.original import OriginalApi, OriginalScheduleBody, PlainText, schedule
from clockwork.edge.operations.overview import OverviewApi
from clockwork.edge.operations.pools import PoolApi
from clockwork.edge.operations.reports import ReportApi
from clockwork.edge.operations.workers import WorkerApi
from clockwork.edge.requests.clients import ClientBody
from clockwork.edge.requests.jobs import CreateBatchBody, CreateJobBody, JobBody
from clockwork.edge.requests.outlines import outlines_of
from clockwork.edge.responses.clients import ShownClient
from clockwork.edge.responses.executions import Cancellation, Execution, ExecutionPage, Waiting
from clockwork.edge.responses.jobs import AnonymousJob, CreatedBatch, CreatedJob, Health
from clockwork.edge.responses.named_jobs import WrittenJob
from clockwork.flows import access
from clockwork.flows.named import write
from clockwork.flows.requests import cancel, create, read
from clockwork.flows.requests.clients import change_client
from clockwork.flows.requests.holding import what_holds
from clockwork.flows.requests.quotas import Intake
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.flows.world import World

#: With more faults of each of 500 elements an answer would not fit into the 6 MB that a Lambda may answer.
MOST_FAULTS_OF_ELEMENT = 10


@dataclass
class Api(NamedApi, BulkApi, ClientApi, DeadApi, OriginalApi, OverviewApi, PoolApi, ReportApi, WorkerApi):
    """The operations of one Lambda environment.

    `count_accepted` gets the number of jobs that a create request was promised; it counts a repeated request again.
    """

    world: World
    count_accepted: Callable[[int], None]
    intake: Intake = field(default_factory=Intake)

    @cached_property
    def partitions(self) -> Sequence[str]:
        """The plain shards that new jobs may go to. The first use registers the shards that the settings ask for."""
        return ensure_shards(self.world)

    def create_job(self, request: Request) -> Answer:
        """POST /v1/jobs."""
        value = read_body(request.event, SINGLE_BYTES)
        client = access.client_for(self.world, request.caller, request.named_client(value))
        checks = self._checks(request, client)
        body = validate(CreateJobBody, value, checks)
        self.intake.admit(self.world, client, 1)
        anonymous = [body.to_new_job(checks)] if body.job_key is None else []
        created = self._create_anonymous(client, anonymous, request, digest_of([b"job", canonical(value)]))
        if body.job_key is not None:
            return self._create_named(client, body, value, checks)
        return HTTPStatus.CREATED, CreatedJob.of(created[0], client.client_id)

    def create_batch(self, request: Request) -> Answer:
        """POST /v1/jobs/batch: accepts the good jobs and names the bad ones by index."""
        value = read_body(request.event, BATCH_BYTES)
        client = access.client_for(self.world, request.caller, request.named_client(value))
        checks = self._checks(request, client)
        body = validate(CreateBatchBody, value, checks)
        results = batches.Results(len(body.jobs))
        anonymous: list[NewJob] = []
        with_key: list[tuple[int, JobBody]] = []
        for index, element in enumerate(body.jobs):
            with results.refusing(index):
                job = validate(JobBody, element, checks, most=MOST_FAULTS_OF_ELEMENT)
                if job.job_key is None:
                    anonymous.append(job.to_new_job(checks, index))
                else:
                    with_key.append((index, job))
        self.intake.admit(self.world, client, len(anonymous) + len(with_key))
        # Anonymous jobs come first: their Idempotency-Key may refuse the request as a whole.
        digest = digest_of([b"batch", canonical(value)])
        created = self._create_anonymous(client, anonymous, request, digest, outlines_of(body.jobs))
        for new_job, accepted in zip(anonymous, created, strict=True):
            results.accept(new_job.index, HTTPStatus.CREATED, CreatedJob.of(accepted, client.client_id))
        for index, job in with_key:
            with results.refusing(index):
                results.accept(index, *self._create_named(client, job, body.jobs[index], checks))
        return HTTPStatus.OK, CreatedBatch(results.shown)

    def post_schedule(self, request: Request) -> Answer:
        """POST /schedule of the original Clockwork."""
        value = read_body(request.event, SINGLE_BYTES)
        client = access.client_for(self.world, request.caller, request.named_client(value))
        checks = self._checks(request, client)
        body = validate(OriginalScheduleBody, value, checks)
        self.intake.admit(self.world, client, 1)
        written = schedule(self.world, client, body, checks, self.partitions)
        self.count_accepted(int(written.created))
        return HTTPStatus.OK, PlainText(body.ordering_key)

    def get_job(self, request: Request) -> Answer:
        """GET /v1/jobs/{jobId}."""
        caller = access.require_known(self.world, request.caller)
        job_id = request.path["jobId"]
        if ids.is_named(job_id):
            return self._show_named(caller, job_id)
        return HTTPStatus.OK, AnonymousJob.of(read.view_job(self.world, caller, job_id))

    def cancel_job(self, request: Request) -> Answer:
        """DELETE /v1/jobs/{jobId}."""
        caller = access.require_known(self.world, request.caller)
        job_id = request.path["jobId"]
        if ids.is_named(job_id):
            return self._cancel_named(request, caller)
        return HTTPStatus.OK, Cancellation.of(job_id, cancel.cancel_job(self.world, caller, job_id))

    def list_executions(self, request: Request) -> Answer:
        """GET /v1/jobs/{jobId}/executions, newest first."""
        caller = access.require_known(self.world, request.caller)
        job_id = request.path["jobId"]
        limit, before = request.limit(), request.page_token(job_id)
        found = read.list_executions(self.world, caller, job_id, limit, before)
        shown = ((one.execution_id, Execution.of(one)) for one in found.executions)
        return HTTPStatus.OK, ExecutionPage(*page(shown, found.next_before))

    def get_execution(self, request: Request) -> Answer:
        """GET /v1/executions/{executionId}."""
        caller = access.require_known(self.world, request.caller)
        execution = read.get_execution(self.world, caller, request.path["executionId"])
        holding = what_holds(self.world, execution)
        return HTTPStatus.OK, Execution.whole(execution, waiting=holding and Waiting.of(holding))

    def put_client(self, request: Request) -> Answer:
        """PUT /v1/clients/{clientId}, for admins."""
        client_id = request.path["clientId"]
        checks = self._checks(request)
        if not CLIENT_ID.fullmatch(client_id):
            checks.report("", "the clientId in the path must be 1-64 of a-z, 0-9 and -, starting with a letter")
        body = validate(ClientBody, read_body(request.event, SINGLE_BYTES), checks)
        self._require_secrets(body.signing_secrets)
        with self._noting(request, "putClient") as note:
            client = change_client(self.world, client_id, request.revision(), body.to_client, note)
        return HTTPStatus.OK, ShownClient.of(client)

    def get_client(self, request: Request) -> Answer:
        """GET /v1/clients/{clientId}, for admins and the client's own principals."""
        return HTTPStatus.OK, ShownClient.of(access.client_for(self.world, request.caller, request.path["clientId"]))

    def get_health(self, _: Request) -> Answer:
        """GET /v1/health."""
        return HTTPStatus.OK, Health("ok")

    def get_openapi(self, _: Request) -> Answer:
        """GET /v1/openapi.json: the description that `python -m clockwork.edge.description.openapi` has written."""
        return HTTPStatus.OK, (Path(__file__).parents[1] / "openapi.json").read_text(encoding="utf-8")

    def _create_anonymous(
        self,
        client: Client,
        jobs: Sequence[NewJob],
        request: Request,
        digest: str,
        outlines: tuple[Outline, ...] = (),
    ) -> Sequence[create.CreatedJob]:
        """Create the anonymous jobs of a request. Its Idempotency-Key is claimed even if it has none of them."""
        if not jobs and request.idempotency_key is None:
            return []
        key = request.idempotency_key
        wanted = CreateRequest(client=client, jobs=tuple(jobs), outlines=outlines, idempotency_key=key, digest=digest)
        created = create.create_jobs(self.world, wanted, self.partitions)
        if created:
            self.count_accepted(len(created))
        return created

    def _create_named(self, client: Client, body: JobBody, value: dict[str, Any], checks: Checks) -> Answer:
        assert body.job_key is not None
        definition = body.to_definition(checks, client)
        wanted = write.NamedRequest(client=client, job_key=body.job_key, as_sent=as_sent(value), definition=definition)
        written = write.create_named(self.world, wanted, self.partitions)
        self.count_accepted(int(written.created))
        status = HTTPStatus.CREATED if written.created else HTTPStatus.OK
        return status, WrittenJob.of(written.job, checks.now)
