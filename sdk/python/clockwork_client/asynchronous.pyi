"""The types of `AsyncClockwork`. `make openapi` writes this file from the methods of `Clockwork`."""

from __future__ import annotations

import builtins
from typing import Generic, TypeVar

from botocore.credentials import Credentials
from clockwork_client import objects
from clockwork_client import overview
from clockwork_client import requests
from clockwork_client import results
from clockwork_client.answers import Target
from clockwork_client.attention import Activity
from clockwork_client.attention import Attention
from clockwork_client.attention import Causes
from clockwork_client.attention import ClientRuns
from clockwork_client.bulk import Created
from clockwork_client.calls import Machine
from clockwork_client.handled import HandledDead
from clockwork_client.handled import HandledJobs
from clockwork_client.handled import JobCounts
from clockwork_client.operations import Kind
from clockwork_client.operations import Operation
from clockwork_client.overview import AuditEntry
from clockwork_client.overview import Shard
from clockwork_client.overview import UpcomingItem
from clockwork_client.overview import WhoAmI
from clockwork_client.pools import PoolState
from clockwork_client.pools import RunningAttempts
from clockwork_client.reports import AtWork
from clockwork_client.results import Job
from clockwork_client.states import ExecutionState
from clockwork_client.states import JobState
from clockwork_client.states import WhatWaits
from clockwork_client.transport import Transport
from clockwork_client.workflows.answers import RunNodes
from clockwork_client.workflows.workflow import Step
from clockwork_client.workflows.workflow import Workflow
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Literal
from typing_extensions import Unpack

_Item = TypeVar("_Item")
ITERATED: tuple[str, ...]
PLAIN: tuple[str, ...]

class AsyncItems(Generic[_Item]):
    next_token: str | None
    def __aiter__(self) -> AsyncItems[_Item]: ...
    async def __anext__(self) -> _Item: ...
    async def page(self) -> builtins.list[_Item]: ...

class AsyncClockwork:
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
        threads: int = 32,
    ) -> None: ...
    async def close(self) -> None: ...
    async def schedule(
        self,
        target: Target | Workflow | str,
        payload: Any = None,
        *,
        client_id: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
        **options: Unpack[requests.JobOptions],
    ) -> Job: ...
    def workflow(self, *, timeout: objects.Duration | None = None) -> Workflow: ...
    async def create(
        self,
        job: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
        deadline: float | None = None,
        dry_run: bool = False,
    ) -> Job: ...
    def schedule_many(
        self,
        jobs: Iterable[Mapping[str, Any]],
        *,
        key: str | None = None,
        parallel: int = 4,
        deadline: float = 300.0,
        client_id: str | None = None,
    ) -> AsyncItems[Created]: ...
    def upcoming(
        self,
        *,
        from_: objects.Instant | None = None,
        to: objects.Instant | None = None,
        client_id: str | None = None,
        page_size: int | None = None,
        next_token: str | None = None,
    ) -> AsyncItems[UpcomingItem]: ...
    def audit(
        self,
        *,
        job_id: str | None = None,
        client_id: str | None = None,
        page_size: int | None = None,
        next_token: str | None = None,
    ) -> AsyncItems[AuditEntry]: ...
    async def whoami(self) -> WhoAmI: ...
    async def shards(self) -> builtins.list[Shard]: ...
    async def backlog(self) -> int | None: ...
    async def health(self) -> Mapping[str, Any]: ...
    async def description(self) -> Mapping[str, Any]: ...
    jobs: AsyncJobs
    executions: AsyncExecutions
    dead: AsyncDead
    runs: AsyncRuns
    operations: AsyncOperations
    clients: AsyncClients
    pools: AsyncPools
    url: str
    client_id: str | None
    async def __aenter__(self) -> AsyncClockwork: ...
    async def __aexit__(self, *error: object) -> None: ...

