"""The routes that show where everything stands: the caller, clients, shards, a client's usage, what is to come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain import keys
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Outcome, State
from clockwork.domain.instants import to_text
from clockwork.domain.limits.circuits import MOST_CIRCUITS, Circuit
from clockwork.domain.timeline import Row, ShardStatus
from tests.handlers.faults import refused
from tests.handlers.handlers import GLOBEX, Answer, Api, job_body
from tests.support.events import encoded
from tests.support.examples import ACME, ADMIN, ALICE, BOB, NOW

NOBODY = "arn:aws:iam::111111111111:user/nobody"


@pytest.fixture
def api() -> Api:
    return Api()


def upcoming(api: Api, caller: str = ALICE, **query: str) -> list[dict[str, Any]]:
    """All items of all pages."""
    items: list[dict[str, Any]] = []
    for _ in range(100):
        page = api.call("GET", "/v1/upcoming", caller=caller, query=query).body
        assert len(page["items"]) <= int(query.get("limit", "100"))
        items += page["items"]
        if "nextToken" not in page:
            return items
        query["nextToken"] = page["nextToken"]
    raise AssertionError("the list does not end")


def test_everybody_learns_its_own_name_and_clients(api: Api) -> None:
    assert api.call("GET", "/v1/whoami").body == {"principal": ALICE, "admin": False, "clientIds": ["acme"]}
    assert api.call("GET", "/v1/whoami", caller=NOBODY).body == {"principal": NOBODY, "admin": False, "clientIds": []}
    session = "arn:aws:sts::111111111111:assumed-role/Admin/me"
    answer = api.call("GET", "/v1/whoami", caller=session).body
    assert (answer["principal"], answer["admin"]) == (ADMIN, True)


@pytest.mark.parametrize("limit", ["1", "2", "100"])
def test_an_admin_lists_all_clients(api: Api, limit: str) -> None:
    seen: list[str] = []
    query = {"limit": limit}
    while True:
        page = api.call("GET", "/v1/clients", caller=ADMIN, query=query).body
        seen += [client["clientId"] for client in page["items"]]
        if "nextToken" not in page:
            break
        query["nextToken"] = page["nextToken"]
    assert seen == ["acme", "globex"]
    refused(api.call("GET", "/v1/clients", caller=ALICE), 403)
    refused(api.call("GET", "/v1/clients", caller=ADMIN, query={"nextToken": "IQ"}), 422)


def test_what_is_to_come_is_listed_in_order_with_anonymous_jobs(api: Api) -> None:
    late = api.create(schedule={"delaySeconds": 900}).body["jobId"]
    soon = api.create(schedule={"delaySeconds": 100}).body["jobId"]
    named = api.create(jobKey="k", schedule={"every": {"seconds": 600}}).body["jobId"]
    gone = api.create(schedule={"delaySeconds": 50}).body["jobId"]
    api.call("DELETE", f"/v1/jobs/{gone}")
    paused = api.create(jobKey="p", schedule={"every": {"seconds": 300}}).body["jobId"]
    api.call("POST", f"/v1/jobs/{paused}/pause", {})
    api.call("POST", "/v1/jobs", job_body(), caller=BOB)
    for limit in ("1", "2", "100"):
        items = upcoming(api, limit=limit)
        assert [item["jobId"] for item in items] == [soon, named, late]
    assert items[1]["jobKey"] == "k" and items[1]["recurs"]
    assert items[0]["at"] == items[0]["dueAt"] == to_text(NOW + 100_000)
    assert [item["jobId"] for item in upcoming(api, to=to_text(NOW + 700_000))] == [soon, named]
    assert [item["jobId"] for item in upcoming(api, **{"from": to_text(NOW + 700_000)})] == [late]
    assert len(upcoming(api, caller=BOB)) == 1


def test_a_job_is_listed_once_and_at_its_next_fire_however_far_it_was_released_ahead(api: Api) -> None:
    ids = [
        api.create(jobKey=f"k{number}", schedule={"every": {"seconds": seconds}, **more}).body["jobId"]
        for number, (seconds, more) in enumerate([(60, {}), (61, {"maxFires": 12}), (400, {}), (2_000, {})])
    ]
    for step in (0, 1, 45, 130, 200, 60, 240, 77):
        api.clockwork.run_until(api.clockwork.clock.at + step * 1_000)
        wanted = {}
        for job_id in ids:
            fires = api.call("GET", f"/v1/jobs/{job_id}").body.get("nextFires")
            if fires:
                wanted[job_id] = fires[0]["at"]
        for limit in ("1", "2", "100"):
            items = upcoming(api, limit=limit)
            assert [(one["jobId"], one["at"]) for one in items] == sorted(wanted.items(), key=lambda one: one[1])
    api.clockwork.run_until(api.clockwork.clock.at + 12 * 61_000)
    assert ids[1] not in [one["jobId"] for one in upcoming(api)]


def test_of_a_client_with_many_jobs_each_is_listed_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clockwork.flows.requests.upcoming.MOST_AHEAD", 4)
    ids = {api.create(jobKey=f"k{n}", schedule={"every": {"seconds": 60 + 200 * n}}).body["jobId"] for n in range(11)}
    ids |= {api.create(schedule={"delaySeconds": 100 * n}).body["jobId"] for n in range(1, 4)}
    for limit in ("1", "3", "100"):
        found = [one["jobId"] for one in upcoming(api, limit=limit)]
        assert len(found) == len(ids) and set(found) == ids


@pytest.mark.parametrize("largest", [1, 700, 2_000])
@pytest.mark.parametrize("most_ahead", [4, 400])
def test_a_page_that_grows_too_large_goes_on_behind_what_it_shows(
    api: Api, monkeypatch: pytest.MonkeyPatch, largest: int, most_ahead: int
) -> None:
    monkeypatch.setattr("clockwork.flows.requests.upcoming.MOST_AHEAD", most_ahead)
    monkeypatch.setattr("clockwork.edge.http.pages.LARGEST_PAGE", largest)
    # In the order of their keys they fire in no order.
    fires = [600, 60, 900, 120, 300, 30, 700, 5_000, 90]
    ids = {
        api.create(jobKey=f"k{n}", schedule={"delaySeconds": seconds}).body["jobId"] for n, seconds in enumerate(fires)
    }
    ids |= {api.create(schedule={"delaySeconds": 100 * n + 7}).body["jobId"] for n in range(1, 5)}
    pages: list[Any] = []
    query = {"clientId": "acme"}
    while not pages or "nextToken" in pages[-1]:
        pages.append(api.call("GET", "/v1/upcoming", query=query).body)
        query = {"clientId": "acme", "nextToken": pages[-1].get("nextToken", "")}
        shown = [one["at"] for one in pages[-1]["items"]]
        assert shown == sorted(shown)
    found = [one["jobId"] for one in (item for page in pages for item in page["items"])]
    assert len(found) == len(ids) and set(found) == ids
    assert max(len(page["items"]) for page in pages) < len(ids)


def test_what_a_pause_of_the_client_parks_is_marked_and_of_a_client_that_goes_nothing_is_listed(api: Api) -> None:
    api.create(jobKey="k", schedule={"every": {"seconds": 600}})
    api.create(schedule={"delaySeconds": 100})
    assert [one.get("waitsFor") for one in upcoming(api)] == [None, None]
    api.call("POST", "/v1/clients/acme/pause", {}, caller=ADMIN)
    assert [one["waitsFor"] for one in upcoming(api)] == ["pause", "pause"]
    api.call("DELETE", "/v1/clients/acme", caller=ADMIN)
    assert upcoming(api) == []


def test_the_jobs_of_a_packed_row_are_listed_one_by_one(api: Api) -> None:
    jobs = [job_body(schedule={"delaySeconds": 500}) for _ in range(7)]
    answer = api.call("POST", "/v1/jobs/batch", {"jobs": jobs}).body
    created = {result["jobId"] for result in answer["results"]}
    items = upcoming(api, limit="3")
    assert {item["jobId"] for item in items} == created
    assert len(items) == 7


def test_an_execution_that_waits_for_its_next_attempt_is_listed_until_it_ends(api: Api) -> None:
    retry = {"maxAttempts": 3, "backoff": "fixed", "initialSeconds": 3600, "maxSeconds": 3600, "jitter": "none"}
    job_id = api.create(schedule={"delaySeconds": 1}, retryPolicy=retry).body["jobId"]
    at = api.clockwork.clock
    api.clockwork.targets._answer = lambda _: Outcome(State.FAILED, at.at, at.at, error="HTTP 503")
    api.clockwork.run_until(api.clockwork.clock.at + 100_000)
    (item,) = upcoming(api)
    assert (item["jobId"], item["attempt"]) == (job_id, 2)
    api.call("POST", f"/v1/executions/{item['executionId']}/cancel", {})
    assert upcoming(api) == []


def test_a_page_reads_no_more_jobs_than_it_shows(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        api.create(jobKey=f"k{number}", schedule={"every": {"seconds": 600}})
    asked: list[int] = []
    get = api.clockwork.jobs.get

    def counted(refs: Sequence[tuple[str, str]]) -> Sequence[Any]:
        asked.append(len(refs))
        return get(refs)

    monkeypatch.setattr(api.clockwork.jobs, "get", counted)
    assert len(api.call("GET", "/v1/upcoming", query={"limit": "5"}).body["items"]) == 5
    assert sum(asked) == 5


def test_rows_of_others_make_a_page_short_and_never_end_the_list(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clockwork.flows.requests.upcoming.ROWS_READ", 1)
    for _ in range(20):
        api.call("POST", "/v1/jobs", job_body(schedule={"delaySeconds": 100}), caller=BOB)
    mine = api.create(schedule={"delaySeconds": 200}).body["jobId"]
    assert [item["jobId"] for item in upcoming(api)] == [mine]


def test_a_job_is_listed_that_was_released_ahead_before_its_shard_was_given_up(api: Api) -> None:
    mine = api.create(schedule={"delaySeconds": 100}).body["jobId"]
    api.clockwork.poll_all()
    for partition_id in api.clockwork.shards.list():
        shard = api.clockwork.shards.get([partition_id])[partition_id]
        assert api.clockwork.shards.change(shard, ShardStatus.LEFT)
    assert [item["jobId"] for item in upcoming(api)] == [mine]


def test_a_row_that_nobody_can_read_hides_no_other(api: Api) -> None:
    mine = api.create(schedule={"delaySeconds": 200}).body["jobId"]
    api.clockwork.timeline.put_new([Row("p000", keys.row_key(NOW + 1_000, "odd"), b"\xff\x00", NOW * 2)])
    assert [item["jobId"] for item in upcoming(api)] == [mine]


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ({"from": "tomorrow"}, "?from"),
        ({"to": "2026-05-05T10:00:00"}, "?to"),
        ({"to": "9999-05-05T10:00:00Z"}, "?to"),
        ({"limit": "0"}, "?limit"),
        ({"nextToken": "x"}, "?nextToken"),
        ({"until": "x"}, "?until"),
    ],
)
def test_a_fault_of_the_query_is_422(api: Api, query: dict[str, str], pointer: str) -> None:
    answer = api.call("GET", "/v1/upcoming", query=query)
    refused(answer, 422)
    assert answer.pointers == [pointer]


def test_looking_ahead_counts_against_the_pace_of_the_client(api: Api) -> None:
    api.clockwork.clients.put(msgspec.structs.replace(ACME, creates_per_second=0.01))
    asked: dict[str, Any] = {"query": {"clientId": "acme"}, "caller": ADMIN}
    assert [api.call("GET", "/v1/upcoming", **asked).status for _ in range(5)] == [200] * 5
    answers: list[Answer] = [api.call("GET", "/v1/upcoming") for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 429, 429]


def test_a_client_sees_what_it_uses_and_what_is_left(api: Api) -> None:
    empty = {"count": 0, "more": False}
    assert api.call("GET", "/v1/clients/acme/usage").body == {
        "clientId": "acme",
        "paused": False,
        "parked": empty,
        "dead": empty,
        "openCircuits": [],
        "reads": {"unitsPerSecond": 1_250, "owed": 0, "refused": 0},
        "changes": {"unitsPerSecond": 250, "owed": 0, "refused": 0},
        "asOf": "2023-11-14T22:13:20.000Z",
    }
    api.clockwork.clients.put(msgspec.structs.replace(ACME, jobs_per_day=50, paused=True))
    api.create(schedule={"delaySeconds": 1})
    api.clockwork.run_until(api.clockwork.clock.at + 100_000)
    usage = api.call("GET", "/v1/clients/acme/usage").body
    assert (usage["paused"], usage["jobsPerDay"], usage["jobsLeftToday"]) == (True, 50, 49)
    assert usage["parked"] == {"count": 1, "more": False}
    refused(api.call("GET", "/v1/clients/acme/usage", caller=BOB), 403)
    refused(api.call("GET", "/v1/clients/nobody/usage", caller=ADMIN), 404)


def test_a_client_sees_since_when_the_circuits_of_its_targets_are_open(api: Api) -> None:
    began_at = api.clockwork.clock.at
    for host in ("b.example.com", "a.example.com"):
        circuit = Circuit("acme", host, began_at, began_at + 60_000, 60_000)
        assert api.clockwork.regulation.save_circuit(None, circuit)
    assert api.call("GET", "/v1/clients/acme/usage").body["openCircuits"] == [
        {"host": host, "openedAt": to_text(began_at), "triedAt": to_text(began_at + 60_000)}
        for host in ("a.example.com", "b.example.com")
    ]
    for number in range(MOST_CIRCUITS + 5):
        circuit = Circuit("acme", f"h{number:03d}.example.com", began_at, began_at + 60_000, 60_000)
        assert api.clockwork.regulation.save_circuit(None, circuit)
    assert len(api.call("GET", "/v1/clients/acme/usage").body["openCircuits"]) == MOST_CIRCUITS


def test_an_admin_sees_where_the_shards_stand(api: Api) -> None:
    api.create()
    api.clockwork.run_until(api.clockwork.clock.at + 200_000)
    shards = api.call("GET", "/v1/shards", caller=ADMIN).body["items"]
    used = [shard for shard in shards if shard["status"] == "used"]
    assert used
    assert all(shard["lagMs"] >= 0 and shard["cursorAt"] <= shard["horizonAt"] for shard in used)
    refused(api.call("GET", "/v1/shards", caller=ALICE), 403)


def test_health_and_an_admin_are_told_of_a_shard_that_does_not_move_and_of_what_is_in_quarantine(api: Api) -> None:
    api.create()
    api.clockwork.run_until(api.clockwork.clock.at + 200_000)
    assert api.call("GET", "/v1/health", caller=BOB).body == {"status": "ok"}
    shards = api.clockwork.shards
    shard = min((one for one in shards.all() if one.status is ShardStatus.USED), key=lambda one: one.cursor)
    assert shard.cursor != keys.BEGINNING
    now = keys.instant_of(shard.cursor) + 120_000
    lease = shards.acquire(shard.partition_id, "poller", now, now + 20_000, shard.horizon)
    assert lease is not None
    assert shards.commit(msgspec.structs.replace(lease, quarantined=7))
    for later_ms, status in ((0, "ok"), (1, "behind")):
        api.clockwork.clock.advance(now + later_ms - api.clockwork.clock.at)
        assert api.call("GET", "/v1/health", caller=BOB).body == {"status": status}
    shown = api.call("GET", "/v1/shards", caller=ADMIN).body["items"]
    told = {one["partitionId"]: one.get("quarantined", 0) for one in shown}
    assert (told[shard.partition_id], sum(told.values())) == (7, 7)


def test_health_answers_though_the_shards_give_no_answer(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def throttled() -> Any:
        raise Unavailable("throttled")

    monkeypatch.setattr(api.clockwork.shards, "all", throttled)
    assert api.call("GET", "/v1/health", caller=BOB).body == {"status": "unknown"}


def test_a_named_job_is_found_by_its_whole_key(api: Api) -> None:
    api.create(jobKey="daily", schedule={"every": {"seconds": 60}})
    api.create(jobKey="daily-2", schedule={"every": {"seconds": 60}})
    assert [job["jobKey"] for job in api.call("GET", "/v1/jobs", query={"jobKey": "daily"}).body["items"]] == ["daily"]
    assert api.call("GET", "/v1/jobs", query={"jobKey": "dail"}).body["items"] == []
    assert api.call("GET", "/v1/jobs", query={"jobKey": "daily", "state": "PAUSED"}).body["items"] == []
    refused(api.call("GET", "/v1/jobs", query={"jobKey": "a\tb"}), 422)


def keys_due(api: Api, **query: str) -> list[str]:
    keys: list[str] = []
    while True:
        page = api.call("GET", "/v1/jobs", query=query).body
        keys += [job["jobKey"] for job in page["items"]]
        if "nextToken" not in page:
            return keys
        query["nextToken"] = page["nextToken"]


def test_named_jobs_are_listed_by_when_their_next_fire_is_due(api: Api) -> None:
    now = api.clockwork.clock.at
    api.create(jobKey="once-soon", schedule={"delaySeconds": 600})
    api.create(jobKey="once-late", schedule={"delaySeconds": 90_000})
    api.create(jobKey="hourly", schedule={"every": {"seconds": 3_600}})
    assert keys_due(api, dueTo=to_text(now + 600_000)) == ["once-soon"]
    assert keys_due(api, dueTo=to_text(now + 599_999)) == []
    assert keys_due(api, dueFrom=to_text(now + 600_001)) == ["hourly", "once-late"]
    assert keys_due(api, dueFrom=to_text(now + 600_000), dueTo=to_text(now + 3_600_000)) == ["hourly", "once-soon"]
    assert keys_due(api, dueFrom=to_text(now), tag="no-such") == []
    api.clockwork.run_until(now + 700_000)
    assert keys_due(api, dueTo=to_text(now + 3_600_000)) == ["hourly"]
    for query in ({"dueFrom": "noon"}, {"dueTo": "2026-05-05"}):
        answer = api.call("GET", "/v1/jobs", query=query)
        refused(answer, 422)
        assert answer.pointers == [f"?{name}" for name in query]


def test_a_page_by_due_instant_reads_a_bounded_number_of_jobs(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clockwork.edge.operations.job_lists.MOST_COMPUTED", 4)
    monkeypatch.setattr("clockwork.flows.requests.read.READ_AT_ONCE", 2)
    now = api.clockwork.clock.at
    for number in range(11):
        api.create(jobKey=f"k{number:02}", schedule={"delaySeconds": 90_000 if number < 10 else 600})
    read = api.call("GET", "/v1/jobs", query={"dueTo": to_text(now + 600_000), "limit": "1"})
    assert (read.body["items"], read.body["jobsRead"]) == ([], 4) and "nextToken" in read.body
    assert api.calls.count("jobs.list") == 2
    assert keys_due(api, dueTo=to_text(now + 600_000)) == ["k10"]


def test_a_body_of_the_wrong_shape_is_told_so_and_not_that_the_caller_may_not(api: Api) -> None:
    for body, pointer in (([], ""), ("text", ""), ({"clientId": 7}, "/clientId")):
        for path in ("/v1/jobs", "/v1/jobs/batch"):
            answer = api.call("POST", path, encoded(body))
            refused(answer, 422)
            assert answer.pointers == [pointer]


def test_an_admin_learns_that_there_is_no_such_client_and_others_do_not(api: Api) -> None:
    refused(api.call("GET", "/v1/clients/nobody", caller=ADMIN), 404)
    refused(api.call("POST", "/v1/jobs", job_body(clientId="nobody"), caller=ADMIN), 404)
    refused(api.call("GET", "/v1/clients/nobody", caller=ALICE), 403)
    assert api.call("GET", f"/v1/clients/{GLOBEX.client_id}", caller=ALICE).status == 403


def test_a_refused_job_of_a_batch_does_not_say_that_nothing_was_written(api: Api) -> None:
    answer = api.call("POST", "/v1/jobs/batch", {"jobs": [job_body(), job_body(schedule={})]}).body
    assert [result["status"] for result in answer["results"]] == [201, 422]
    assert answer["results"][1]["problem"]["detail"] == "this job has faults and was not created"


def test_a_delete_of_another_revision_is_refused(api: Api) -> None:
    job_id = api.create(jobKey="k", schedule={"every": {"seconds": 60}}).body["jobId"]
    refused(api.call("DELETE", f"/v1/jobs/{job_id}", headers={"If-Match": "7"}), 409)
    assert api.call("DELETE", f"/v1/jobs/{job_id}", headers={"If-Match": "1"}).status == 200
