"""The nextToken of every list: it tells nothing, and opens in the list that gave it alone."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable, Undecodable
from clockwork.domain.executions import Outcome, State
from clockwork.flows.requests import upcoming
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from tests.handlers.faults import refused
from tests.handlers.handlers import GLOBEX, Answer, Api
from tests.handlers.test_deleted_clients import EVERY, PATH, admin, is_gone, run
from tests.support.examples import ADMIN, ALICE, BOB, new_job, request

HOURLY = {"every": {"seconds": 3_600}}


def told(answer: Answer) -> bytes:
    """Whatever a reader of the nextToken may make of it."""
    token: str = answer.body["nextToken"]
    return token.encode() + urlsafe_b64decode(token + "=" * (-len(token) % 4))


def failing(api: Api) -> None:
    def fail(_: Any) -> Outcome:
        at = api.clockwork.clock.at
        return Outcome(State.FAILED, at, at, error="HTTP 500", permanent=True)

    api.clockwork.targets._answer = fail


def succeeded(api: Api) -> None:
    """Delete acme, and give its id to another client, of BOB."""
    assert admin(api, "DELETE").status == 202
    run(api, 5)
    assert is_gone(api)
    assert admin(api, "PUT", PATH, {"principals": [BOB]}).status == 200
    api.clockwork.clock.advance(60_000)


def test_an_empty_page_of_what_is_to_come_tells_nothing_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upcoming, "ROWS_READ", 8)
    api = Api()
    shards = ensure_shards(api.clockwork.world)
    for n in range(40):
        theirs = request(new_job(delay_ms=61_000 + 30_000 * n))
        create_jobs(api.clockwork.world, msgspec.structs.replace(theirs, client=GLOBEX), shards)
    answer = api.call("GET", "/v1/upcoming", query={"clientId": "acme", "to": "2030-01-01T00:00:00Z"})
    assert answer.body["items"] == []
    keys = [
        row.key.encode() for partition in shards for row in api.clockwork.timeline.read(partition, "0", "9", 99).rows
    ]
    assert len(keys) == 40
    assert [key for key in keys if key in told(answer) or key[:13] in told(answer)] == []


def test_the_next_client_learns_no_job_key_of_the_former(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clockwork.edge.operations.job_lists.MOST_COMPUTED", 4)
    api = Api()
    for n in range(6):
        api.create(jobKey=f"secret-merger-{n}", schedule={"every": {"seconds": 86_400}})
    succeeded(api)
    query = {"clientId": "acme", "dueFrom": "2023-01-01T00:00:00Z"}
    answer = api.call("GET", "/v1/jobs", caller=BOB, query=query)
    assert answer.body["items"] == []
    assert b"secret" not in told(answer)


def test_the_next_client_learns_no_execution_of_the_former() -> None:
    api = Api()
    failing(api)
    ids = [api.create(jobKey=f"secret-{n}", schedule={"delaySeconds": 5 + n}).body["jobId"] for n in range(5)]
    run(api, 3)
    succeeded(api)
    answer = api.call("GET", "/v1/clients/acme/dead", caller=BOB, query={"limit": "2"})
    assert answer.body["items"] == []
    assert [one for one in ids if one.encode() in told(answer)] == []
    handled = api.call("POST", "/v1/clients/acme/dead/redrive", {"limit": 2}, caller=BOB)
    assert handled.body["changed"] == 0
    assert [one for one in ids if one.encode() in told(handled)] == []


def test_the_next_client_learns_no_unreadable_job_of_the_former() -> None:
    api = Api()
    api.create(jobKey="secret", schedule=EVERY)
    succeeded(api)
    api.clockwork.jobs.unreadable["acme", "secret"] = Undecodable("damaged")
    for answer in (
        api.call("GET", "/v1/jobs", caller=BOB, query={"clientId": "acme"}),
        api.call("POST", f"{PATH}/jobs/pause", {"prefix": "s"}, caller=BOB),
    ):
        assert answer.status == 200
        assert "secret" not in answer.text


def test_a_token_of_the_former_client_does_not_open_for_the_next_one() -> None:
    api = Api()
    for key in ("a", "b", "c"):
        api.create(jobKey=key, schedule=HOURLY)
    token = api.call("GET", "/v1/jobs", query={"limit": "1"}).body["nextToken"]
    assert api.call("GET", "/v1/jobs", query={"nextToken": token}).status == 200
    succeeded(api)
    refused(api.call("GET", "/v1/jobs", caller=BOB, query={"clientId": "acme", "nextToken": token}), 422)


def lists(api: Api) -> dict[str, tuple[str, str, Any, str]]:
    """The method, path, body and caller of every list that goes on."""
    job_id = api.create(jobKey="job-0", schedule=HOURLY).body["jobId"]
    bulk, dead = f"{PATH}/jobs", f"{PATH}/dead"
    return {
        "listJobs": ("GET", "/v1/jobs", None, ALICE),
        "listExecutions": ("GET", f"/v1/jobs/{job_id}/executions", None, ALICE),
        "listDead": ("GET", dead, None, ALICE),
        "listUpcoming": ("GET", "/v1/upcoming", None, ALICE),
        "listAudit": ("GET", "/v1/audit", None, ALICE),
        "listClients": ("GET", "/v1/clients", None, ADMIN),
        "pauseJobs": ("POST", f"{bulk}/pause", {"prefix": "job"}, ALICE),
        "resumeJobs": ("POST", f"{bulk}/resume", {"prefix": "job"}, ALICE),
        "redriveDead": ("POST", f"{dead}/redrive", {}, ALICE),
        "discardDead": ("POST", f"{dead}/discard", {}, ALICE),
        "cancelJobs": ("POST", f"{bulk}/cancel", {"prefix": "job"}, ALICE),
    }


def ask(api: Api, method: str, path: str, body: Any, caller: str, **paging: Any) -> Answer:
    if method == "GET":
        return api.call(method, path, caller=caller, query={name: str(value) for name, value in paging.items()})
    return api.call(method, path, {**body, **paging}, caller=caller)


def test_a_token_opens_in_the_list_that_gave_it_and_in_no_other() -> None:
    api = Api()
    failing(api)
    for n in range(6):
        api.create(schedule={"delaySeconds": 5 + n})
    for key in ("job-1", "job-2", "job-3"):
        api.create(jobKey=key, schedule=HOURLY)
    every = lists(api)
    run_id = every["listExecutions"][1].removesuffix("/executions")
    for _ in range(2):
        assert api.call("POST", f"{run_id}/run").status == 202
        run(api, 1)
    tokens = {name: ask(api, *one, limit=1).body["nextToken"] for name, one in every.items()}
    for name, token in tokens.items():
        for other, one in every.items():
            answer = ask(api, *one, limit=1, nextToken=token)
            assert answer.status == (200 if name == other else 422), (name, other)


def test_a_token_that_does_not_open_is_refused_with_the_fix_and_writes_nothing() -> None:
    api = Api()
    answer = api.call("GET", "/v1/jobs", query={"nextToken": "YQ"})
    refused(answer, 422)
    (said,) = answer.details
    assert "begin again without nextToken" in said
    assert api.writes == []


def test_a_token_outlives_a_change_of_keys_as_long_as_its_own_opens() -> None:
    api = Api()
    for key in ("a", "b"):
        api.create(jobKey=key, schedule=HOURLY)
    query = {"nextToken": api.call("GET", "/v1/jobs", query={"limit": "1"}).body["nextToken"]}
    keys = api.clockwork.ticket_keys.keys
    keys.insert(0, "n" * 44)
    assert [one["jobKey"] for one in api.call("GET", "/v1/jobs", query=query).body["items"]] == ["b"]
    keys.pop()
    refused(api.call("GET", "/v1/jobs", query=query), 422)


def test_a_page_that_needs_no_token_asks_for_no_key_and_one_that_does_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = Api()
    for key in ("a", "b"):
        api.create(jobKey=key, schedule=HOURLY)
        assert [call for call in api.calls if call.startswith("ticket_keys")] == []

    def silent() -> None:
        raise Unavailable("no answer")

    monkeypatch.setattr(api.clockwork.ticket_keys, "get", silent)
    assert api.call("GET", "/v1/jobs").status == 200
    refused(api.call("GET", "/v1/jobs", query={"limit": "1"}), 503)
