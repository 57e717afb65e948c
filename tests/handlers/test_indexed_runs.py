"""The option `runsIndex` of a client, and GET /v1/clients/{clientId}/runs with `jobs=all`, which needs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain import instants
from clockwork.domain.ids import is_node
from clockwork.domain.instants import to_text
from clockwork.domain.storage.runs_index import Place, PlacePage
from clockwork.flows.activity import budget, runs
from tests.handlers.handlers import Api
from tests.handlers.test_changes_of_named_jobs import LATER, ONCE, failing, healed
from tests.handlers.test_named_api import create, run
from tests.support.examples import ACME, ADMIN, ALICE, BOB

PATH, ALL = "/v1/clients/acme/runs", {"jobs": "all"}


def switch(api: Api, *, on: bool) -> Any:
    body = {"principals": [ALICE], "allowedPrivateTargets": list(ACME.allowed_private_targets), "runsIndex": on}
    answer = api.call("PUT", "/v1/clients/acme", body, caller=ADMIN)
    assert answer.status == 200, answer.text
    return answer.body


@pytest.fixture
def api() -> Api:
    """Two named jobs and two without a key have ended, one of each DEAD; a third one without a key is to come."""
    found = Api()
    switch(found, on=True)
    run(found, 30)
    create(found, "bill/good", {"delaySeconds": 2})
    found.create(schedule={"delaySeconds": 3})
    found.create(schedule={"delaySeconds": 900})
    run(found, 10)
    failing(found)
    create(found, "crm/bad", {"delaySeconds": 2}, retryPolicy=ONCE)
    found.create(schedule={"delaySeconds": 3}, retryPolicy=ONCE)
    run(found, 10)
    return found


def look(api: Api, **query: str) -> Any:
    answer = api.call("GET", PATH, query=ALL | query)
    assert answer.status == 200, answer.text
    return answer.body


def indexed(api: Api) -> set[str]:
    return {one.execution_id for one in api.clockwork.executions.all() if one.end.indexed}


def test_what_has_ended_of_all_jobs_is_listed_in_any_state(api: Api) -> None:
    found = look(api)
    assert [(one.get("jobKey"), one["state"]) for one in found["items"]] == [
        (None, "DEAD"),
        ("crm/bad", "DEAD"),
        (None, "SUCCEEDED"),
        ("bill/good", "SUCCEEDED"),
    ]
    assert (found["jobsRead"], found["runsRead"], "nextToken" in found) == (0, 4, False)


def test_a_state_a_time_and_a_prefix_choose_among_them(api: Api) -> None:
    whole = look(api)["items"]
    assert look(api, state="DEAD")["items"] == whole[:2]
    assert look(api, state="EXPIRED")["items"] == []
    assert look(api, prefix="bill/")["items"] == whole[3:]
    bounds = {"from": whole[2]["dueAt"], "to": whole[1]["dueAt"]}
    assert look(api, **bounds)["items"] == whole[1:3]


@pytest.mark.parametrize("limit", ["1", "2", "3"])
def test_pages_have_each_once_and_say_how_far_they_are_complete(api: Api, limit: str) -> None:
    whole, seen, query = look(api)["items"], list[Any](), {"limit": limit}
    for _ in range(9):
        page = look(api, **query)
        seen += page["items"]
        if "nextToken" not in page:
            break
        assert page["completeFrom"] > seen[-1]["dueAt"]
        query = {"limit": limit, "nextToken": page["nextToken"]}
    assert seen == whole


def test_a_page_that_has_cost_enough_ends_and_goes_on(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, seen, query, pages = look(api)["items"], list[Any](), dict[str, str](), 0
    monkeypatch.setattr(budget, "PAGE_UNITS", 0)
    monkeypatch.setattr(runs, "FIRST_PLACES", 1)
    while True:
        page = look(api, **query)
        seen, pages = seen + page["items"], pages + 1
        if "nextToken" not in page:
            break
        query = {"nextToken": page["nextToken"]}
    assert (seen, pages) == (whole, 4)


def test_a_page_of_one_makes_few_calls_for_records_that_are_none_of_its(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place says nothing of the client that had the id before, nor of a record that has expired."""
    records = api.clockwork.executions
    (one, *_) = [each for each in records.all() if each.end.indexed]
    for number in range(1, 1_000):
        due_at = one.due_at - number
        place = one.execution_id.replace(str(one.due_at), str(due_at))
        records.save([(None, msgspec.structs.replace(one, execution_id=place, due_at=due_at))])
    asked = list[int]()

    def gone(refs: Sequence[tuple[str, str]]) -> Sequence[None]:
        asked.append(len(refs))
        api.clockwork.clock.at += 1
        return [None for _ in refs]

    monkeypatch.setattr(records, "get", gone)
    page = look(api, limit="1")
    assert (page["items"], page["runsRead"], "nextToken" in page) == ([], 1_003, False)
    assert len(asked) < 30

    asked.clear()
    monkeypatch.setattr(budget, "PAGE_MS", 3)
    page = look(api, limit="1")
    assert (len(asked), page["items"], "nextToken" in page) == (3, [], True)


