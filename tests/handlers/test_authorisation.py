"""Authorisation: every route for every kind of caller; no caller sees, changes or guesses another client's data."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.ids import AnonymousJob, ExecutionId, NamedJobId, only_execution
from clockwork.domain.keys import row_key
from clockwork.domain.pools.pool import Pool
from clockwork.edge.description.parameters import query_of
from clockwork.edge.http.pages import PageTokens
from clockwork.routes import ROUTES, Route
from tests.handlers.handlers import GLOBEX, Answer, Api, job_body
from tests.support.examples import ACME, ADMIN, ALICE, BOB, NOW

APP = "arn:aws:iam::111111111111:role/app"
CALLERS = {
    "admin": ADMIN,
    "admin's session": "arn:aws:sts::111111111111:assumed-role/Admin/s",
    "own client": ALICE,
    "own client's session": "arn:aws:sts::111111111111:assumed-role/app/s",
    "other client": BOB,
    "unknown principal": "arn:aws:iam::111111111111:user/carol",
    "same name elsewhere": "arn:aws:iam::222222222222:user/alice",
    "session called like the admin": "arn:aws:sts::111111111111:assumed-role/x/Admin",
    "unsigned": None,
}
ADMINS = {"admin", "admin's session"}
OWN = {"own client", "own client's session"}
STRANGERS = {"unknown principal", "same name elsewhere", "session called like the admin"}
OPEN = {"get_health", "get_openapi"}
#: A caller learns nothing but its own name: every signed caller may ask.
EVERYBODYS = {"who_am_i"}
#: Routes that concern no client's data: a caller who acts for any client may use them.
ANYBODYS = {"preview_schedule"}
HOURLY = {"every": {"seconds": 3_600}}
BODIES: dict[str, Any] = {
    "create_job": job_body(clientId="acme"),
    "create_batch": {"clientId": "acme", "jobs": [job_body()]},
    "put_client": {"principals": [ALICE, APP]},
    "put_pool": {"handlers": ["h"]},
    "claim_tickets": {
        "workerId": "w",
        "handlers": ["h"],
        "claims": [{"claimId": "x" * 22, "ticket": "{}", "receiptHandle": "r"}],
    },
    "beat_attempts": {"heartbeats": [{"token": "no such token"}]},
    "report_outcomes": {"outcomes": [{"token": "no such token", "outcome": "complete"}]},
    "keep_checkpoint": {"token": "no such token", "sequence": 1, "value": 1},
    "pause_client": {"reason": "incident"},
    "resume_client": {},
    "release_parked": {"maxPerSecond": 5},
    "discard_parked": {},
    "put_job": job_body(schedule=HOURLY, payload="other"),
    "patch_job": {"payload": "other"},
    "pause_job": {"reason": "r"},
    "resume_job": {},
    "run_job": {},
    "backfill_job": {"from": "2023-11-14T22:13:20Z", "to": "2023-11-14T22:14:20Z", "maxPerSecond": 1},
    "preview_schedule": {"schedule": HOURLY},
    "cancel_execution": {},
    "redrive_execution": {},
    "complete_execution": {"token": "no such token"},
    "fail_execution": {"token": "no such token", "error": "it broke"},
    "confirm_cancel": {"token": "no such token"},
    "beat_execution": {"token": "no such token"},
    "report_by_token": {"outcome": "complete"},
    "redrive_dead": {},
    "pause_jobs": {"prefix": "key-of"},
    "resume_jobs": {"prefix": "key-of"},
    "cancel_jobs": {"prefix": "no-such"},
    "discard_dead": {},
    "begin_operation": {"kind": "redriveDead"},
    "stop_operation": {},
    "post_schedule": {
        "clientId": "acme",
        "scheduleKey": "k",
        "orderingKey": "o",
        "taskData": "d",
        "delivery": {"url": "https://hooks.example.org/"},
        "scheduleTime": 0,
    },
    "delete_schedule": {"clientId": "acme", "scheduleKey": "no such key"},
}
QUERIES = {name: {"clientId": "acme"} for name in ("list_jobs", "list_upcoming", "list_audit")}
#: The status of routes that do not answer 200. A delivered execution is not dead, so it cannot be redriven (409), and
#: no token of it counts.
STATUS = {"create_job": 201, "delete_schedule": 400} | dict.fromkeys(
    ("run_job", "backfill_job", "release_parked", "discard_parked", "delete_client", "begin_operation"), 202
)
STATUS |= dict.fromkeys(
    ("redrive_execution", "complete_execution", "fail_execution", "confirm_cancel", "beat_execution"), 409
)
#: Of the form of a token, and under no key.
NO_TOKEN = f"{'x' * 40}.1.{'x' * 22}.{'x' * 11}"
NAMED_ONLY = {"put_job", "patch_job", "pause_job", "resume_job", "run_job", "backfill_job", "list_fires"}
#: Well-formed ids that were never created, for the `{parameter}`s of paths.
UNKNOWN_JOB = AnonymousJob("p000", row_key(NOW + 30_000, "x" * 22), 0).job_id
UNKNOWN_NAMED = NamedJobId("acme", "no-such-key", 1).job_id
UNKNOWN = {
    "anonymous": {"jobId": UNKNOWN_JOB, "executionId": only_execution(UNKNOWN_JOB, NOW + 30_000)},
    "named": {"jobId": UNKNOWN_NAMED, "executionId": str(ExecutionId(UNKNOWN_NAMED, NOW + 30_000, "x"))},
}


def expected(route: Route, who: str, kind: str) -> int:
    """The status that the rules of authorisation give, for any route."""
    if route.unsigned:
        return 404  # whoever asks: the token alone counts, and this is none
    if who == "unsigned":
        return 403
    if route.operation in OPEN | EVERYBODYS or (route.operation in ANYBODYS and who not in STRANGERS):
        return 200
    if route.worker and route.method == "POST":
        # An admin says who works for a pool, and works for it only if it says so of itself.
        return 200 if who in OWN else 403
    if who in ADMINS or (who in OWN and not route.admin):
        return 409 if kind == "anonymous" and route.operation in NAMED_ONLY else STATUS.get(route.operation, 200)
    return 404 if who == "other client" and is_owned(route) else 403


def is_owned(route: Route) -> bool:
    """Whether the route's path names a job or an execution, which belong to a client."""
    return "{jobId}" in route.path or "{executionId}" in route.path


