"""The contract of each operation of `routes.ROUTES`, for the API's description: its body, parameters and answer."""

from __future__ import annotations

from functools import partial

from clockwork.edge.description import examples
from clockwork.edge.description.looks import LOOKS
from clockwork.edge.description.operation import Operation
from clockwork.edge.operations.bulk import JobFilterBody, ResumeFilterBody, WaitingFilterBody
from clockwork.edge.operations.clients import UnparkBody
from clockwork.edge.operations.dead import DeadFilterBody, RedriveBody
from clockwork.edge.operations.original import OriginalCancelBody, OriginalScheduleBody
from clockwork.edge.requests.changes import BackfillBody, EmptyBody, PatchBody, PauseBody, PreviewBody, ReasonBody
from clockwork.edge.requests.clients import ClientBody
from clockwork.edge.requests.jobs import CreateBatchBody, CreateJobBody, DefinitionBody
from clockwork.edge.requests.pools import PoolBody
from clockwork.edge.requests.reports import CancelledBody, CompleteBody, FailBody, HeartbeatBody, UnsignedBody
from clockwork.edge.requests.workers import BeatsBody, CheckpointBody, ClaimsBody, OutcomesBody
from clockwork.edge.responses import bulk, clients, executions, fires, jobs, named_jobs, overview, pools, trail, workers
from clockwork.edge.responses.attention import HandledDead
from clockwork.edge.responses.created import Created, CreatedBatch, Health
from clockwork.edge.responses.runs import RunNodes

_change = partial(Operation, answer=named_jobs.ChangedJob, parameters=("If-Match", "dryRun"))
_report = partial(Operation, answer=executions.Execution, conflicts=True)
#: An operation whose body is an empty object.
_bare = partial(Operation, body=EmptyBody, examples=({},))

