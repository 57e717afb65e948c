"""GET /v1/jobs/{jobId}/fires: the next fires of one job, with the shifts of the clock among them."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.edge.operations.job_lists import MOST_FIRES
from tests.handlers.handlers import Api, job_body
from tests.support.examples import ADMIN, ALICE, BOB

BERLIN = {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}


def made(api: Api, schedule: dict[str, Any], key: str = "nightly") -> str:
    answer = api.call("POST", "/v1/jobs", job_body(clientId="acme", jobKey=key, schedule=schedule))
    assert answer.status == 201, answer.body
    return str(answer.body["jobId"])


def fires(api: Api, job_id: str, caller: str = ALICE, **query: str) -> Any:
    return api.call("GET", f"/v1/jobs/{job_id}/fires", query=query, caller=caller)


def test_fires_are_in_the_zone_of_the_schedule_and_marked_where_the_clock_shifts() -> None:
    api = Api()
    answer = fires(api, made(api, BERLIN), **{"from": "2024-03-30T12:00:00Z", "count": "2"})
    assert answer.status == 200
    first, second = answer.body["items"]
    assert (first["at"], first["local"], first["dst"]) == (
        "2024-03-31T01:00:00.000Z", "2024-03-31T03:00:00.000+02:00", "gap"
    )  # fmt: skip
    assert (second["local"], "dst" in second) == ("2024-04-01T02:30:00.000+02:00", False)
    assert ("ordinal" in first, first["jittered"], answer.body["more"]) == (False, False, True)


def test_a_preview_and_the_job_itself_have_the_marks_too() -> None:
    api = Api()
    preview = api.call("POST", "/v1/schedules/preview", {"schedule": BERLIN, "count": 365})
    assert {one.get("dst") for one in preview.body["nextFires"]} == {None, "gap", "overlapFirst"}
    job_id = made(api, BERLIN)
    assert [one.get("dst") for one in api.call("GET", f"/v1/jobs/{job_id}").body["nextFires"]] == [None] * 10


def test_a_thousand_are_listed_and_the_last_ones_are_told() -> None:
    api = Api()
    minutely = fires(api, made(api, {"every": {"seconds": 60}}), count=str(MOST_FIRES)).body
    assert (len(minutely["items"]), minutely["more"]) == (MOST_FIRES, True)
    assert len({one["at"] for one in minutely["items"]}) == MOST_FIRES
    few = fires(api, made(api, {"every": {"seconds": 60}, "maxFires": 3}, "few")).body
    assert ([one["ordinal"] for one in few["items"]], few["more"]) == ([1, 2, 3], False)


def test_a_jittered_fire_says_so_and_is_the_one_that_comes() -> None:
    api = Api()
    job_id = made(api, {"every": {"seconds": 60}, "jitterSeconds": 30})
    listed = fires(api, job_id, count="5").body["items"]
    assert all(one["jittered"] for one in listed)
    assert listed[0]["at"] == api.call("GET", f"/v1/jobs/{job_id}").body["nextFires"][0]["at"]


def test_from_is_now_at_the_earliest_and_includes_its_own_instant() -> None:
    api = Api()
    job_id = made(api, {"every": {"seconds": 60}})
    now = fires(api, job_id, count="3").body["items"]
    assert fires(api, job_id, count="3", **{"from": "1999-01-01T00:00:00Z"}).body["items"] == now
    assert fires(api, job_id, count="2", **{"from": now[1]["at"]}).body["items"] == now[1:]


def test_a_paused_job_lists_its_fires_as_if_it_were_resumed() -> None:
    api = Api()
    job_id = made(api, BERLIN)
    api.call("POST", f"/v1/jobs/{job_id}/pause", {})
    assert len(fires(api, job_id, count="2").body["items"]) == 2


@pytest.mark.parametrize("query", [{"count": "0"}, {"count": "1001"}, {"count": "x"}, {"from": "noon"}, {"limit": "5"}])
def test_a_query_with_a_fault_is_refused(query: dict[str, str]) -> None:
    api = Api()
    assert fires(api, made(api, BERLIN), **query).status == 422


def test_a_job_of_another_client_or_one_that_is_deleted_is_not_there() -> None:
    api = Api()
    job_id = made(api, BERLIN)
    assert fires(api, job_id, BOB).status in (403, 404)
    assert fires(api, job_id, ADMIN).status == 200
    api.call("DELETE", f"/v1/jobs/{job_id}")
    assert fires(api, job_id).status == 404


def test_exclusions_that_cost_too_much_end_the_list_early() -> None:
    api = Api()
    job_id = made(api, {"every": {"seconds": 1}, "exclude": ["* 0-58 * * * *"]})
    answer = fires(api, job_id, count=str(MOST_FIRES))
    assert answer.status == 200
    assert len(answer.body["items"]) == MOST_FIRES or answer.body["more"]


def test_each_look_pays_as_a_create() -> None:
    api = Api()
    job_id = made(api, BERLIN)
    api.call("PUT", "/v1/clients/acme", {"principals": [ALICE], "createsPerSecond": 1}, caller=ADMIN)
    statuses = {fires(api, job_id).status for _ in range(20)}
    assert statuses == {200, 429}