class AsyncJobs:
    def __aiter__(self) -> AsyncItems[results.Job]: ...
    def list(
        self,
        *,
        prefix: str | None = None,
        state: JobState | None = None,
        tag: str | None = None,
        key: str | None = None,
        contains: str | None = None,
        runs: int | None = None,
        due_from: objects.Instant | None = None,
        due_to: objects.Instant | None = None,
        client_id: str | None = None,
        page_size: int | None = None,
        next_token: str | None = None,
    ) -> AsyncItems[results.Job]: ...
    async def find(self, key: str, *, client_id: str | None = None) -> results.Job | None: ...
    async def counts(
        self,
        *,
        prefix: str | None = None,
        tag: str | None = None,
        contains: str | None = None,
        client_id: str | None = None,
    ) -> JobCounts: ...
    async def get(self, job_id: str) -> results.Job: ...
    async def replace(
        self,
        job_id: str,
        target: Target | Workflow | str,
        payload: Any = None,
        *,
        if_revision: int | None = None,
        dry_run: bool = False,
        **options: Unpack[requests.DefinitionOptions],
    ) -> results.Job: ...
    async def patch(
        self, job_id: str, changes: Mapping[str, Any], *, if_revision: int | None = None, dry_run: bool = False
    ) -> results.Job: ...
    async def cancel(
        self, job_id: str, *, if_revision: int | None = None, dry_run: bool = False
    ) -> results.Cancellation: ...
    async def pause(
        self,
        job_id: str,
        reason: str | None = None,
        *,
        waiting: WhatWaits | None = None,
        if_revision: int | None = None,
        dry_run: bool = False,
    ) -> results.Job: ...
    async def resume(
        self,
        job_id: str,
        reason: str | None = None,
        *,
        waiting: WhatWaits | None = None,
        if_revision: int | None = None,
        dry_run: bool = False,
    ) -> results.Job: ...
    async def pause_many(
        self,
        *,
        waiting: WhatWaits | None = None,
        client_id: str | None = None,
        next_token: str | None = None,
        **which: Unpack[requests.JobFilter],
    ) -> HandledJobs: ...
    async def resume_many(
        self,
        *,
        waiting: WhatWaits | None = None,
        paused_reason: str | None = None,
        client_id: str | None = None,
        next_token: str | None = None,
        **which: Unpack[requests.JobFilter],
    ) -> HandledJobs: ...
    async def cancel_many(
        self, *, client_id: str | None = None, next_token: str | None = None, **which: Unpack[requests.JobFilter]
    ) -> HandledJobs: ...
    async def run(self, job_id: str, *, idempotency_key: str | None = None) -> results.StartedRun: ...
    async def backfill(
        self,
        job_id: str,
        from_: objects.Instant,
        to: objects.Instant,
        *,
        max_per_second: float,
        idempotency_key: str | None = None,
    ) -> results.StartedBackfill: ...
    async def fires(
        self, job_id: str, *, from_: objects.Instant | None = None, count: int | None = None
    ) -> results.JobFires: ...
    async def preview(
        self,
        *,
        count: int | None = None,
        schedule: Mapping[str, Any] | None = None,
        **options: Unpack[requests.ScheduleOptions],
    ) -> results.Preview: ...

class AsyncExecutions:
    def list(
        self, job_id: str, *, page_size: int | None = None, next_token: str | None = None
    ) -> AsyncItems[results.Execution]: ...
    async def get(self, execution_id: str) -> results.Execution: ...
    async def cancel(self, execution_id: str) -> results.Execution: ...
    async def redrive(
        self, execution_id: str, *, as_it_was: bool | None = None, from_: Iterable[str] | None = None
    ) -> results.Execution: ...
    async def complete(self, execution_id: str, token: str, result: Any = None) -> results.Execution: ...
    async def fail(
        self,
        execution_id: str,
        token: str,
        error: str,
        *,
        retryable: bool | None = None,
        retry_after_seconds: objects.Duration | None = None,
    ) -> results.Execution: ...
    async def cancelled(self, execution_id: str, token: str) -> results.Execution: ...
    async def heartbeat(
        self, execution_id: str, token: str, *, progress: float | None = None, message: str | None = None
    ) -> AtWork: ...