OPERATIONS = {
    "create_job": Operation(
        "Create a job",
        Created,
        status=201,
        also=(200,),
        body=CreateJobBody,
        examples=({"clientId": "acme", **examples.JOB}, examples.MESSAGE, {"jobKey": "daily-invoice", **examples.CRON}),
        capped=True,
        parameters=("Idempotency-Key", "dryRun"),
    ),
    "create_batch": Operation(
        "Create up to 500 jobs: the good ones are accepted, the bad ones named by their index",
        CreatedBatch,
        body=CreateBatchBody,
        examples=({"clientId": "acme", "jobs": [examples.JOB, examples.MESSAGE]},),
        capped=True,
        parameters=("Idempotency-Key",),
    ),
    "list_jobs": Operation(
        "List a client's named jobs",
        named_jobs.JobPage,
        parameters=(
            *("clientIdOf", "jobKey", "prefix", "contains", "state", "tag", "fireFrom", "fireTo", "include", "runs"),
            *("limit", "nextToken"),
        ),
    ),
    "get_job": Operation("Read a job and where it stands", jobs.Job),
    "put_job": _change(
        "Replace the definition of a named job", body=DefinitionBody, examples=(examples.CRON,), capped=True
    ),
    "patch_job": _change(
        "Change a named job by a merge patch (RFC 7396) on its definition as it was sent",
        body=PatchBody,
        examples=({"payload": {"order": 18}},),
        capped=True,
    ),
    "pause_job": _change(
        "Pause a named job: nothing starts until it is resumed",
        body=PauseBody,
        examples=({"reason": "maintenance"}, {"waiting": "cancel"}),
    ),
    "resume_job": _change(
        "Resume a named job; its catchUp decides about the pause", body=PauseBody, examples=({"reason": "done"},)
    ),
    "run_job": _bare(
        "Execute a named job now, without touching its schedule",
        named_jobs.StartedRun,
        status=202,
        parameters=("Idempotency-Key",),
        capped=True,
    ),
    "backfill_job": Operation(
        "Execute the fires of a past range again, at a bounded rate",
        named_jobs.StartedBackfill,
        status=202,
        body=BackfillBody,
        examples=({"from": "2026-05-01T00:00:00Z", "to": "2026-05-03T00:00:00Z", "maxPerSecond": 5},),
        parameters=("Idempotency-Key",),
        capped=True,
    ),
    "preview_schedule": Operation(
        "See when a schedule would fire, without saving anything",
        fires.Preview,
        body=PreviewBody,
        examples=({"schedule": {"cron": "0 3 * * *", "timezone": "Europe/Berlin"}, "count": 3},),
        capped=True,
    ),
    "cancel_job": Operation(
        "Cancel a job, and learn whether that came in time", executions.Cancellation, parameters=("If-Match", "dryRun")
    ),
    "list_executions": Operation(
        "List a job's executions, newest first", executions.ExecutionPage, parameters=("limit", "nextToken")
    ),
    "list_fires": Operation(
        "See a named job's next fires", fires.JobFires, parameters=("from", "count"), conflicts=True, capped=True
    ),
    "get_execution": Operation("Read an execution with its attempts", executions.Execution),
    "list_nodes": Operation("See where each node of a workflow's run stands", RunNodes),
    "cancel_execution": _bare(
        "Cancel an execution, and learn whether that came in time", executions.CancelledExecution
    ),
    "redrive_execution": Operation(
        "Deliver a dead execution after all, with a fresh budget of attempts",
        executions.Execution,
        body=RedriveBody,
        examples=({"asItWas": True}, {"from": ["fetch"]}),
        conflicts=True,
        capped=True,
    ),
    "complete_execution": _report(
        "Report that an attempt which ends by callback has succeeded",
        body=CompleteBody,
        examples=({"token": examples.TOKEN, "result": {"pages": 12}},),
    ),
    "fail_execution": _report(
        "Report that an attempt which ends by callback has failed",
        body=FailBody,
        examples=({"token": examples.TOKEN, "error": "out of paper", "retryAfterSeconds": 600},),
    ),
    "confirm_cancel": _report(
        "Report that an attempt which ends by callback has stopped, as a cancel asked it to",
        body=CancelledBody,
        examples=({"token": examples.TOKEN},),
    ),
    "beat_execution": _report(
        "Tell that an attempt which ends by callback is still at work",
        answer=executions.AtWork,
        body=HeartbeatBody,
        examples=({"token": examples.TOKEN, "progress": 0.4},),
    ),
    "report_by_token": Operation(
        "Report on an attempt which ends by callback, unsigned, by its token alone",
        executions.Completion,
        body=UnsignedBody,
        examples=(
            {"outcome": "complete", "result": {"pages": 12}},
            {"outcome": "fail", "error": "out of paper"},
            {"outcome": "heartbeat", "progress": 0.4},
        ),
    ),
    "pause_jobs": Operation(
        "Pause named jobs by tag or prefix of their keys: so many a call",
        bulk.HandledJobs,
        body=WaitingFilterBody,
        examples=({"tag": "team=billing", "reason": "maintenance"}, {"prefix": "nightly-", "waiting": "cancel"}),
    ),
    "resume_jobs": Operation(
        "Resume named jobs by tag or prefix of their keys: so many a call",
        bulk.HandledJobs,
        body=ResumeFilterBody,
        examples=({"tag": "team=billing", "pausedReason": "maintenance", "reason": "done"},),
        capped=True,
    ),
    "cancel_jobs": Operation(
        "Cancel named jobs by tag or prefix of their keys: so many a call",
        bulk.HandledJobs,
        body=JobFilterBody,
        examples=({"prefix": "trial-", "limit": 50},),
    ),
    "redrive_dead": Operation(
        "Deliver dead executions after all: so many at once, by jobKey and due instant",
        HandledDead,
        body=DeadFilterBody,
        examples=({"prefix": "daily-", "from": "2026-05-01T00:00:00Z"},),
        conflicts=True,
        capped=True,
    ),
    "discard_dead": Operation(
        "Put dead executions away: they stay DEAD, without payload, and leave the list",
        HandledDead,
        body=DeadFilterBody,
        examples=({"to": "2026-05-01T00:00:00Z", "limit": 50},),
    ),
    "list_upcoming": Operation(
        "See what is about to start for a client, anonymous jobs included",
        overview.UpcomingPage,
        parameters=("clientIdOf", "from", "to", "limit", "nextToken"),
        capped=True,
    ),
    "list_audit": Operation(
        "See who changed what of a client, when and why, the newest first",
        trail.AuditPage,
        parameters=("clientIdOf", "ofJob", "limit", "nextToken"),
    ),
    "who_am_i": Operation("See the caller as Clockwork sees it", overview.WhoAmI),
    "list_shards": Operation("See where each shard of the timeline stands", overview.ShardList),
    "list_clients": Operation("List all clients", overview.ClientPage, parameters=("limit", "nextToken")),
    "get_usage": Operation("See what a client has waiting, and what is left of its caps", overview.Usage),
    "put_client": Operation(
        "Create a client, or replace it whole",
        clients.ShownClient,
        body=ClientBody,
        examples=(examples.CLIENT,),
        parameters=("If-Match",),
    ),
    "get_client": Operation("Read a client", clients.ShownClient),
    "delete_client": Operation(
        "Delete a client: nothing of it starts any more, sweeps end what is left, then it is gone",
        clients.ShownClient,
        status=202,
        parameters=("If-Match",),
    ),
    "pause_client": Operation(
        "Pause a client: what comes due is parked",
        clients.ShownClient,
        body=ReasonBody,
        parameters=("If-Match",),
        examples=({"reason": "incident 7"},),
    ),
    "resume_client": Operation(
        "Resume a client: what was parked is released on a ramp",
        clients.ShownClient,
        body=ReasonBody,
        parameters=("If-Match",),
        examples=({},),
    ),
    "release_parked": Operation(
        "Release what is parked at a chosen rate, open circuits or not, from the next sweep on",
        clients.Unparking,
        status=202,
        body=UnparkBody,
        examples=({"maxPerSecond": 20},),
        conflicts=True,
    ),
    "discard_parked": _bare(
        "End undelivered all that is parked, from the next sweep on",
        clients.Discarding,
        status=202,
    ),
    "list_pools": Operation("List the pools of the deployment", pools.PoolList),
    "put_pool": Operation(
        "Say who may work for a pool, and which handlers it has",
        pools.ShownPool,
        body=PoolBody,
        examples=(examples.POOL,),
        parameters=("If-Match",),
    ),
    "get_pool": Operation(
        "Read a pool and what waits there, as an admin or one of its workers; admins see what runs, too",
        pools.ShownPool,
    ),
    "list_running": Operation(
        "List the attempts that the workers of a pool hold", pools.RunningList, parameters=("stateOfRunning", "limit")
    ),
    "claim_tickets": Operation(
        "Claim jobs whose tickets a worker has received from its pool's queue",
        workers.ClaimAnswers,
        body=ClaimsBody,
        examples=(examples.CLAIMS,),
    ),
    "beat_attempts": Operation(
        "Send heartbeats of attempts at work, up to 100 at a time",
        workers.BeatAnswers,
        body=BeatsBody,
        examples=({"heartbeats": [{"token": examples.TOKEN, "progress": 0.5}]},),
    ),
    "report_outcomes": Operation(
        "Tell how attempts ended, up to 10 at a time",
        workers.OutcomeAnswers,
        body=OutcomesBody,
        examples=({"outcomes": [{"token": examples.TOKEN, "outcome": "complete", "result": {"pages": 12}}]},),
    ),
    "keep_checkpoint": Operation(
        "Keep what the next attempt is to go on from",
        workers.OutcomeAnswer,
        body=CheckpointBody,
        examples=({"token": examples.TOKEN, "sequence": 1, "value": {"page": 40}},),
    ),
    "post_schedule": Operation(
        "Schedule a job as the original Clockwork does; the answer is its orderingKey",
        None,
        body=OriginalScheduleBody,
        examples=(examples.ORIGINAL, {**examples.ORIGINAL, "delivery": {"url": "https://example.com/hook"}}),
        capped=True,
    ),
    "delete_schedule": Operation(
        "Cancel a job as the original Clockwork does; the answer is its scheduleKey",
        None,
        body=OriginalCancelBody,
        examples=({"clientId": "acme", "scheduleKey": "order1-create"},),
    ),
    "get_health": Operation("Ask whether the API answers", Health),
    "get_openapi": Operation("This description", None),
    **LOOKS,
}
