"""Lists of named jobs: a search over keys and targets, the newest runs of each, and numbers."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.domain.errors import NewerFormat
from clockwork.domain.executions import Outcome, State
from clockwork.edge.operations import job_lists
from clockwork.flows.activity import budget
from tests.handlers.handlers import Api, job_body
from tests.support.examples import ADMIN, ALICE, BOB

EVERY_MINUTE = {"every": {"seconds": 60}}


def named(api: Api, key: str, url: str = "https://hooks.example.com/a", **options: Any) -> str:
    body = job_body(clientId="acme", jobKey=key, schedule=EVERY_MINUTE, target={"type": "http", "url": url}, **options)
    answer = api.call("POST", "/v1/jobs", body)
    assert answer.status == 201, answer.body
    return str(answer.body["jobId"])


def listed(api: Api, **query: str) -> Any:
    answer = api.call("GET", "/v1/jobs", query=query)
    assert answer.status == 200, answer.body
    return answer.body


class TestContains:
    """`contains`: a text in the key or the target."""

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("nightly", ["billing/nightly"]),
            ("NIGHT", ["billing/nightly"]),
            ("example.org", ["shop/Poll"]),
            ("poll", ["shop/Poll"]),
            ("hook", ["billing/nightly", "shop/Poll"]),
            ("no such text", []),
            ("", ["billing/nightly", "shop/Poll"]),
        ],
    )
    def test_a_text_is_found_in_any_case_in_keys_and_targets(self, text: str, found: list[str]) -> None:
        api = Api()
        named(api, "billing/nightly")
        named(api, "shop/Poll", "https://hooks.example.org/stock")
        assert [one["jobKey"] for one in listed(api, contains=text)["items"]] == found

    def test_other_filters_hold_beside_it(self) -> None:
        api = Api()
        for number in range(3):
            named(api, f"job-{number}", tags={"odd": str(number % 2)})
        assert [one["jobKey"] for one in listed(api, contains="job", tag="odd=1")["items"]] == ["job-1"]

    def test_a_long_text_is_refused(self) -> None:
        answer = Api().call("GET", "/v1/jobs", query={"contains": "x" * (job_lists.LONGEST_SOUGHT + 1)})
        assert (answer.status, answer.pointers) == (422, ["?contains"])


class TestRuns:
    """`include=runs`: the newest runs of each job in one call."""

    def ran(self, minutes: int = 5) -> Api:
        api = Api()
        named(api, "a")
        named(api, "b")
        api.clockwork.run_until(api.clockwork.clock.at + minutes * 60_000)
        return api

    def test_each_job_has_its_newest_runs_in_short(self) -> None:
        api = self.ran()
        first, second = listed(api, include="runs", runs="3")["items"]
        assert [len(one["runs"]) for one in (first, second)] == [3, 3]
        newest = api.call("GET", f"/v1/jobs/{first['jobId']}/executions", query={"limit": "3"}).body["items"]
        assert [one["executionId"] for one in first["runs"]] == [one["executionId"] for one in newest]
        run = first["runs"][0]
        assert (run["state"], run["attempts"], run["dueAt"]) == ("SUCCEEDED", 1, newest[0]["dueAt"])
        assert run["latenessMs"] == newest[0]["attempts"][0]["latenessMs"]
        assert run["tookMs"] >= 0

    def test_without_it_there_are_none(self) -> None:
        assert "runs" not in listed(self.ran())["items"][0]

    def test_one_job_of_a_key_has_them_too(self) -> None:
        assert len(listed(self.ran(), include="runs", jobKey="b")["items"][0]["runs"]) >= 4

    def test_a_page_has_fifty_jobs_at_most_and_goes_on(self) -> None:
        api = Api()
        for number in range(53):
            named(api, f"job-{number:02}")
        page = listed(api, include="runs")
        assert len(page["items"]) == 50
        assert len(listed(api, include="runs", nextToken=page["nextToken"])["items"]) == 3
        assert api.call("GET", "/v1/jobs", query={"include": "runs", "limit": "51"}).status == 422

    @pytest.mark.parametrize("query", [{"include": "all"}, {"include": "runs", "runs": "51"}, {"runs": "0"}])
    def test_other_values_are_refused(self, query: dict[str, str]) -> None:
        assert Api().call("GET", "/v1/jobs", query=query).status == 422

    def test_a_page_whose_runs_cost_too_much_ends_with_the_job_that_it_came_to(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        api = self.ran()
        whole = listed(api, include="runs")["items"]
        monkeypatch.setattr(budget, "PAGE_UNITS", 0)
        first = listed(api, include="runs")
        second = listed(api, include="runs", nextToken=first["nextToken"])
        assert [*first["items"], *second["items"]] == whole
        assert (len(first["items"]), "nextToken" in second) == (1, False)

    def test_a_record_of_a_newer_version_hides_the_runs_of_its_job_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        api = self.ran()
        bad = listed(api)["items"][0]["jobId"]
        executions = api.clockwork.world.executions
        read = executions.list

        def reading(job_id: str, limit: int, before: str | None) -> Any:
            if job_id == bad:
                raise NewerFormat("of a newer version")
            return read(job_id, limit, before)

        monkeypatch.setattr(type(executions), "list", lambda _, *args: reading(*args))
        assert [("runs" in one) for one in listed(api, include="runs")["items"]] == [False, True]


class TestLastState:
    """`lastState`: how the execution of a job that fires once has ended."""

    def ended(self) -> Api:
        api = Api()
        api.clockwork.targets._answer = lambda one: Outcome(
            State.FAILED if b"dies" in one.occurrence.payload.body else State.SUCCEEDED, 0, 0, permanent=True
        )
        for key in ("dies", "lives"):
            assert api.create(jobKey=key, schedule={"delaySeconds": 1}, payload=key).status == 201
        assert api.create(jobKey="later", schedule={"delaySeconds": 3_600}).status == 201
        named(api, "recurs")
        api.clockwork.run_until(api.clockwork.clock.at + 90_000)
        return api

    def states(self, api: Api, **query: str) -> dict[str, tuple[str, str | None]]:
        return {one["jobKey"]: (one["state"], one.get("lastState")) for one in listed(api, **query)["items"]}

    @pytest.mark.parametrize("query", [{}, {"include": "runs"}])
    def test_a_list_shows_that_a_job_died_whose_only_fire_is_past(self, query: dict[str, str]) -> None:
        assert self.states(self.ended(), **query) == {
            "dies": ("COMPLETED", "DEAD"),
            "later": ("ACTIVE", None),
            "lives": ("COMPLETED", "SUCCEEDED"),
            "recurs": ("ACTIVE", None),
        }

    def test_the_job_itself_shows_it_too(self) -> None:
        api = self.ended()
        shown = [api.call("GET", f"/v1/jobs/{one['jobId']}").body for one in listed(api)["items"]]
        assert [one.get("lastState") for one in shown] == ["DEAD", None, "SUCCEEDED", None]

    def test_a_run_by_hand_behind_the_fire_is_newer(self) -> None:
        api = self.ended()
        api.clockwork.targets._answer = lambda _: Outcome(State.SUCCEEDED, 0, 0)
        job_id = next(one["jobId"] for one in listed(api)["items"] if one["jobKey"] == "dies")
        assert api.call("POST", f"/v1/jobs/{job_id}/run", {}).status == 202
        api.clockwork.run_until(api.clockwork.clock.at + 90_000)
        assert self.states(api)["dies"] == ("COMPLETED", "SUCCEEDED")
        assert api.call("GET", f"/v1/jobs/{job_id}").body["lastState"] == "SUCCEEDED"

    def test_what_has_not_ended_shows_where_it_stands(self) -> None:
        api = Api()
        api.clockwork.targets._answer = lambda _: Outcome(State.FAILED, 0, 0, error="answered 503")
        api.create(jobKey="fails", schedule={"delaySeconds": 1})
        api.clockwork.run_until(api.clockwork.clock.at + 1_500)
        assert self.states(api) == {"fails": ("COMPLETED", "FAILED")}

    def test_a_page_ends_before_a_read_that_its_budget_has_no_room_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        api = self.ended()
        monkeypatch.setattr(budget.Budget, "note_read", lambda _: False)
        assert self.states(api) == {"dies": ("COMPLETED", "DEAD"), "later": ("ACTIVE", None)}
        rest = listed(api, nextToken=listed(api)["nextToken"])
        assert [one["jobKey"] for one in rest["items"]] == ["lives", "recurs"]
        assert rest["jobsRead"] == 2

    def test_only_jobs_whose_one_fire_is_past_are_looked_at(self) -> None:
        api = self.ended()
        listed(api)
        assert api.calls.count("executions.list") == 2


class TestCounts:
    """GET /v1/clients/{clientId}/jobs/counts."""

    def counts(self, api: Api, caller: str = ALICE, **query: str) -> Any:
        return api.call("GET", "/v1/clients/acme/jobs/counts", query=query, caller=caller)

    def made(self) -> Api:
        api = Api()
        for number in range(6):
            job_id = named(api, f"{'a' if number < 4 else 'b'}/{number}", tags={"team": "x" if number % 2 else "y"})
            if number == 0:
                api.call("POST", f"/v1/jobs/{job_id}/pause", {})
            if number == 5:
                api.call("DELETE", f"/v1/jobs/{job_id}")
        return api

    def test_jobs_are_counted_by_state_and_tag_without_those_deleted(self) -> None:
        body = self.counts(self.made()).body
        assert (body["count"], body["more"]) == (5, False)
        assert body["states"] == [{"state": "ACTIVE", "count": 4}, {"state": "PAUSED", "count": 1}]
        assert {one["tag"]: one["count"] for one in body["tags"]} == {"team=y": 3, "team=x": 2}

    @pytest.mark.parametrize(
        ("query", "count"),
        [({"prefix": "a/"}, 4), ({"tag": "team=x"}, 2), ({"contains": "B/"}, 1), ({"contains": "?"}, 0)],
    )
    def test_filters_hold(self, query: dict[str, str], count: int) -> None:
        assert self.counts(self.made(), **query).body["count"] == count

    def test_beyond_a_bound_there_are_more(self, monkeypatch: pytest.MonkeyPatch) -> None:
        api = self.made()
        monkeypatch.setattr(job_lists, "MOST_COUNTED", 3)
        body = self.counts(api).body
        assert (body["count"], body["more"]) == (3, True)

    def test_a_client_without_jobs_has_none(self) -> None:
        body = self.counts(Api()).body
        assert (body["count"], body["states"], body["tags"], body["more"]) == (0, [], [], False)

    def test_it_pays_as_a_create_and_an_admin_looks_on_nobodys_account(self) -> None:
        api = self.made()
        api.call("PUT", "/v1/clients/acme", {"principals": [ALICE], "createsPerSecond": 1}, caller=ADMIN)
        assert {self.counts(api).status for _ in range(20)} == {200, 429}
        assert {self.counts(api, ADMIN).status for _ in range(20)} == {200}

    def test_another_client_is_not_counted(self) -> None:
        assert self.counts(self.made(), BOB).status == 403
