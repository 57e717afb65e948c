"""The contract of operations that look over all jobs of a client, beside those of `contract.OPERATIONS`."""

from __future__ import annotations

from clockwork.edge.description.operation import Operation
from clockwork.edge.responses import attention, bulk, client_runs

LOOKS = {
    "count_jobs": Operation(
        "Count a client's named jobs", bulk.JobCounts, parameters=("prefix", "contains", "tag"), capped=True
    ),
    "list_attention": Operation(
        "List a client's executions that are dead, or that have failed and are tried again, with their causes",
        attention.AttentionPage,
        parameters=("kind", "prefix", "limit", "nextToken"),
    ),
    "list_client_runs": Operation(
        "List the runs of a client's named jobs within a time, the latest due first",
        client_runs.ClientRuns,
        parameters=("dueFrom", "dueTo", "stateOfRun", "prefix", "tag", "limit", "nextToken"),
    ),
}
