"""The contract of routes about all jobs of a client, beside those of `contract.OPERATIONS`."""

from __future__ import annotations

from clockwork.edge.description.operation import Operation
from clockwork.edge.requests.changes import ReasonBody
from clockwork.edge.requests.operations import OperationBody
from clockwork.edge.responses import attention, bulk, client_runs, overview

LOOKS = {
    "count_jobs": Operation(
        "Count a client's named jobs", bulk.JobCounts, parameters=("prefix", "contains", "tag"), capped=True
    ),
    "list_dead": Operation(
        "List a client's dead executions, those that were due last first",
        attention.DeadPage,
        parameters=("prefix", "dueFrom", "dueTo", "limit", "nextToken"),
    ),
    "list_attention": Operation(
        "List a client's executions that are dead, or that have failed and are tried again, with their causes",
        attention.AttentionPage,
        parameters=("kind", "prefix", "dueFrom", "dueTo", "limit", "nextToken"),
    ),
    "list_client_runs": Operation(
        "List the runs of a client's named jobs within a time, or what has ended of all its jobs, the latest due first",
        client_runs.ClientRuns,
        parameters=("jobs", "dueFrom", "dueTo", "stateOfRun", "prefix", "tag", "limit", "nextToken"),
    ),
    "get_activity": Operation(
        "See how many executions of a client started and ended in each step of a time, and how late they started",
        overview.Activity,
        parameters=("activityFrom", "activityTo", "step"),
    ),
    "begin_operation": Operation(
        "Change many jobs or dead executions by filter: sweeps do it, at a bounded rate, until it is done or stopped",
        bulk.Operation,
        status=202,
        body=OperationBody,
        examples=(
            {"kind": "redriveDead", "filter": {"prefix": "daily-"}, "maxPerSecond": 50, "reason": "mended"},
            {"kind": "pauseJobs", "filter": {"tag": "team=billing"}, "waiting": "cancel"},
        ),
        parameters=("Idempotency-Key",),
        conflicts=True,
    ),
    "list_operations": Operation(
        "List a client's operations, the newest first", bulk.OperationPage, parameters=("limit", "nextToken")
    ),
    "get_operation": Operation("See how far an operation is", bulk.Operation),
    "stop_operation": Operation(
        "Stop an operation: nothing more is changed behind the call that is under way",
        bulk.Operation,
        body=ReasonBody,
        examples=({"reason": "wrong filter"},),
    ),
}
