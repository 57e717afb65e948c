"""GET /v1/clients/{clientId}/runs: the runs of all named jobs, without an index, and how far they are complete."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.domain.instants import to_text
from clockwork.flows.activity import budget
from clockwork.flows.requests import read
from tests.handlers.handlers import Api
from tests.handlers.test_changes_of_named_jobs import ONCE, failing
from tests.handlers.test_named_api import create, run
from tests.support.examples import ADMIN, BOB

PATH = "/v1/clients/acme/runs"


@pytest.fixture
def api() -> Api:
    found = Api()
    create(found, "bill/often", {"every": {"seconds": 10}}, tags={"team": "bill"})
    create(found, "crm/slow", {"every": {"seconds": 25}})
    found.create(schedule={"delaySeconds": 3})
    run(found, 60)
    return found


def look(api: Api, **query: str) -> Any:
    answer = api.call("GET", PATH, query=query)
    assert answer.status == 200, answer.text
    return answer.body


def test_the_runs_of_all_named_jobs_come_in_one_order(api: Api) -> None:
    found = look(api)
    due = [one["dueAt"] for one in found["items"]]
    assert due == sorted(due, reverse=True)
    assert {one["jobKey"] for one in found["items"]} == {"bill/often", "crm/slow"}
    assert (len(due), found["jobsRead"]) == (7, 2)
    assert all((one["state"], one["attempts"]) == ("SUCCEEDED", 1) for one in found["items"])
    assert found["completeFrom"] == to_text(api.clockwork.clock.at - 86_400_000)


def test_a_time_a_prefix_a_tag_and_a_state_choose_among_them(api: Api) -> None:
    begin = api.clockwork.clock.at - 60_000
    some = look(api, **{"from": to_text(begin + 20_000), "to": to_text(begin + 40_000)})
    assert 1 < len(some["items"]) < 7
    assert all(to_text(begin + 20_000) <= one["dueAt"] <= to_text(begin + 40_000) for one in some["items"])
    assert {one["jobKey"] for one in look(api, prefix="crm/")["items"]} == {"crm/slow"}
    assert {one["jobKey"] for one in look(api, tag="team=bill")["items"]} == {"bill/often"}
    assert look(api, state="DEAD")["items"] == []
    failing(api)
    create(api, "bad", {"delaySeconds": 1}, retryPolicy=ONCE)
    run(api, 5)
    assert [one["jobKey"] for one in look(api, state="DEAD")["items"]] == ["bad"]


def test_a_page_that_is_full_says_from_when_on_it_is_complete(api: Api) -> None:
    whole, some = look(api)["items"], look(api, limit="3")
    assert some["items"] == whole[:3]
    assert some["completeFrom"] == whole[2]["dueAt"]


def test_a_job_with_more_runs_than_are_read_says_so(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "MOST_RUNS_OF_JOB", 2)
    found = look(api)
    assert len(found["items"]) == 4
    often = [one["dueAt"] for one in found["items"] if one["jobKey"] == "bill/often"]
    slow = [one["dueAt"] for one in found["items"] if one["jobKey"] == "crm/slow"]
    assert found["completeFrom"] == max(min(often), min(slow))


def test_jobs_that_cost_too_much_follow_on_another_page_about_the_same_time(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = look(api)["items"]
    monkeypatch.setattr(budget, "PAGE_UNITS", 0)
    seen, query, pages = [], dict[str, str](), 0
    while True:
        page = look(api, **query)
        seen += page["items"]
        pages += 1
        assert page["jobsRead"] <= 1
        if "nextToken" not in page:
            break
        run(api, 30)
        query = {"nextToken": page["nextToken"]}
    assert pages == 2
    assert sorted(one["executionId"] for one in seen) == sorted(one["executionId"] for one in whole)


@pytest.mark.parametrize(
    ("name", "value"), [("state", "ACTIVE"), ("state", "dead"), ("from", "noon"), ("limit", "0"), ("nextToken", "x")]
)
def test_faults_are_refused(api: Api, name: str, value: str) -> None:
    assert api.call("GET", PATH, query={name: value}).pointers == [f"?{name}"]


def test_a_range_that_is_empty_or_far_away_has_none(api: Api) -> None:
    for query in ({"from": "2090-01-01T00:00:00Z"}, {"to": "1971-01-01T00:00:00Z"}, {"to": "9999-12-31T23:59:59Z"}):
        assert isinstance(look(api, **query)["items"], list)


def test_other_clients_see_none_of_it(api: Api) -> None:
    assert api.call("GET", PATH, caller=BOB).status == 403
    assert api.call("GET", "/v1/clients/globex/runs", caller=ADMIN).body["items"] == []
