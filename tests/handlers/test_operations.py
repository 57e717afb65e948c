"""The routes of operations: they begin, are shown, listed and stopped, and each request has an entry in the trail."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.flows.operations.sweep import run_operations
from tests.handlers.handlers import Answer, Api
from tests.support.examples import ALICE

PATH = "/v1/clients/acme/operations"
ALL: dict[str, Any] = {"kind": "cancelJobs", "filter": {"prefix": "job-"}, "maxPerSecond": 1}


@pytest.fixture
def api() -> Api:
    api = Api()
    for number in range(15):
        api.create(jobKey=f"job-{number:02d}", schedule={"every": {"seconds": 3_600}})
    return api


def begun(api: Api, **changes: Any) -> Answer:
    return api.call("POST", PATH, {**ALL, **changes})


def sweep(api: Api) -> None:
    run_operations(api.clockwork.world, api.clockwork.clock.at + 12_000)


def test_an_operation_is_accepted_shown_and_run_by_sweeps(api: Api) -> None:
    answer = begun(api, reason="over", filter={"prefix": "job-"})
    assert answer.status == 202
    made = answer.body
    assert (made["state"], made["matched"], made["changed"], made["calls"]) == ("RUNNING", 0, 0, 0)
    assert (made["kind"], made["filter"], made["reason"], made["madeBy"]) == (
        "cancelJobs",
        {"prefix": "job-"},
        "over",
        ALICE,
    )
    sweep(api)
    shown = api.call("GET", f"{PATH}/{made['operationId']}").body
    assert (shown["state"], shown["matched"], shown["changed"], shown["passed"]) == ("RUNNING", 10, 10, 0)
    assert shown["waitsUntil"] > made["madeAt"]
    api.clockwork.clock.advance(10_000)
    sweep(api)
    shown = api.call("GET", f"{PATH}/{made['operationId']}").body
    assert (shown["state"], shown["changed"], shown["calls"]) == ("DONE", 15, 2)
    assert "waitsUntil" not in shown
    assert shown["endedAt"] > made["madeAt"]


def test_a_stop_says_who_stopped_it_and_a_repeat_changes_nothing(api: Api) -> None:
    made = begun(api).body
    path = f"{PATH}/{made['operationId']}/stop"
    first = api.call("POST", path, {"reason": "wrong filter"})
    assert (first.status, first.body["state"], first.body["stoppedBy"]) == (200, "STOPPED", ALICE)
    assert api.call("POST", path).body == first.body
    entries = api.call("GET", "/v1/audit", query={"clientId": "acme"}).body["items"]
    told = [(one["action"], one.get("reason")) for one in entries if "Operation" in one["action"]]
    assert told == [("stopOperation", "wrong filter"), ("beginOperation", None)]


def test_the_trail_has_what_was_asked_for(api: Api) -> None:
    begun(api, reason="over", waiting="keep")
    (entry,) = api.call("GET", "/v1/audit", query={"clientId": "acme", "limit": "1"}).body["items"]
    assert entry["reason"] == "over"
    assert entry["asked"] == {
        "kind": "cancelJobs",
        "filter": '{"prefix":"job-"}',
        "maxPerSecond": "1.0",
        "waiting": "keep",
    }


def test_a_list_has_the_newest_first_and_a_token_for_the_others(api: Api) -> None:
    made = []
    for _ in range(3):
        made.append(begun(api).body["operationId"])
        api.clockwork.clock.advance(1)
    page = api.call("GET", PATH, query={"limit": "2"}).body
    assert [one["operationId"] for one in page["items"]] == [made[2], made[1]]
    rest = api.call("GET", PATH, query={"limit": "2", "nextToken": page["nextToken"]}).body
    assert ([one["operationId"] for one in rest["items"]], "nextToken" in rest) == ([made[0]], False)


def test_a_repeat_under_an_idempotency_key_is_answered_with_the_same_operation(api: Api) -> None:
    headers = {"idempotency-key": "k"}
    first = api.call("POST", PATH, ALL, headers=headers)
    api.clockwork.clock.advance(5_000)
    again = api.call("POST", PATH, ALL, headers=headers)
    assert again.body == first.body
    other = api.call("POST", PATH, {**ALL, "kind": "pauseJobs"}, headers=headers)
    assert other.status == 409


def test_a_fifth_operation_is_refused_until_one_is_over(api: Api) -> None:
    for _ in range(4):
        last = begun(api)
    assert begun(api).status == 409
    api.call("POST", f"{PATH}/{last.body['operationId']}/stop")
    assert begun(api).status == 202


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"kind": "burnJobs"}, "/kind"),
        ({"kind": "pauseJobs", "filter": {}}, "/filter"),
        ({"kind": "pauseJobs", "filter": {"prefix": "a", "from": "2026-01-01T00:00:00Z"}}, "/filter/from"),
        ({"kind": "pauseJobs", "filter": {"prefix": "a", "pausedReason": "r"}}, "/filter/pausedReason"),
        ({"kind": "redriveDead", "filter": {"tag": "a"}}, "/filter/tag"),
        ({"kind": "redriveDead", "filter": {"prefix": "\x01"}}, "/filter/prefix"),
        ({"kind": "redriveDead", "filter": {"to": "noon"}}, "/filter/to"),
        ({"kind": "redriveDead", "filter": {"size": 1}}, "/filter/size"),
        ({"kind": "redriveDead", "waiting": "cancel"}, "/waiting"),
        ({"kind": "redriveDead", "maxPerSecond": 0}, "/maxPerSecond"),
        ({"kind": "redriveDead", "maxPerSecond": 1_001}, "/maxPerSecond"),
    ],
)
def test_what_no_operation_can_be_is_refused_at_its_place(api: Api, body: dict[str, Any], pointer: str) -> None:
    answer = api.call("POST", PATH, body)
    assert answer.status == 422
    assert [one["pointer"] for one in answer.body["errors"]] == [pointer]


def test_an_operation_that_is_not_there_is_not_found(api: Api) -> None:
    for method, rest in (("GET", ""), ("POST", "/stop")):
        answer = api.call(method, f"{PATH}/1700000000000-none{rest}")
        assert (answer.status, answer.body["detail"]) == (404, "there is no such operation")
