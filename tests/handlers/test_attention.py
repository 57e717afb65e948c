"""GET /v1/clients/{clientId}/attention: what is dead, what is tried again, and why."""

from __future__ import annotations

from typing import Any

import pytest

from tests.handlers.handlers import Api, job_body
from tests.handlers.test_changes_of_named_jobs import LATER, ONCE, failing, healed
from tests.handlers.test_named_api import create, run
from tests.support.examples import ADMIN, BOB

PATH = "/v1/clients/acme/attention"
NOTHING = {"items": [], "groups": [], "executionsRead": 0}


@pytest.fixture
def api() -> Api:
    """Two executions of one job are tried again, one of another job is dead, and so is one without a key."""
    found = Api()
    failing(found)
    create(found, "slow", {"every": {"seconds": 20}}, retryPolicy=LATER)
    create(found, "once", {"delaySeconds": 5}, retryPolicy=ONCE)
    found.create(schedule={"delaySeconds": 6}, retryPolicy=ONCE)
    run(found, 45)
    return found


def look(api: Api, **query: str) -> Any:
    answer = api.call("GET", PATH, query=query)
    assert answer.status == 200, answer.text
    return answer.body


def test_the_dead_come_first_and_then_what_is_tried_again(api: Api) -> None:
    found = look(api)
    assert [(one["kind"], one.get("jobKey"), one["state"], one["attempts"]) for one in found["items"]] == [
        ("dead", None, "DEAD", 1),
        ("dead", "once", "DEAD", 1),
        ("retrying", "slow", "FAILED", 1),
        ("retrying", "slow", "FAILED", 1),
    ]
    assert all(one["lastError"] for one in found["items"])
    assert [("nextAttemptAt" in one) for one in found["items"]] == [False, False, True, True]
    assert "nextToken" not in found


def test_one_cause_is_one_group(api: Api) -> None:
    found = look(api)
    assert [(one["kind"], one.get("jobKey"), one["count"]) for one in found["groups"]] == [
        ("retrying", "slow", 2),
        ("dead", None, 1),
        ("dead", "once", 1),
    ]
    newest = found["groups"][0]
    assert newest["executionId"] == found["items"][2]["executionId"]
    assert newest["firstDueAt"] < newest["lastDueAt"] == found["items"][2]["dueAt"]


def test_a_time_chooses_by_due_instants_of_either_kind(api: Api) -> None:
    whole = sorted(look(api)["items"], key=lambda one: one["dueAt"])
    for first, last in ((0, 1), (1, 2), (2, 3), (0, 3)):
        some = look(api, **{"from": whole[first]["dueAt"], "to": whole[last]["dueAt"]})["items"]
        assert sorted(one["dueAt"] for one in some) == [one["dueAt"] for one in whole[first : last + 1]]
    assert api.call("GET", PATH, query={"from": "noon"}).pointers == ["?from"]


def test_pages_of_any_size_have_each_execution_once(api: Api) -> None:
    whole = [one["executionId"] for one in look(api)["items"]]
    for limit in ("1", "2", "3"):
        seen: list[str] = []
        query = {"limit": limit}
        for _ in range(9):
            page = look(api, **query)
            seen += [one["executionId"] for one in page["items"]]
            assert len(page["items"]) <= int(limit)
            if "nextToken" not in page:
                break
            query = {"limit": limit, "nextToken": page["nextToken"]}
        assert seen == whole


def test_it_can_be_asked_for_one_kind_and_for_a_prefix(api: Api) -> None:
    assert {one["kind"] for one in look(api, kind="dead")["items"]} == {"dead"}
    assert {one["kind"] for one in look(api, kind="retrying")["items"]} == {"retrying"}
    assert look(api, kind="retrying,dead") == look(api)
    assert [one["jobKey"] for one in look(api, prefix="on")["items"]] == ["once"]
    token = look(api, kind="dead", limit="1")["nextToken"]
    assert api.call("GET", PATH, query={"kind": "retrying", "nextToken": token}).pointers == ["?nextToken"]


@pytest.mark.parametrize("kind", ["", "Dead", "dead,dead", "dead,", "dead, retrying", "all"])
def test_another_kind_is_refused(api: Api, kind: str) -> None:
    assert api.call("GET", PATH, query={"kind": kind}).pointers == ["?kind"]


def test_what_succeeds_in_the_end_leaves_the_list(api: Api) -> None:
    healed(api)
    run(api, 90)
    assert look(api, kind="retrying")["items"] == []
    assert len(look(api, kind="dead")["items"]) == 2


def test_what_is_at_its_second_attempt_stays_listed_until_that_has_ended(api: Api) -> None:
    told: list[Any] = []
    was = api.clockwork.targets._answer

    def looking(delivery: Any) -> Any:
        if delivery.attempt == 2:
            told.append([(one["state"], one["attempts"]) for one in look(api, kind="retrying")["items"]])
        return was(delivery)

    api.clockwork.targets._answer = looking
    run(api, 60)
    assert ("RUNNING", 2) in told[0]


def test_what_is_at_its_first_attempt_is_not_listed_as_tried_again() -> None:
    api = Api()
    create(api)
    told: list[Any] = []
    was = api.clockwork.targets._answer

    def looking(delivery: Any) -> Any:
        told.append(look(api, kind="retrying")["items"])
        return was(delivery)

    api.clockwork.targets._answer = looking
    run(api, 30)
    assert told == [[]] * 2


def test_another_client_sees_none_of_it(api: Api) -> None:
    assert api.call("GET", PATH, caller=BOB).status == 403
    assert api.call("GET", "/v1/clients/globex/attention", caller=ADMIN).body == NOTHING


def test_a_job_that_never_fails_is_never_listed() -> None:
    api = Api()
    api.create(**{**job_body(), "schedule": {"delaySeconds": 1}})
    create(api)
    run(api, 30)
    assert look(api) == NOTHING
