"""An example of each route of the API, played in this order against the api Lambda in memory: one story.

To add a route, add a `Step` here, then run `make openapi`: docs/reference.md is made of the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from clockwork.domain.executions import Outcome, State
from clockwork.domain.instants import from_text
from clockwork.domain.releases import Delivery
from clockwork.routes import ROUTES, Route
from clockwork.targets.http import HttpTarget
from tests.handlers.handlers import Answer, Api
from tests.support.examples import ADMIN

BEGIN = from_text("2026-05-01T09:00:00Z")
#: The principal of the client acme: a session of this role.
BILLING = "arn:aws:iam::123456789012:role/Billing"
_SESSION = "arn:aws:sts::123456789012:assumed-role/Billing/invoices"
_HOOK = {"type": "http", "url": "https://example.com/hook"}
_DOWN = {"type": "http", "url": "https://example.com/down"}
_CLOSE = {
    "type": "workflow",
    "nodes": {
        "book": {"target": _HOOK},
        "report": {"target": _HOOK, "after": ["book"]},
        "undo": {"target": _HOOK, "after": ["book"], "when": "failed"},
    },
}
_PRINTED = {"schedule": {"delaySeconds": 0}, "target": _HOOK, "completion": {"mode": "callback"}}
_NIGHTLY = {"cron": "0 3 * * *", "timezone": "America/Los_Angeles"}
_ORIGINAL = {"clientId": "acme", "scheduleKey": "order1-create"}
#: Answers by the name under which their step keeps them.
Kept = Mapping[str, Any]


def _nothing(_: Kept) -> dict[str, str]:
    return {}


@dataclass(frozen=True)
class Step:
    """A request. `ids` fills the path by what was answered before; `kept` names the answer for later steps.

    `minutes` pass before it. A step that is not `shown` only prepares what others need. `under_token`: its body gets
    the token of the last delivery that had one. A path with a token has that one, too.
    """

    route: str
    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    ids: Callable[[Kept], Mapping[str, str]] = _nothing
    kept: str = ""
    minutes: float = 0
    shown: bool = True
    under_token: bool = False


def _acme(_: Kept) -> dict[str, str]:
    return {"clientId": "acme"}


def _batch(_: Kept) -> dict[str, str]:
    return {"pool": "batch-etl"}


def _job(name: str) -> Callable[[Kept], dict[str, str]]:
    return lambda kept: {"jobId": kept[name]["jobId"]}


def _operation(name: str) -> Callable[[Kept], dict[str, str]]:
    return lambda kept: {"clientId": "acme", "operationId": kept[name]["operationId"]}


def _run(name: str) -> Callable[[Kept], dict[str, str]]:
    """The newest execution of a list that was answered."""
    return lambda kept: {"executionId": kept[name]["items"][0]["executionId"]}


STEPS = (
    Step(
        "PUT /v1/clients/{clientId}",
        {"principals": [BILLING], "maxRatePerSecond": 50},
        ids=_acme,
    ),
    Step("GET /v1/clients/{clientId}", ids=_acme),
    Step("GET /v1/clients"),
    Step("GET /v1/whoami"),
    Step("GET /v1/health"),
    Step("GET /v1/openapi.json"),
    Step(
        "POST /v1/jobs",
        {"schedule": {"delaySeconds": 1800}, "target": _HOOK, "payload": {"order": 17}, "tags": {"team": "billing"}},
        headers={"Idempotency-Key": "reminder-of-order-17"},
        kept="reminder",
    ),
    Step("GET /v1/jobs/{jobId}", ids=_job("reminder")),
    Step(
        "POST /v1/jobs/batch",
        {
            "jobs": [
                {"schedule": {"at": "2026-05-01T12:00:00Z"}, "target": _HOOK, "payload": {"order": 18}},
                {"schedule": {"at": "noon"}, "target": _HOOK, "payload": {"order": 19}},
            ]
        },
    ),
    Step("POST /v1/schedules/preview", {"schedule": _NIGHTLY, "count": 2}),
    Step(
        "POST /v1/jobs",
        {"jobKey": "nightly-invoices", "schedule": _NIGHTLY, "target": _HOOK, "payload": {"all": True}},
        kept="nightly",
        shown=False,
    ),
    Step("GET /v1/jobs", query={"prefix": "nightly-"}),
    Step("GET /v1/clients/{clientId}/jobs/counts", ids=_acme),
    Step("GET /v1/upcoming", query={"to": "2026-05-01T12:00:00Z"}),
    Step("GET /v1/jobs/{jobId}/fires", query={"from": "2026-10-24T12:00:00Z", "count": "2"}, ids=_job("nightly")),
    Step("PATCH /v1/jobs/{jobId}", {"payload": {"all": False}}, headers={"If-Match": "1"}, ids=_job("nightly")),
    Step("PUT /v1/jobs/{jobId}", {"schedule": _NIGHTLY, "target": _HOOK, "payload": 1}, ids=_job("nightly")),
    Step("POST /v1/jobs/{jobId}/pause", {"reason": "the bank is closed"}, ids=_job("nightly")),
    Step("POST /v1/jobs/{jobId}/resume", {"reason": "it is open again"}, ids=_job("nightly")),
    Step("POST /v1/jobs/{jobId}/run", {}, ids=_job("nightly")),
    Step(
        "POST /v1/jobs/{jobId}/backfill",
        {"from": "2026-04-28T00:00:00Z", "to": "2026-04-30T00:00:00Z", "maxPerSecond": 5},
        ids=_job("nightly"),
    ),
    Step("GET /v1/jobs/{jobId}/executions", query={"limit": "1"}, ids=_job("nightly"), kept="runs", minutes=1),
    Step("GET /v1/executions/{executionId}", ids=_run("runs")),
    Step("POST /v1/jobs", _PRINTED, kept="printed", shown=False),
    Step("GET /v1/jobs/{jobId}/executions", ids=_job("printed"), kept="printing", minutes=0.1, shown=False),
    Step(
        "POST /v1/executions/{executionId}/heartbeat",
        {"progress": 0.4, "message": "page 5 of 12"},
        ids=_run("printing"),
        minutes=2,
        under_token=True,
    ),
    Step(
        "POST /v1/executions/{executionId}/complete",
        {"result": {"pages": 12}},
        ids=_run("printing"),
        minutes=1,
        under_token=True,
    ),
    Step("POST /v1/jobs", _PRINTED, kept="jammed", shown=False),
    Step("GET /v1/jobs/{jobId}/executions", ids=_job("jammed"), kept="jamming", minutes=0.1, shown=False),
    Step(
        "POST /v1/executions/{executionId}/fail",
        {"error": "out of paper", "retryAfterSeconds": 86_400},
        ids=_run("jamming"),
        under_token=True,
    ),
    Step("POST /v1/jobs", _PRINTED, kept="unwanted", shown=False),
    Step("GET /v1/jobs/{jobId}/executions", ids=_job("unwanted"), kept="stopping", minutes=0.1, shown=False),
    Step("POST /v1/executions/{executionId}/cancel", {}, ids=_run("stopping"), shown=False),
    Step("POST /v1/executions/{executionId}/cancelled", {}, ids=_run("stopping"), under_token=True),
    Step("DELETE /v1/jobs/{jobId}", ids=_job("reminder")),
    Step(
        "POST /v1/jobs",
        {"schedule": {"delaySeconds": 0}, "target": _DOWN, "retryPolicy": {"jitter": "none"}},
        kept="failing",
        shown=False,
    ),
    Step("GET /v1/jobs/{jobId}/executions", ids=_job("failing"), kept="waiting", minutes=0.1, shown=False),
    Step("POST /v1/executions/{executionId}/cancel", {}, ids=_run("waiting")),
    Step(
        "POST /v1/jobs",
        {"jobKey": "poll", "schedule": {"every": {"seconds": 60}}, "target": _DOWN, "retryPolicy": {"maxAttempts": 1}},
        kept="poll",
        shown=False,
    ),
    Step(
        "POST /v1/jobs",
        {"jobKey": "close", "schedule": {"delaySeconds": 0}, "target": _CLOSE},
        kept="run",
        shown=False,
    ),
    Step("GET /v1/jobs/{jobId}/executions", ids=_job("run"), kept="runs", minutes=1, shown=False),
    Step("GET /v1/executions/{executionId}/nodes", ids=_run("runs")),
    Step("DELETE /v1/jobs/{jobId}", ids=_job("run"), shown=False),
    Step("GET /v1/clients/{clientId}/dead", query={"limit": "1"}, ids=_acme, kept="dead", minutes=4),
    Step("GET /v1/clients/{clientId}/runs", query={"state": "DEAD", "limit": "1"}, ids=_acme),
    Step("GET /v1/clients/{clientId}/activity", query={"step": "3600"}, ids=_acme),
    Step("GET /v1/clients/{clientId}/attention", query={"kind": "dead"}, ids=_acme),
    Step("GET /v1/clients/{clientId}/usage", ids=_acme),
    Step("POST /v1/executions/{executionId}/redrive", {}, ids=_run("dead")),
    Step("POST /v1/clients/{clientId}/dead/redrive", {"prefix": "poll", "limit": 1}, ids=_acme),
    Step("POST /v1/clients/{clientId}/dead/discard", {"to": "2026-05-01T09:30:00Z"}, ids=_acme),
    Step(
        "POST /v1/clients/{clientId}/operations",
        {"kind": "redriveDead", "filter": {"prefix": "poll"}, "maxPerSecond": 50, "reason": "the target is mended"},
        ids=_acme,
        kept="redriving",
    ),
    Step("GET /v1/clients/{clientId}/operations", query={"limit": "5"}, ids=_acme),
    Step("GET /v1/clients/{clientId}/operations/{operationId}", ids=_operation("redriving")),
    Step(
        "POST /v1/clients/{clientId}/operations/{operationId}/stop",
        {"reason": "the wrong filter"},
        ids=_operation("redriving"),
    ),
    Step("POST /v1/clients/{clientId}/jobs/pause", {"prefix": "nightly-", "reason": "holiday"}, ids=_acme),
    Step("POST /v1/clients/{clientId}/jobs/resume", {"prefix": "nightly-", "pausedReason": "holiday"}, ids=_acme),
    Step("POST /v1/clients/{clientId}/jobs/cancel", {"prefix": "poll", "limit": 50}, ids=_acme),
    Step("POST /v1/clients/{clientId}/pause", {"reason": "incident 7"}, ids=_acme),
    Step("POST /v1/clients/{clientId}/parked/release", {"maxPerSecond": 20}, ids=_acme, minutes=2),
    Step("POST /v1/clients/{clientId}/resume", {}, ids=_acme, minutes=1),
    Step("GET /v1/audit", query={"limit": "2"}),
    Step("POST /v1/clients/{clientId}/parked/discard", {}, ids=_acme),
    Step("GET /v1/shards"),
    Step(
        "PUT /v1/pools/{pool}",
        {
            "principals": ["arn:aws:iam::123456789012:role/BatchWorkers", BILLING],
            "handlers": ["generate_invoices", "close_month"],
        },
        ids=_batch,
    ),
    Step("GET /v1/pools/{pool}", ids=_batch),
    Step("GET /v1/pools/{pool}/executions", ids=_batch),
    Step("GET /v1/pools"),
    Step(
        "POST /v1/pools/{pool}/claims",
        {
            "workerId": "host-1-abc",
            "handlers": ["generate_invoices"],
            "claims": [{"claimId": "dGhlLWNsYWltLW9mLWhvc3", "ticket": '{"v": 1}', "receiptHandle": "AQEBwJnK"}],
        },
        ids=_batch,
    ),
    Step(
        "POST /v1/pools/{pool}/heartbeats",
        {"heartbeats": [{"token": "aczAwMS8x.1777975200250.0.1.dGhlLWNsYWltLW9mLWhvc3", "progress": 0.5}]},
        ids=_batch,
    ),
    Step(
        "POST /v1/pools/{pool}/outcomes",
        {"outcomes": [{"token": "aczAwMS8x.1777975200250.0.1.dGhlLWNsYWltLW9mLWhvc3", "outcome": "handback"}]},
        ids=_batch,
    ),
    Step(
        "POST /v1/pools/{pool}/checkpoints",
        {"token": "aczAwMS8x.1777975200250.0.1.dGhlLWNsYWltLW9mLWhvc3", "sequence": 1, "value": {"page": 40}},
        ids=_batch,
    ),
    Step(
        "POST /schedule",
        {
            **_ORIGINAL,
            "orderingKey": "order1",
            "taskData": "payload",
            "delivery": {"url": "https://example.com/hook"},
            "scheduleTime": from_text("2026-05-02T00:00:00Z"),
        },
    ),
    Step("DELETE /schedule", _ORIGINAL),
    Step("POST /v1/jobs", _PRINTED, kept="outside", shown=False),
    Step("POST /v1/completions/{token}", {"outcome": "heartbeat", "progress": 0.4}, minutes=0.1),
    Step("DELETE /v1/clients/{clientId}", headers={"If-Match": "3"}, ids=_acme),
)


@dataclass(frozen=True)
class Played:
    """A step with the path that it had, who asked, and what was answered."""

    step: Step
    route: Route
    path: str
    answer: Answer


def play() -> Iterator[Played]:
    """Play all steps; two plays are alike to the byte. Raises AssertionError for a step that is refused."""
    api = Api(pools=("batch-etl=high,normal,low",), takes_unsigned=True)
    clock, targets = api.clockwork.clock, api.clockwork.targets
    clock.at = BEGIN
    targets._answer = lambda delivery: _outcome(delivery, clock.at)
    routes = {route.key: route for route in ROUTES}
    kept: dict[str, Any] = {}
    for step in STEPS:
        route = routes[step.route]
        api.clockwork.run_until(clock.at + round(step.minutes * 60_000))
        last = next((one.token for one in reversed(targets.delivered) if one.token is not None), None)
        path = route.path.format(**{"token": last, **step.ids(kept)})
        if step.under_token:
            step = replace(step, body={"token": last, **step.body})
        who = ADMIN if route.admin else _SESSION
        answer = api.call(route.method, path, step.body, caller=who, query=step.query, headers=step.headers)
        assert answer.status < 300, f"{step.route}: {answer.text}"
        if step.kept:
            kept[step.kept] = answer.body
        yield Played(step, route, path, answer)


def _outcome(delivery: Delivery, now: int) -> Outcome:
    target = delivery.occurrence.target
    if isinstance(target, HttpTarget) and target.url == _DOWN["url"]:
        return Outcome(State.FAILED, now, now + 20, status_code=503, error="answered 503")
    return Outcome(State.SUCCEEDED, now, now + 20, status_code=200)
