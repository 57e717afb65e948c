"""Dead executions over the API: their client lists, redrives and discards them. Also cancels of executions."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.domain.executions import Outcome, State
from tests.handlers.faults import refused
from tests.handlers.handlers import Api
from tests.support.examples import BOB

ONCE = {"maxAttempts": 1}


def api_with_dead(*keys: str | None) -> Api:
    """An API where acme has one dead execution per key, due a second apart. Key None: of an anonymous job."""
    api = Api()

    def fail(_: Any) -> Outcome:
        now = api.clockwork.clock.now()
        return Outcome(State.FAILED, now, now, error="HTTP 500")

    api.clockwork.targets._answer = fail
    for number, key in enumerate(keys, 1):
        named = {} if key is None else {"jobKey": key}
        created = api.create(schedule={"delaySeconds": number}, retryPolicy=ONCE, **named)
        assert created.status == 201, created.text
    api.clockwork.run_until(api.clockwork.clock.at + 60_000)
    return api


def dead(api: Api, **query: str) -> list[dict[str, Any]]:
    """The dead executions on all pages of the list."""
    items: list[dict[str, Any]] = []
    while True:
        answer = api.call("GET", "/v1/clients/acme/dead", query=query)
        assert answer.status == 200, answer.text
        items += answer.body["items"]
        if "nextToken" not in answer.body:
            return items
        query["nextToken"] = answer.body["nextToken"]


def test_what_is_dead_is_listed_newest_first_page_by_page() -> None:
    api = api_with_dead(None, "a", "b", None)
    due = [one["dueAt"] for one in dead(api)]
    assert due == sorted(due, reverse=True)
    assert [one["dueAt"] for one in dead(api, limit="1")] == due
    assert {one["state"] for one in dead(api)} == {"DEAD"}
    assert len(dead(api, prefix="a")) == 1
    assert api.call("GET", "/v1/clients/globex/dead", caller=BOB).body == {"items": [], "executionsRead": 0}


def test_a_dead_execution_is_redriven_and_then_it_is_not_dead() -> None:
    api = api_with_dead(None)
    (one,) = dead(api)
    path = f"/v1/executions/{one['executionId']}"
    api.clockwork.targets._answer = lambda _: Outcome(State.SUCCEEDED, api.clockwork.clock.at, api.clockwork.clock.at)
    answer = api.call("POST", f"{path}/redrive")
    assert (answer.status, answer.body["state"], answer.body["reason"]) == (200, "PENDING", "redriven")
    api.clockwork.run_until(api.clockwork.clock.at + 60_000)
    assert api.call("GET", path).body["state"] == "SUCCEEDED"
    again = api.call("POST", f"{path}/redrive", {})
    refused(again, 409)
    assert "SUCCEEDED" in again.body["detail"]
    assert dead(api) == []


def test_dead_executions_are_handled_by_key_and_instant_so_many_a_call() -> None:
    api = api_with_dead("daily-1", "daily-2", "weekly-1", None)
    due = [one["dueAt"] for one in dead(api)]
    path = "/v1/clients/acme/dead"
    first = api.call("POST", f"{path}/discard", {"prefix": "daily-", "limit": 3})
    assert (first.body["matched"], first.body["changed"]) == (1, 1)
    second = api.call("POST", f"{path}/discard", {"prefix": "daily-", "nextToken": first.body["nextToken"]})
    assert second.body == {"matched": 1, "changed": 1}
    assert [one["dueAt"] for one in dead(api)] == due[:2]
    redriven = api.call("POST", f"{path}/redrive", {"from": due[1], "to": due[1]})
    assert redriven.body == {"matched": 1, "changed": 1}
    assert [one["state"] for one in dead(api)] == ["DEAD", "PENDING"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"from": "yesterday"}, "/from"),
        ({"to": "2026-05-01"}, "/to"),
        ({"limit": 101}, "/limit"),
        ({"limit": 0}, "/limit"),
        ({"prefix": "\u0001"}, "/prefix"),
        ({"nextToken": "x"}, "/nextToken"),
        ({"nextToken": "MTcwMDAwMDAwMTAwMCNhLjE3MDAwMDAwMDEwMDAuMA"}, "/nextToken"),
        ({"all": True}, "/all"),
    ],
)
def test_a_fault_of_the_filter_is_422_and_changes_nothing(body: dict[str, Any], pointer: str) -> None:
    api = api_with_dead(None)
    for action in ("redrive", "discard"):
        answer = api.call("POST", f"/v1/clients/acme/dead/{action}", body)
        refused(answer, 422)
        assert answer.pointers == [pointer]
        assert api.writes == []


def test_a_list_of_the_dead_takes_only_its_own_tokens() -> None:
    api = api_with_dead(None)
    refused(api.call("GET", "/v1/clients/acme/dead", query={"nextToken": "AWs"}), 422)
    refused(api.call("GET", "/v1/clients/acme/dead", query={"prefix": "\x01"}), 422)


def test_an_execution_is_cancelled_and_shown_as_it_stands() -> None:
    api = Api()
    created = api.create(schedule={"delaySeconds": 30}).body
    due = api.clockwork.clock.at + 30_000
    path = f"/v1/executions/{created['jobId']}.{due:013d}.0"
    answer = api.call("POST", f"{path}/cancel")
    assert (answer.status, answer.body["result"], answer.body["state"]) == (200, "cancelled", "CANCELLED")
    assert api.call("GET", f"/v1/jobs/{created['jobId']}").body["state"] == "CANCELLED"
    assert api.call("POST", f"{path}/cancel", {}).body["result"] == "cancelled"
    refused(api.call("POST", f"{path}/cancel", caller=BOB), 404)
    refused(api.call("POST", f"{path}/cancel", {"why": 1}), 422)


def test_what_has_ended_is_not_cancelled_any_more() -> None:
    api = api_with_dead(None)
    (one,) = dead(api)
    answer = api.call("POST", f"/v1/executions/{one['executionId']}/cancel")
    assert (answer.body["result"], answer.body["state"]) == ("too_late", "DEAD")