@pytest.fixture
def api() -> Api:
    """An API where ALICE and the role app may act for acme, and work for a pool."""
    api = Api(pools=("batch-etl=normal",))
    api.clockwork.clients.put(msgspec.structs.replace(ACME, principals=(ALICE, APP)))
    api.clockwork.pools.put(Pool(name="batch-etl", revision=1, principals=(ALICE, APP)), replaces=0)
    return api


def acmes(api: Api, kind: str) -> dict[str, str]:
    """The ids of a delivered job of acme's and of its execution."""
    named = {"jobKey": f"key-of-{kind}", "schedule": {"every": {"seconds": 60}}} if kind == "named" else {}
    job_id = api.create(**{"schedule": {"delaySeconds": 1}, **named}).body["jobId"]
    api.clockwork.run_until(api.clockwork.clock.at + 100_000)
    execution = next(one for one in api.clockwork.executions.all() if one.job_id == job_id)
    operation = api.call("POST", "/v1/clients/acme/operations", BODIES["begin_operation"], caller=ALICE)
    return {
        "jobId": job_id,
        "executionId": execution.execution_id,
        "operationId": operation.body["operationId"],
        "clientId": "acme",
        "pool": "batch-etl",
        "token": NO_TOKEN,
    }


def ask(api: Api, route: Route, ids: dict[str, str], caller: str | None) -> Answer:
    """Call a route with its parameters filled in."""
    path, body = route.path.format(**ids), BODIES.get(route.operation)
    return api.call(route.method, path, body, caller=caller, query=QUERIES.get(route.operation))


MATRIX = [
    pytest.param(route, who, kind, id=f"{route.key} ({kind}) by {who} is {expected(route, who, kind)}")
    for route in ROUTES
    for kind in (("anonymous", "named") if is_owned(route) else ("anonymous",))
    for who in CALLERS
]


@pytest.mark.parametrize(("route", "who", "kind"), MATRIX)
def test_every_route_for_every_caller(api: Api, route: Route, who: str, kind: str) -> None:
    assert route.method in ("GET", "DELETE") or route.operation in BODIES, "give the new route a body here"
    ids = acmes(api, kind)
    answer = ask(api, route, ids, CALLERS[who])
    assert answer.status == expected(route, who, kind), answer.text
    if answer.status >= 400:
        assert answer.content_type == "application/problem+json"
        assert api.writes == []
        # A refusal discloses nothing of acme's.
        for secret in (*ids.values(), ALICE, APP, "example.com", "key-of"):
            assert secret not in answer.text


