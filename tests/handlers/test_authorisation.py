"""Who may do what: every route for every kind of caller, and nothing of another client seen, changed or guessed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.ids import AnonymousJob, only_execution
from clockwork.domain.keys import row_key
from clockwork.routes import ROUTES, Route
from tests.examples import ACME, ADMIN, ALICE, BOB, NOW
from tests.handlers.handlers import GLOBEX, Answer, Api, job_body

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
BODIES: dict[str, Any] = {
    "create_job": job_body(clientId="acme"),
    "create_batch": {"clientId": "acme", "jobs": [job_body()]},
    "put_client": {"principals": [ALICE, APP]},
}
CREATED = {"create_job"}
#: What a `{parameter}` of a path may be filled with: something of acme's, and something that nobody ever made.
UNKNOWN_JOB = AnonymousJob("p000", row_key(NOW + 30_000, "x" * 22), 0).job_id
UNKNOWN = {
    "jobId": UNKNOWN_JOB,
    "executionId": only_execution(UNKNOWN_JOB, NOW + 30_000),
    "clientId": "nobody",
}


def expected(route: Route, who: str) -> int:
    """The status by the rules of the contract, whatever the route."""
    if who == "unsigned":
        return 403
    if route.operation in OPEN:
        return 200
    if who in ADMINS or (who in OWN and not route.admin):
        return 201 if route.operation in CREATED else 200
    belongs_to_somebody = "{jobId}" in route.path or "{executionId}" in route.path
    return 404 if who == "other client" and belongs_to_somebody else 403


@pytest.fixture
def api() -> Api:
    """Acme may be called for by ALICE and by the role app."""
    api = Api()
    api.clockwork.clients.put(msgspec.structs.replace(ACME, principals=(ALICE, APP)))
    return api


@pytest.fixture
def acmes(api: Api) -> dict[str, str]:
    """A delivered job of acme's and its execution."""
    job_id = api.create(schedule={"delaySeconds": 1}).body["jobId"]
    api.clockwork.run_until(api.clockwork.clock.at + 100_000)
    (execution,) = api.clockwork.executions.all()
    return {"jobId": job_id, "executionId": execution.execution_id, "clientId": "acme"}


def ask(api: Api, route: Route, ids: dict[str, str], caller: str | None) -> Answer:
    """The route with its parameters filled in."""
    return api.call(route.method, route.path.format(**ids), BODIES.get(route.operation), caller=caller)


MATRIX = [(route, who) for route in ROUTES for who in CALLERS]


@pytest.mark.parametrize(
    ("route", "who"), MATRIX, ids=[f"{route.key} by {who} is {expected(route, who)}" for route, who in MATRIX]
)
def test_every_route_for_every_caller(api: Api, acmes: dict[str, str], route: Route, who: str) -> None:
    assert route.method in ("GET", "DELETE") or route.operation in BODIES, "give the new route a body here"
    before = dict(api.clockwork.clients._clients)
    answer = ask(api, route, acmes, CALLERS[who])
    assert answer.status == expected(route, who), answer.text
    if answer.status >= 400:
        assert answer.content_type == "application/problem+json"
        assert api.writes == []
        assert before == api.clockwork.clients._clients
        # Nothing of acme's can be read out of a refusal.
        for secret in (*acmes.values(), ALICE, APP, "example.com"):
            assert secret not in answer.text


OWNED = [route for route in ROUTES if "{jobId}" in route.path or "{executionId}" in route.path]


@pytest.mark.parametrize("released", [True, False], ids=["delivered", "scheduled"])
@pytest.mark.parametrize("query", [None, {"limit": "1"}], ids=["", "limited"])
@pytest.mark.parametrize("route", OWNED, ids=[route.key for route in OWNED])
def test_anothers_and_none_at_all_are_one_answer_after_the_same_reads(
    api: Api, route: Route, released: bool, query: dict[str, str] | None
) -> None:
    job = api.create(schedule={"delaySeconds": 1 if released else 600}).body
    if released:
        api.clockwork.run_until(api.clockwork.clock.at + 100_000)
    due_at = NOW + (1_000 if released else 600_000)
    theirs = {"jobId": job["jobId"], "executionId": only_execution(job["jobId"], due_at)}
    if "{executionId}" in route.path:
        assert api.call("GET", f"/v1/executions/{theirs['executionId']}").status == (200 if released else 404)
    answers = []
    for ids in (theirs, UNKNOWN):
        answer = api.call(route.method, route.path.format(**ids), caller=BOB, query=query)
        answers.append((answer, list(api.calls)))
    assert answers[0] == answers[1]
    assert answers[0][0].status == 404


def test_a_page_of_anothers_executions_is_no_way_in(api: Api, acmes: dict[str, str]) -> None:
    path = "/v1/jobs/{jobId}/executions"
    for token in (f"{acmes['jobId']}.9999999999999.0", f"{acmes['jobId']}.0000000000000.0"):
        answer = api.call("GET", path.format(**acmes), caller=BOB, query={"nextToken": token})
        calls = list(api.calls)
        token = token.replace(acmes["jobId"], UNKNOWN_JOB)
        assert answer == api.call("GET", path.format(**UNKNOWN), caller=BOB, query={"nextToken": token})
        assert (answer.status, calls) == (404, api.calls)


def test_an_id_with_any_character_changed_is_404(api: Api, acmes: dict[str, str]) -> None:
    for path, real in (("/v1/jobs/{}", acmes["jobId"]), ("/v1/executions/{}", acmes["executionId"])):
        assert api.call("GET", path.format(real)).status == 200
        for at, was in enumerate(real):
            for other in "Aa0-_.n" if was not in "Aa0-_.n" else "Bb1":
                answer = api.call("GET", path.format(real[:at] + other + real[at + 1 :]))
                assert answer.status == 404, (real, at, other)
        for other in (real[:-1], real + "A", real + "=", real.swapcase(), f"{real}.0", "n" + real[1:]):
            assert api.call("GET", path.format(other)).status == 404
            assert api.call("GET", path.format(other), caller=ADMIN).status == 404


def test_the_jobs_beside_a_job_in_its_row_are_not_reached_by_counting(api: Api, acmes: dict[str, str]) -> None:
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
    ],
)
def test_anothers_client_and_none_at_all_are_one_403(api: Api, method: str, path: str, body: Any) -> None:
    answers = []
    for client_id in ("acme", "nobody", "a" * 64):
        named = body and {**body, "clientId": client_id}
        answer = api.call(method, path.format(client_id), named, caller=BOB)
        answers.append((answer, list(api.calls)))
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][0].status == 403
    # What can be no clientId is told apart by what is known to everybody, and no table is asked.
    for client_id in ("A", "a" * 65, "a b"):
        named = body and {**body, "clientId": client_id}
        assert api.call(method, path.format(client_id), named, caller=BOB) == answers[0][0]
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


def test_who_is_no_longer_listed_is_out(api: Api, acmes: dict[str, str]) -> None:
    answer = api.call("PUT", "/v1/clients/acme", {"principals": [APP]}, caller=ADMIN)
    assert answer.body["principals"] == [APP]
    assert api.call("GET", f"/v1/jobs/{acmes['jobId']}").status == 403
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
