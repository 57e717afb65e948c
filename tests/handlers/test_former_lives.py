"""A jobKey that is used again: each life stays readable by its own jobId, and none is taken for another one."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.domain.executions import Outcome, State
from clockwork.domain.ids import NamedJobId
from tests.handlers.handlers import Answer, Api
from tests.support.examples import ACME, ADMIN, ALICE, BOB
from tests.support.named import jobs_of

EVERY = {"every": {"seconds": 10}}


def create(api: Api, payload: int) -> str:
    answer = api.create(jobKey="tick", schedule=EVERY, payload=payload)
    assert answer.status == 201, answer.body
    made: str = answer.body["jobId"]
    return made


def run(api: Api, seconds: int) -> None:
    api.clockwork.run_until(api.clockwork.clock.at + seconds * 1_000)


def lives() -> tuple[Api, str, str]:
    """An API, and the jobIds of two lives of one key. The first one has fired twice."""
    api = Api()
    first = create(api, 1)
    run(api, 25)
    assert api.call("DELETE", f"/v1/jobs/{first}").status == 200
    run(api, 60)
    return api, first, create(api, 2)


def executions(api: Api, job_id: str, **more: Any) -> Answer:
    return api.call("GET", f"/v1/jobs/{job_id}/executions", **more)


def test_the_executions_of_a_life_stay_readable_once_its_key_is_used_again() -> None:
    api, first, second = lives()
    run(api, 15)
    listed = executions(api, first)
    assert listed.status == 200
    states = [one["state"] for one in listed.body["items"]]
    # What was released ahead of the delete ended by it.
    assert (states[-2:], set(states[:-2])) == (["SUCCEEDED"] * 2, {"CANCELLED"})
    assert {one["jobId"] for one in listed.body["items"]} == {first}
    assert {one["jobId"] for one in executions(api, second).body["items"]} == {second}


def test_they_are_read_page_by_page() -> None:
    api, first, _ = lives()
    whole = executions(api, first).body["items"]
    seen, query = [], {"limit": "3"}
    while True:
        page = executions(api, first, query=query)
        assert page.status == 200, page.body
        seen += page.body["items"]
        if "nextToken" not in page.body:
            break
        query["nextToken"] = page.body["nextToken"]
    assert seen == whole
    assert len(seen) > 3


def test_a_former_life_tells_that_it_was_deleted_and_who_has_its_key() -> None:
    api, first, second = lives()
    shown = api.call("GET", f"/v1/jobs/{first}")
    assert shown.status == 200
    told = shown.body
    assert told.pop("lastExecution")["jobId"] == first
    assert told == {
        "jobId": first,
        "clientId": "acme",
        "jobKey": "tick",
        "state": "CANCELLED",
        "reason": "it was deleted, and its key was used again",
        "replacedBy": second,
    }
    assert api.call("GET", f"/v1/jobs/{second}").body["state"] == "ACTIVE"


def test_a_third_life_leaves_both_former_ones_readable() -> None:
    api, first, second = lives()
    run(api, 15)
    assert api.call("DELETE", f"/v1/jobs/{second}").status == 200
    third = create(api, 3)
    for former in (first, second):
        assert api.call("GET", f"/v1/jobs/{former}").body["replacedBy"] == third
        assert executions(api, former).body["items"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "", {"schedule": EVERY, "target": {"type": "http", "url": "https://example.com/"}, "payload": 1}),
        ("PATCH", "", {"payload": 3}),
        ("DELETE", "", None),
        ("POST", "/pause", {}),
        ("POST", "/resume", {}),
        ("POST", "/run", {}),
        ("POST", "/backfill", {"from": "2023-11-14T00:00:00Z", "to": "2023-11-14T00:00:01Z"}),
    ],
)
def test_a_former_life_is_not_changed_and_nor_is_its_successor(method: str, path: str, body: Any) -> None:
    api, first, second = lives()
    before = jobs_of(api.clockwork, "acme")
    assert api.call(method, f"/v1/jobs/{first}{path}", body).status == 404
    assert jobs_of(api.clockwork, "acme") == before
    assert before[0].job_id == second


@pytest.mark.parametrize("path", ["", "/executions"])
def test_the_lives_of_another_client_and_those_to_come_are_not_there(path: str) -> None:
    api, first, second = lives()
    to_come = NamedJobId("acme", "tick", 3).job_id
    unknown = NamedJobId("acme", "tock", 1).job_id
    answers = [
        api.call("GET", f"/v1/jobs/{first}{path}", caller=BOB),
        api.call("GET", f"/v1/jobs/{second}{path}", caller=BOB),
        api.call("GET", f"/v1/jobs/{to_come}{path}"),
        api.call("GET", f"/v1/jobs/{unknown}{path}"),
    ]
    assert [one.status for one in answers] == [404] * 4
    titles = {(one.body["type"], one.body["title"]) for one in answers}
    assert len(titles) == 1


@pytest.mark.parametrize("path", ["", "/executions"])
def test_the_lives_of_a_client_that_had_the_id_before_are_an_admins_alone(path: str) -> None:
    api, first, _ = lives()
    client = api.clockwork.clients.get("acme")
    assert client is not None
    # Another client has the id since then: its own first job has a higher incarnation.
    api.clockwork.clients.put(
        type(client)(client_id="acme", principals=ACME.principals, since_at=api.clockwork.clock.at), replaces=None
    )
    assert api.call("GET", f"/v1/jobs/{first}{path}", caller=ALICE).status == 404
    assert api.call("GET", f"/v1/jobs/{first}{path}", caller=ADMIN).status == 200


def dead_of_a_former_life() -> tuple[Api, str]:
    """An API, and a dead execution of a life whose key another job has by now."""
    api = Api()

    def reject(_: Any) -> Outcome:
        at = api.clockwork.clock.at
        return Outcome(State.FAILED, at, at, permanent=True, error="HTTP 400")

    succeed = api.clockwork.targets._answer
    api.clockwork.targets._answer = reject
    first = create(api, 1)
    run(api, 15)
    assert api.call("DELETE", f"/v1/jobs/{first}").status == 200
    create(api, 2)
    api.clockwork.targets._answer = succeed
    (dead,) = [one for one in api.clockwork.executions.all() if one.state is State.DEAD]
    return api, dead.execution_id


def test_what_died_in_a_former_life_is_not_redriven_by_the_definition_of_its_successor() -> None:
    api, dead = dead_of_a_former_life()
    refused = api.call("POST", f"/v1/executions/{dead}/redrive")
    assert refused.status == 409
    assert "its job was deleted" in refused.body["detail"]
    several = api.call("POST", "/v1/clients/acme/dead/redrive", {})
    assert several.body == {"matched": 1, "changed": 0}
    (stored,) = [one for one in api.clockwork.executions.all() if one.execution_id == dead]
    assert stored.state is State.DEAD


def test_it_is_redriven_as_it_was() -> None:
    api, dead = dead_of_a_former_life()
    assert api.call("POST", f"/v1/executions/{dead}/redrive", {"asItWas": True}).status == 200
    run(api, 5)
    delivered = [one for one in api.clockwork.targets.delivered if one.execution_id == dead]
    assert [one.occurrence.payload.body for one in delivered] == [b"1", b"1"]