OWNED = [
    pytest.param(route, kind, id=f"{route.key} ({kind})")
    for route in ROUTES
    if is_owned(route)
    for kind in ("anonymous", "named")
]


@pytest.mark.parametrize("released", [True, False], ids=["delivered", "scheduled"])
@pytest.mark.parametrize("query", [None, {"limit": "1"}], ids=["", "limited"])
@pytest.mark.parametrize(("route", "kind"), OWNED)
def test_anothers_and_none_at_all_are_one_answer_after_the_same_reads(
    api: Api, route: Route, kind: str, released: bool, query: dict[str, str] | None
) -> None:
    if released:
        theirs = acmes(api, kind)
    else:
        named = {"jobKey": "k", "schedule": HOURLY} if kind == "named" else {"schedule": {"delaySeconds": 600}}
        job_id = api.create(**named).body["jobId"]
        theirs = {"jobId": job_id, "executionId": str(ExecutionId(job_id, NOW, "x"))}
    taken = {name: value for name, value in (query or {}).items() if name in query_of(route.operation)}
    answers = []
    for ids in (theirs, UNKNOWN[kind]):
        path = route.path.format(**ids)
        answer = api.call(route.method, path, BODIES.get(route.operation), caller=BOB, query=taken)
        answers.append((answer, list(api.calls)))
    assert answers[0] == answers[1]
    assert answers[0][0].status == 404


@pytest.mark.parametrize("kind", ["anonymous", "named"])
def test_a_page_of_anothers_executions_is_no_way_in(api: Api, kind: str) -> None:
    theirs = acmes(api, kind)["jobId"]
    for place in ("9999999999999.0", "0000000000000.0"):
        answers = []
        for job_id in (theirs, UNKNOWN[kind]["jobId"]):
            token = PageTokens(api.clockwork.world, "listExecutions", job_id).token_of(f"{job_id}.{place}")
            assert token is not None
            query = {"nextToken": token}
            answer = api.call("GET", f"/v1/jobs/{job_id}/executions", caller=BOB, query=query)
            answers.append((answer, list(api.calls)))
        assert answers[0] == answers[1]
        assert answers[0][0].status == 404


@pytest.mark.parametrize("kind", ["anonymous", "named"])
def test_an_id_with_any_character_changed_is_404(api: Api, kind: str) -> None:
    ids = acmes(api, kind)
    for path, real in (("/v1/jobs/{}", ids["jobId"]), ("/v1/executions/{}", ids["executionId"])):
        assert api.call("GET", path.format(real)).status == 200
        for at, was in enumerate(real):
            for other in "Aa0-_.n" if was not in "Aa0-_.n" else "Bb1":
                answer = api.call("GET", path.format(real[:at] + other + real[at + 1 :]))
                assert answer.status == 404, (real, at, other)
        for other in (real[:-1], real + "A", real + "=", real.swapcase(), f"{real}.0", "z" + real[1:]):
            assert api.call("GET", path.format(other)).status == 404
            assert api.call("GET", path.format(other), caller=ADMIN).status == 404


@pytest.mark.parametrize("job_key", ["", "\x01k", "a\x00", "k" * 256, "é" * 128, "\u2028"])
def test_an_id_of_what_can_be_no_key_asks_no_table(api: Api, job_key: str) -> None:
    """Key rows of Idempotency-Keys lie in the table of named jobs, under keys that begin with a control character."""
    for client_id in ("acme", "Acme", "a" * 65, ""):
        job_id = NamedJobId(client_id, job_key, 1).job_id
        assert api.call("GET", f"/v1/jobs/{job_id}").status == 404
        assert [call for call in api.calls if call.startswith("jobs.")] == []


@pytest.mark.parametrize("query", [{"prefix": "\x01"}, {"prefix": "k" * 256}, {"nextToken": "AWs"}, {"nextToken": "~"}])
def test_a_list_reaches_no_key_rows(api: Api, query: dict[str, str]) -> None:
    api.call("POST", "/v1/jobs", job_body(), headers={"Idempotency-Key": "k"})
    assert api.call("GET", "/v1/jobs", query=query).status == 422
    assert [call for call in api.calls if call.startswith("jobs.")] == []