class AsyncDead:
    def __aiter__(self) -> AsyncItems[results.Execution]: ...
    def list(
        self,
        *,
        prefix: str | None = None,
        from_: objects.Instant | None = None,
        to: objects.Instant | None = None,
        client_id: str | None = None,
        page_size: int | None = None,
        next_token: str | None = None,
    ) -> AsyncItems[results.Execution]: ...
    async def redrive(
        self, *, client_id: str | None = None, next_token: str | None = None, **which: Unpack[requests.DeadFilter]
    ) -> HandledDead: ...
    async def discard(
        self, *, client_id: str | None = None, next_token: str | None = None, **which: Unpack[requests.DeadFilter]
    ) -> HandledDead: ...

class AsyncRuns:
    async def get(self, execution_id: str) -> results.Execution: ...
    async def nodes(self, execution_id: str) -> RunNodes: ...
    async def cancel(self, execution_id: str) -> results.Execution: ...
    async def redrive(
        self, execution_id: str, *, from_: str | Step | Iterable[str | Step] | None = None
    ) -> results.Execution: ...
    async def mermaid(self, execution_id: str) -> str: ...
    def watch(self, execution_id: str, *, every: float = 2.0) -> AsyncItems[RunNodes]: ...

class AsyncOperations:
    def __aiter__(self) -> AsyncItems[Operation]: ...
    async def begin(
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
    ) -> Operation: ...
    async def get(self, operation_id: str, *, client_id: str | None = None) -> Operation: ...
    def list(
        self, *, client_id: str | None = None, page_size: int | None = None, next_token: str | None = None
    ) -> AsyncItems[Operation]: ...
    async def stop(
        self, operation_id: str, *, reason: str | None = None, client_id: str | None = None
    ) -> Operation: ...

class AsyncClients:
    async def get(self, client_id: str | None = None) -> results.Client: ...
    def __aiter__(self) -> AsyncItems[results.Client]: ...
    def list(self, *, page_size: int | None = None, next_token: str | None = None) -> AsyncItems[results.Client]: ...
    async def usage(self, client_id: str | None = None) -> overview.Usage: ...
    async def attention(
        self,
        *,
        kinds: Sequence[Literal["dead", "retrying"]] = ("dead", "retrying"),
        prefix: str | None = None,
        from_: objects.Instant | None = None,
        to: objects.Instant | None = None,
        client_id: str | None = None,
        page_size: int | None = None,
        next_token: str | None = None,
    ) -> Attention: ...
    async def causes(
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
    ) -> Causes: ...
    async def runs(
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
    ) -> ClientRuns: ...
    async def activity(
        self,
        *,
        from_: objects.Instant | None = None,
        to: objects.Instant | None = None,
        step: int | None = None,
        client_id: str | None = None,
    ) -> Activity: ...
    async def put(
        self, client_id: str | None = None, *, if_revision: int | None = None, **options: Unpack[requests.ClientOptions]
    ) -> results.Client: ...
    async def pause(
        self, client_id: str | None = None, *, reason: str | None = None, if_revision: int | None = None
    ) -> results.Client: ...
    async def resume(
        self, client_id: str | None = None, *, reason: str | None = None, if_revision: int | None = None
    ) -> results.Client: ...
    async def delete(self, client_id: str | None = None, *, if_revision: int | None = None) -> results.Client: ...
    async def release_parked(
        self, client_id: str | None = None, *, max_per_second: float | None = None
    ) -> results.Unparking: ...
    async def discard_parked(self, client_id: str | None = None) -> results.Discarding: ...

class AsyncPools:
    def __aiter__(self) -> AsyncItems[PoolState]: ...
    async def list(self) -> builtins.list[PoolState]: ...
    async def get(self, name: str) -> PoolState: ...
    async def running(self, name: str, *, limit: int | None = None) -> RunningAttempts: ...
    async def put(
        self,
        name: str,
        *,
        principals: Sequence[str] | None = None,
        handlers: Sequence[str] | None = None,
        lease_seconds: int | None = None,
        if_revision: int | None = None,
    ) -> PoolState: ...