@pytest.mark.parametrize("limit", ["1", "2", "3", "9"])
def test_pages_that_pass_over_records_have_all_others_once(
    api: Api, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    for number in range(12):
        api.create(schedule={"delaySeconds": 2 + number})
    run(api, 30)
    records, whole, seen, query = api.clockwork.executions, look(api)["items"], list[Any](), {"limit": limit}
    hidden, get = {one["executionId"] for one in whole[1::3]}, records.get
    monkeypatch.setattr(records, "get", lambda refs: [None if ref[1] in hidden else get([ref])[0] for ref in refs])
    for _ in whole:
        page = look(api, **query)
        seen += page["items"]
        if "nextToken" not in page:
            break
        query = {"limit": limit, "nextToken": page["nextToken"]}
    assert seen == [one for one in whole if one["executionId"] not in hidden]


def test_a_damaged_place_shows_nobody_the_run_of_another_client(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"principals": [BOB], "runsIndex": True}
    assert api.call("PUT", "/v1/clients/globex", body, caller=ADMIN).status in (200, 201)
    inner = api.clockwork.executions.indexed
    monkeypatch.setattr(api.clockwork.executions, "indexed", lambda _, limit, behind: inner("acme", limit, behind))
    answer = api.call("GET", "/v1/clients/globex/runs", query=ALL, caller=BOB)
    assert (answer.status, answer.body["items"]) == (200, [])


@pytest.mark.parametrize(
    ("damaged", "complete_from"),
    [
        ("1777975200250#x", 1_777_975_200_251),
        ("17779752O0250#x", 1_777_975_300_000),
        ("2x", 3_000_000_000_000),
        ("x", instants.LAST),
        ("~", instants.LAST),
        ("\u0662", instants.LAST),
    ],
)
def test_a_place_whose_key_is_damaged_ends_no_list_and_says_no_more_than_is_known(
    api: Api, monkeypatch: pytest.MonkeyPatch, damaged: str, complete_from: int
) -> None:
    inner, whole = api.clockwork.executions.indexed, look(api)["items"]

    def listed(client_id: str, limit: int, behind: str | None) -> PlacePage:
        if behind == damaged:
            return inner(client_id, limit, None)
        return PlacePage([Place(damaged, "x", "y", "")], damaged)

    monkeypatch.setattr(api.clockwork.executions, "indexed", listed)
    monkeypatch.setattr(budget, "PAGE_UNITS", 0)
    page = look(api, **{"from": "1970-01-01T00:00:00Z"})
    assert (page["items"], page["completeFrom"]) == ([], to_text(complete_from))
    assert look(api, nextToken=page["nextToken"])["items"] == whole


def test_a_run_that_is_tried_again_comes_once_it_has_ended(api: Api) -> None:
    before = len(look(api)["items"])
    create(api, "slow", {"delaySeconds": 1}, retryPolicy=LATER)
    run(api, 5)
    assert len(look(api)["items"]) == before
    healed(api)
    run(api, 600)
    assert look(api)["items"][0]["jobKey"] == "slow"


def test_a_redriven_run_keeps_its_place_and_shows_its_new_state(api: Api) -> None:
    dead = look(api, state="DEAD")["items"]
    healed(api)
    assert api.call("POST", f"/v1/executions/{dead[0]['executionId']}/redrive").status == 200
    assert [(one["executionId"], one["state"]) for one in look(api, state="PENDING")["items"]] == [
        (dead[0]["executionId"], "PENDING")
    ]
    run(api, 5)
    assert look(api, state="DEAD")["items"] == dead[1:]
    again = look(api)["items"][0]
    assert (again["executionId"], again["state"]) == (dead[0]["executionId"], "SUCCEEDED")


def test_without_the_option_it_is_refused_by_its_name_and_nothing_is_marked() -> None:
    api = Api()
    create(api, "bill/good", {"delaySeconds": 2})
    run(api, 10)
    answer = api.call("GET", PATH, query=ALL)
    assert (answer.status, answer.pointers) == (422, ["?jobs"])
    assert "runsIndex" in answer.text
    assert indexed(api) == set()
    assert all(b"indexed" not in msgspec.msgpack.encode(one) for one in api.clockwork.executions.all())


def test_switched_on_later_it_has_what_ends_from_then_on_and_says_since_when() -> None:
    api = Api()
    create(api, "early", {"delaySeconds": 2})
    run(api, 10)
    shown = switch(api, on=True)
    assert shown["runsIndexedFrom"] == to_text(api.clockwork.clock.at + 20_000)
    create(api, "late", {"delaySeconds": 25})
    run(api, 60)
    found = look(api)
    assert [one["jobKey"] for one in found["items"]] == ["late"]
    assert found["completeFrom"] == shown["runsIndexedFrom"]
    assert switch(api, on=True) == shown


def test_switched_off_it_marks_no_more_and_a_new_start_says_so(api: Api) -> None:
    before = indexed(api)
    assert "runsIndexedFrom" not in switch(api, on=False)
    run(api, 15)
    healed(api)
    create(api, "unlisted", {"delaySeconds": 2})
    run(api, 10)
    assert indexed(api) == before
    assert api.call("GET", PATH, query=ALL).pointers == ["?jobs"]
    shown = switch(api, on=True)
    run(api, 60)
    found = look(api)
    assert {one["executionId"] for one in found["items"]} == before
    assert found["completeFrom"] == shown["runsIndexedFrom"]


def test_a_success_at_level_none_leaves_no_record_and_is_not_in_it(api: Api) -> None:
    healed(api)
    before = len(look(api)["items"])
    api.create(schedule={"delaySeconds": 2}, record="none")
    run(api, 10)
    assert len(look(api)["items"]) == before
    failing(api)
    api.create(schedule={"delaySeconds": 2}, record="none", retryPolicy=ONCE)
    run(api, 10)
    assert look(api)["items"][0]["state"] == "DEAD"


def test_a_run_of_a_workflow_is_one_and_its_nodes_are_none(api: Api) -> None:
    healed(api)
    hook = {"type": "http", "url": "https://hooks.example.com/step"}
    target = {"type": "workflow", "nodes": {"only": {"target": hook}}}
    api.create(target=target, payload={}, schedule={"delaySeconds": 1})
    run(api, 30)
    records = api.clockwork.executions.all()
    assert any(is_node(one.job_id) for one in records)
    assert not any(is_node(one.job_id) for one in records if one.end.indexed)


@pytest.mark.parametrize(
    ("name", "value"),
    [("jobs", "some"), ("jobs", ""), ("tag", "team=bill"), ("state", "dead"), ("nextToken", "x")],
)
def test_faults_are_refused(api: Api, name: str, value: str) -> None:
    assert api.call("GET", PATH, query=ALL | {name: value}).pointers == [f"?{name}"]


def test_a_token_of_the_one_list_opens_not_in_the_other(api: Api) -> None:
    token = look(api, limit="1")["nextToken"]
    assert api.call("GET", PATH, query={"nextToken": token}).pointers == ["?nextToken"]


def test_the_next_client_of_an_id_sees_none_of_its_runs(api: Api) -> None:
    since_at = api.clockwork.clock.at
    clients = api.clockwork.clients
    acme = clients.get("acme")
    assert acme is not None
    clients.put(msgspec.structs.replace(acme, since_at=since_at))
    assert look(api)["items"] == []
    healed(api)
    create(api, "new", {"delaySeconds": 2})
    run(api, 10)
    assert [one["jobKey"] for one in look(api)["items"]] == ["new"]


def test_other_clients_see_none_of_it(api: Api) -> None:
    assert api.call("GET", PATH, query=ALL, caller=BOB).status == 403
