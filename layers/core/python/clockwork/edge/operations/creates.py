"""The operations that create jobs, which most requests ask for.

Nothing that this module imports loads pydantic: a new environment answers a create without it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

from clockwork.domain.clients import Client
from clockwork.domain.ids import digest_of
from clockwork.domain.requests.create import CreateRequest, NewJob
from clockwork.domain.requests.packing import Outline
from clockwork.domain.workflows.definition import nodes_of
from clockwork.edge.http.body import BATCH_BYTES, SINGLE_BYTES, canonical, read_body
from clockwork.edge.http.checks import Checks
from clockwork.edge.http.request import Request
from clockwork.edge.http.validation import validate
from clockwork.edge.operations import batches
from clockwork.edge.operations.base import Answer, Counts, Operations
from clockwork.edge.requests.jobs import CreateBatchBody, CreateJobBody, JobBody, as_sent
from clockwork.edge.requests.outlines import outlines_of
from clockwork.edge.requests.workflows import nodes_in
from clockwork.edge.responses.created import CreatedBatch, CreatedJob, Health, WrittenJob
from clockwork.edge.responses.fires import REAL, Foreseen, foreseen_of
from clockwork.flows import access
from clockwork.flows.named import write
from clockwork.flows.outages import tolerated
from clockwork.flows.requests import create
from clockwork.flows.requests.quotas import Intake
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: With more faults of each of 500 elements an answer would not fit into the 6 MB that a Lambda may answer.
MOST_FAULTS_OF_ELEMENT = 10


class CreateApi(Operations):
    """The operations of one Lambda environment that create jobs, and what all its operations share.

    A metric counts the jobs that a create request was promised; it counts a repeated request again.
    """

    def __init__(
        self, world: World, count: Counts, shards: Callable[[], Sequence[str]], intake: Intake, *, is_dry: bool = False
    ) -> None:
        """`shards` gives the plain shards for new jobs. Its first call registers those that the settings ask for."""
        self.world, self.count, self.shards, self.intake, self.is_dry = world, count, shards, intake, is_dry

    @property
    def partitions(self) -> Sequence[str]:
        """The plain shards that new jobs may go to."""
        return self.shards()

    def create_job(self, request: Request) -> Answer:
        """POST /v1/jobs."""
        value = read_body(request.event, SINGLE_BYTES)
        client = access.client_for(self.world, request.caller, request.named_client(value))
        checks = self._checks(request, client)
        body = validate(CreateJobBody, value, checks)
        self._changing(request, client.client_id)
        self.intake.admit(self.world, client, 1, nodes_in(body.target))
        anonymous = [body.to_new_job(checks)] if body.job_key is None else []
        created = self._create_anonymous(client, anonymous, request, digest_of([b"job", canonical(value)]))
        if body.job_key is not None:
            return self._create_named(client, body, value, checks)
        foreseen = Foreseen.once(created[0].due_at) if self.is_dry else REAL
        return HTTPStatus.CREATED, CreatedJob.of(created[0], client.client_id, foreseen)

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
            batches.require_work(checks.work, index)
        self._changing(request, client.client_id)
        nodes = sum(nodes_of(job.target) for job in anonymous) + sum(nodes_in(job.target) for _, job in with_key)
        self.intake.admit(self.world, client, len(anonymous) + len(with_key), nodes)
        # Anonymous jobs come first: their Idempotency-Key may refuse the request as a whole.
        digest = digest_of([b"batch", canonical(value)])
        created = self._create_anonymous(client, anonymous, request, digest, outlines_of(body.jobs))
        for new_job, accepted in zip(anonymous, created, strict=True):
            results.accept(new_job.index, HTTPStatus.CREATED, CreatedJob.of(accepted, client.client_id))
        for index, job in with_key:
            with results.refusing(index):
                results.accept(index, *self._create_named(client, job, body.jobs[index], checks))
        return HTTPStatus.OK, CreatedBatch(results.shown)

    def get_health(self, _: Request) -> Answer:
        """GET /v1/health. The API answers, whatever it tells of the shards."""
        with tolerated(self.world, log, "shards are not told: %s", {"action": "shards_not_told"}):
            shards, now = self.world.shards.all(), self.world.clock.now()
            return HTTPStatus.OK, Health("behind" if any(one.stands_at(now) for one in shards) else "ok")
        return HTTPStatus.OK, Health("unknown")

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
            self.count({"Accepted": len(created)})
        return created

    def _create_named(self, client: Client, body: JobBody, value: dict[str, Any], checks: Checks) -> Answer:
        assert body.job_key is not None
        definition = body.to_definition(checks, client)
        wanted = write.NamedRequest(client=client, job_key=body.job_key, as_sent=as_sent(value), definition=definition)
        written = write.create_named(self.world, wanted, self.partitions)
        self.count({"Accepted": int(written.created)})
        status = HTTPStatus.CREATED if written.created else HTTPStatus.OK
        before = None if written.created else written.job
        foreseen = foreseen_of(before, written.job, checks.now) if self.is_dry else REAL
        return status, WrittenJob.of(written.job, checks.now, foreseen)
