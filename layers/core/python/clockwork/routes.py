"""The routes of the HTTPS API, by which the api Lambda finds the operation of a request.

`operation` is the name of the method of the api Lambda that answers. Only an admin principal may call an `admin` route.
"""

from __future__ import annotations

import msgspec


class Route(msgspec.Struct, frozen=True):
    """One route: `path` has `{name}` parameters in API Gateway's notation."""

    method: str
    path: str
    operation: str
    admin: bool = False
    #: A route that the workers of pools call. If the deployment has pools, the workers Lambda answers it, with the code
    #: of the api Lambda: heartbeats and creates then do not wait for each other.
    worker: bool = False
    #: A route without IAM authorization, for callers without AWS credentials: its operation alone decides who may call.
    unsigned: bool = False
    #: A route of the original Clockwork: it answers text, and 400 to every request that it refuses for its content.
    original: bool = False

    @property
    def key(self) -> str:
        """API Gateway's route key, for example `GET /v1/jobs/{jobId}`."""
        return f"{self.method} {self.path}"


ROUTES = (
    Route("POST", "/v1/jobs", "create_job"),
    Route("GET", "/v1/jobs", "list_jobs"),
    Route("POST", "/v1/jobs/batch", "create_batch"),
    Route("GET", "/v1/jobs/{jobId}", "get_job"),
    Route("PUT", "/v1/jobs/{jobId}", "put_job"),
    Route("PATCH", "/v1/jobs/{jobId}", "patch_job"),
    Route("DELETE", "/v1/jobs/{jobId}", "cancel_job"),
    Route("POST", "/v1/jobs/{jobId}/pause", "pause_job"),
    Route("POST", "/v1/jobs/{jobId}/resume", "resume_job"),
    Route("POST", "/v1/jobs/{jobId}/run", "run_job"),
    Route("POST", "/v1/jobs/{jobId}/backfill", "backfill_job"),
    Route("GET", "/v1/jobs/{jobId}/executions", "list_executions"),
    Route("GET", "/v1/jobs/{jobId}/fires", "list_fires"),
    Route("GET", "/v1/executions/{executionId}", "get_execution"),
    Route("GET", "/v1/executions/{executionId}/nodes", "list_nodes"),
    Route("POST", "/v1/executions/{executionId}/cancel", "cancel_execution"),
    Route("POST", "/v1/executions/{executionId}/redrive", "redrive_execution"),
    Route("POST", "/v1/executions/{executionId}/complete", "complete_execution"),
    Route("POST", "/v1/executions/{executionId}/fail", "fail_execution"),
    Route("POST", "/v1/executions/{executionId}/cancelled", "confirm_cancel"),
    Route("POST", "/v1/executions/{executionId}/heartbeat", "beat_execution"),
    Route("POST", "/v1/completions/{token}", "report_by_token", unsigned=True),
    Route("POST", "/v1/schedules/preview", "preview_schedule"),
    Route("GET", "/v1/upcoming", "list_upcoming"),
    Route("GET", "/v1/audit", "list_audit"),
    Route("GET", "/v1/whoami", "who_am_i"),
    Route("GET", "/v1/shards", "list_shards", admin=True),
    Route("GET", "/v1/clients", "list_clients", admin=True),
    Route("GET", "/v1/clients/{clientId}/usage", "get_usage"),
    Route("PUT", "/v1/clients/{clientId}", "put_client", admin=True),
    Route("GET", "/v1/clients/{clientId}", "get_client"),
    Route("DELETE", "/v1/clients/{clientId}", "delete_client", admin=True),
    Route("POST", "/v1/clients/{clientId}/pause", "pause_client", admin=True),
    Route("POST", "/v1/clients/{clientId}/resume", "resume_client", admin=True),
    Route("POST", "/v1/clients/{clientId}/parked/release", "release_parked", admin=True),
    Route("POST", "/v1/clients/{clientId}/parked/discard", "discard_parked", admin=True),
    Route("GET", "/v1/clients/{clientId}/jobs/counts", "count_jobs"),
    Route("POST", "/v1/clients/{clientId}/jobs/pause", "pause_jobs"),
    Route("POST", "/v1/clients/{clientId}/jobs/resume", "resume_jobs"),
    Route("POST", "/v1/clients/{clientId}/jobs/cancel", "cancel_jobs"),
    Route("GET", "/v1/clients/{clientId}/attention", "list_attention"),
    Route("GET", "/v1/clients/{clientId}/runs", "list_client_runs"),
    Route("GET", "/v1/clients/{clientId}/activity", "get_activity"),
    Route("GET", "/v1/clients/{clientId}/dead", "list_dead"),
    Route("POST", "/v1/clients/{clientId}/dead/redrive", "redrive_dead"),
    Route("POST", "/v1/clients/{clientId}/dead/discard", "discard_dead"),
    Route("POST", "/v1/clients/{clientId}/operations", "begin_operation"),
    Route("GET", "/v1/clients/{clientId}/operations", "list_operations"),
    Route("GET", "/v1/clients/{clientId}/operations/{operationId}", "get_operation"),
    Route("POST", "/v1/clients/{clientId}/operations/{operationId}/stop", "stop_operation"),
    Route("GET", "/v1/pools", "list_pools", admin=True),
    Route("PUT", "/v1/pools/{pool}", "put_pool", admin=True),
    Route("GET", "/v1/pools/{pool}", "get_pool", worker=True),
    Route("GET", "/v1/pools/{pool}/executions", "list_running", admin=True),
    Route("POST", "/v1/pools/{pool}/claims", "claim_tickets", worker=True),
    Route("POST", "/v1/pools/{pool}/heartbeats", "beat_attempts", worker=True),
    Route("POST", "/v1/pools/{pool}/outcomes", "report_outcomes", worker=True),
    Route("POST", "/v1/pools/{pool}/checkpoints", "keep_checkpoint", worker=True),
    Route("POST", "/schedule", "post_schedule", original=True),
    Route("DELETE", "/schedule", "delete_schedule", original=True),
    Route("GET", "/v1/health", "get_health"),
    Route("GET", "/v1/openapi.json", "get_openapi"),
)