def test_a_list_shows_the_jobs_of_one_client(api: Api) -> None:
    for caller in (ALICE, BOB):
        named = job_body(jobKey="same", payload=caller, schedule=HOURLY)
        assert api.call("POST", "/v1/jobs", named, caller=caller).status == 201
    for caller, client_id in ((ALICE, "acme"), (BOB, "globex")):
        items = api.call("GET", "/v1/jobs", caller=caller).body["items"]
        assert [(item["clientId"], item["jobKey"]) for item in items] == [(client_id, "same")]


def test_the_jobs_beside_a_job_in_its_row_are_not_reached_by_counting(api: Api) -> None:
    api.create()
    row = api.clockwork.timeline._rows
    (partition_id, key) = next((partition_id, key) for partition_id, rows in row.items() for key in rows)
    for element in (1, 2, 10**30):
        assert api.call("GET", f"/v1/jobs/{AnonymousJob(partition_id, key, element).job_id}").status == 404


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/jobs", job_body()),
        ("POST", "/v1/jobs/batch", {"jobs": [job_body()]}),
        ("GET", "/v1/clients/{}", None),
        ("GET", "/v1/jobs", None),
    ],
)
def test_anothers_client_and_none_at_all_are_one_403(api: Api, method: str, path: str, body: Any) -> None:
    answers = []
    for client_id in ("acme", "nobody", "a" * 64):
        named = body and {**body, "clientId": client_id}
        query = {"clientId": client_id} if path == "/v1/jobs" and method == "GET" else None
        answer = api.call(method, path.format(client_id), named, caller=BOB, query=query)
        answers.append((answer, list(api.calls)))
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][0].status == 403
    # Everybody knows the form of a clientId, so a malformed one is refused without reading a table.
    for client_id in ("A", "a" * 65, "a b"):
        named = body and {**body, "clientId": client_id}
        query = {"clientId": client_id} if path == "/v1/jobs" and method == "GET" else None
        answer = api.call(method, path.format(client_id), named, caller=BOB, query=query)
        assert answer == answers[0][0]
        assert api.calls == []


def test_who_may_not_ask_learns_nothing_of_what_is_wrong_with_it(api: Api) -> None:
    for body in ({"clientId": "acme"}, {"clientId": "acme", "target": {"type": "sqs", "queueArn": "x"}}):
        assert api.call("POST", "/v1/jobs", body, caller=BOB).status == 403
    assert api.call("PUT", "/v1/clients/acme", "not JSON", caller=ALICE).status == 403


def test_the_client_may_be_left_out_by_who_acts_for_just_one(api: Api) -> None:
    assert api.create().body["clientId"] == "acme"
    api.clockwork.clients.put(msgspec.structs.replace(GLOBEX, principals=(ALICE, BOB)))
    answer = api.create()
    assert (answer.status, answer.body["detail"]) == (
        403,
        "name the clientId: the caller does not act for exactly one client",
    )
    assert api.create(clientId="globex").body["clientId"] == "globex"


def test_who_is_no_longer_listed_is_out(api: Api) -> None:
    job_id = api.create().body["jobId"]
    answer = api.call("PUT", "/v1/clients/acme", {"principals": [APP]}, caller=ADMIN)
    assert answer.body["principals"] == [APP]
    assert api.call("GET", f"/v1/jobs/{job_id}").status == 403
    assert api.create(clientId="acme").status == 403


def test_an_idempotency_key_belongs_to_its_client(api: Api) -> None:
    answers = [
        api.call("POST", "/v1/jobs", job_body(payload=caller), caller=caller, headers={"Idempotency-Key": "k"})
        for caller in (ALICE, BOB)
    ]
    assert [answer.status for answer in answers] == [201, 201]
    assert answers[0].body["jobId"] != answers[1].body["jobId"]


def test_an_admin_reads_and_cancels_for_every_client(api: Api) -> None:
    job_id = api.call("POST", "/v1/jobs", job_body(), caller=BOB).body["jobId"]
    assert api.call("GET", f"/v1/jobs/{job_id}", caller=ADMIN).body["clientId"] == "globex"
    assert api.call("DELETE", f"/v1/jobs/{job_id}", caller=ADMIN).body["result"] == "cancelled"
    assert api.call("GET", f"/v1/jobs/{job_id}", caller=BOB).body["state"] == "CANCELLED"
