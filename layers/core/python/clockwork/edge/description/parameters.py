"""The parameters of operations outside their bodies, as each is described."""

from __future__ import annotations

from typing import Any

from clockwork.domain.clients import CLIENT_ID
from clockwork.domain.executions import State
from clockwork.domain.named_jobs import JobState
from clockwork.domain.pools.pool import POOL_NAME
from clockwork.edge.description.contract import OPERATIONS
from clockwork.edge.http.request import LISTED, MOST_LISTED
from clockwork.edge.operations.job_lists import FIRES, LONGEST_SOUGHT, MOST_FIRES, MOST_RUNS, RUNS


def _text(place: str, description: str, **bounds: Any) -> dict[str, Any]:
    return {"in": place, "schema": {"type": "string", **bounds}, "description": description}


_INSTANT = {"type": "string", "format": "date-time"}
#: By the name in `contract.OPERATIONS` and in the routes. `name` is the name in the request, if it differs.
PARAMETERS: dict[str, dict[str, Any]] = {
    "clientId": {"in": "path", "schema": {"type": "string", "pattern": f"^{CLIENT_ID.pattern}$"}},
    "jobId": _text("path", "Opaque; as a create answered it."),
    "operationId": _text("path", "Opaque; as the request that began it was answered."),
    "executionId": _text("path", "Opaque; as a list answered it."),
    "token": _text("path", "Of the attempt, as its delivery brought it."),
    "pool": {"in": "path", "schema": {"type": "string", "pattern": f"^{POOL_NAME.pattern}$"}},
    "limit": {"in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": LISTED}},
    "clientIdOf": {"name": "clientId", **_text("query", "Whose jobs; the caller's only client unless given.")},
    "contains": _text("query", "Of the jobKey or the target, in any case.", maxLength=LONGEST_SOUGHT),
    "include": {**_text("query", "With the newest runs of each; a page has 50 at most."), "schema": {"enum": ["runs"]}},
    "runs": {"in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": MOST_RUNS, "default": RUNS}},
    "jobs": {
        **_text("query", "`all`: what has ended of all jobs, if the client has the option `runsIndex`."),
        "schema": {"enum": ["named", "all"], "default": "named"},
    },
    "kind": _text("query", "`dead`, `retrying`, or both with a comma between them, as without it."),
    "dryRun": {
        "in": "query",
        "schema": {"enum": ["true", "false"], "default": "false"},
        "description": "true: the answer as it would be; nothing is written.",
    },
    "count": {"in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": MOST_FIRES, "default": FIRES}},
    "prefix": _text("query", "Of the jobKey."),
    "state": {"in": "query", "schema": {"enum": list(JobState)}},
    "stateOfRunning": {"name": "state", "in": "query", "schema": {"enum": ["RUNNING"], "default": "RUNNING"}},
    "stateOfRun": {"name": "state", "in": "query", "schema": {"enum": list(State)}},
    "tag": _text("query", "`name`, or `name=value`."),
    "dueFrom": {"name": "from", **_text("query", "Due at this instant or later."), "schema": _INSTANT},
    "dueTo": {"name": "to", **_text("query", "Due at this instant or earlier."), "schema": _INSTANT},
    "activityFrom": {
        "name": "from",
        **_text("query", "An hour before `to` unless given, 24 hours before it at the most."),
        "schema": _INSTANT,
    },
    "activityTo": {"name": "to", **_text("query", "Now unless given."), "schema": _INSTANT},
    "step": {
        "in": "query",
        "schema": {"type": "integer", "minimum": 60, "maximum": 3_600, "multipleOf": 60, "default": 60},
        "description": "Seconds of a step; the steps count from 1970.",
    },
    "ofJob": {"name": "jobId", **_text("query", "Of this job alone; a page may then be short.")},
    "fireFrom": {"name": "dueFrom", **_text("query", "Its next fire is due then or later."), "schema": _INSTANT},
    "fireTo": {"name": "dueTo", **_text("query", "Its next fire is due then or earlier."), "schema": _INSTANT},
    "If-Match": _text("header", "The revision that is to be changed; another is a conflict."),
    "from": {**_text("query", "RFC 3339 with a zone; now unless given."), "schema": _INSTANT},
    "to": {**_text("query", "RFC 3339 with a zone; 24 hours behind `from` unless given."), "schema": _INSTANT},
    "jobKey": _text("query", "The one job of this key, if it is there."),
    "nextToken": _text("query", "As the page before answered it."),
    "Idempotency-Key": _text(
        "header",
        "The same request under the same key within 24 hours is answered with the same jobs.",
        pattern="^[\\x21-\\x7e]{1,255}$",
    ),
}


def query_of(operation: str) -> dict[str, str]:
    """The names that a query of an operation may have, each with its name in PARAMETERS."""
    names = OPERATIONS[operation].parameters
    return {PARAMETERS[name].get("name", name): name for name in names if PARAMETERS[name]["in"] == "query"}
