"""DELETE /v1/clients/{clientId}: what is left ends CANCELLED, the client is gone, and its id comes back empty."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
import pytest

from clockwork.domain import instants
from clockwork.domain.clients import DELETED
from clockwork.domain.errors import Undecodable
from clockwork.domain.executions import DAY_MS, Outcome, State
from clockwork.domain.keys import row_key
from clockwork.domain.lifecycle.attempts import plan_death
from clockwork.domain.lifecycle.ownership import is_of_client_since
from clockwork.domain.lifecycle.parking import Parked
from clockwork.domain.lifecycle.redrives import plan_redrive
from clockwork.domain.storage.rows import undecodable_execution
from clockwork.domain.timeline import Row
from clockwork.flows.deaths import call_back
from clockwork.flows.sweep.deletion import end_client
from clockwork.flows.sweep.unpark import unpark
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.targets.http import HttpTarget
from tests.handlers.faults import refused
from tests.handlers.handlers import Answer, Api, job_body, make_handler, recorded
from tests.handlers.test_trail import Died, Strikes, fragile
from tests.simulation import roles
from tests.support.examples import ACME, ADMIN, ALICE, BOB, NOW, execution, occurrence, release
from tests.support.named import jobs_of

PATH = "/v1/clients/acme"
EVERY = {"every": {"seconds": 60}}
MINUTE = 60_000


def admin(api: Api, method: str, path: str = PATH, body: Any = None, **more: Any) -> Answer:
    return api.call(method, path, body, caller=ADMIN, **more)


def sweep(api: Api) -> None:
    unpark(api.clockwork.world, api.clockwork.clock.at + 60_000)


def run(api: Api, minutes: float) -> None:
    """Let time pass, with a sweep each minute."""
    until = api.clockwork.clock.at + int(minutes * MINUTE)
    while api.clockwork.clock.at < until:
        api.clockwork.run_until(min(until, api.clockwork.clock.at + MINUTE))
        sweep(api)


def is_gone(api: Api) -> bool:
    return admin(api, "GET").status == 404


def records(api: Api) -> dict[str, tuple[str, str | None]]:
    return {one.execution_id: (str(one.state), one.reason) for one in api.clockwork.executions.all()}


def busy() -> Api:
    """An API where acme has anonymous jobs of both levels, ordered and named ones, and some that wait for a retry."""
    api = Api()

    def fail(_: Any) -> Outcome:
        at = api.clockwork.clock.at
        return Outcome(State.FAILED, at, at, error="HTTP 500")

    api.clockwork.targets._answer = fail
    long = {"maxAttempts": 9, "initialSeconds": 120, "backoff": "fixed", "jitter": "none"}
    for record in ("none", "full"):
        assert api.create(schedule={"delaySeconds": 600}, record=record).status == 201
        assert api.create(schedule={"delaySeconds": 1}, record=record, retryPolicy=long).status == 201
    assert api.create(schedule={"delaySeconds": 600}, orderingKey="o").status == 201
    for number in range(3):
        assert api.create(jobKey=f"k{number}", schedule=EVERY).status == 201
    api.clockwork.run_until(api.clockwork.clock.at + 5_000)
    return api


def test_a_client_that_is_being_deleted_takes_no_jobs_and_no_changes_and_says_why() -> None:
    api = Api()
    named = api.create(jobKey="k", schedule=EVERY).body["jobId"]
    deleted = admin(api, "DELETE")
    assert (deleted.status, deleted.body["state"]) == (202, "DELETING")
    for answer in (
        api.create(),
        api.create(jobKey="other", schedule=EVERY),
        api.call("POST", "/v1/jobs/batch", {"jobs": [job_body()]}),
        api.call("POST", f"/v1/jobs/{named}/run", {}),
        admin(api, "PUT", PATH, {"principals": [ALICE]}),
        admin(api, "POST", f"{PATH}/pause", {}),
        admin(api, "POST", f"{PATH}/resume", {}),
        admin(api, "POST", f"{PATH}/parked/release", {}),
    ):
        refused(answer, 409)
        assert "is being deleted" in answer.body["detail"]
    assert admin(api, "GET").body["state"] == "DELETING"
    assert api.call("GET", "/v1/jobs").status == 200


def test_only_an_admin_may_delete_a_client_and_only_one_that_is_there() -> None:
    api = Api()
    refused(api.call("DELETE", PATH), 403)
    refused(admin(api, "DELETE", "/v1/clients/nobody"), 404)
    refused(admin(api, "DELETE", headers={"If-Match": "7"}), 409)
    assert admin(api, "GET").body["state"] == "ACTIVE"
    assert admin(api, "DELETE", headers={"If-Match": "0"}).status == 202
    again = admin(api, "DELETE")
    assert (again.status, again.body["revision"]) == (202, 1)


def test_nothing_starts_after_a_delete_and_all_that_was_left_ends_cancelled() -> None:
    api = busy()
    assert admin(api, "DELETE").status == 202
    started = len(api.clockwork.targets.delivered)
    run(api, 15)
    assert len(api.clockwork.targets.delivered) == started
    assert is_gone(api)
    states = records(api)
    assert {state for state, _ in states.values()} == {"CANCELLED"}
    reasons = [reason for _, reason in states.values()]
    assert reasons.count(DELETED) >= 4  # of both levels, ordered, and what waited for its retry
    assert all(not job.is_alive for job in jobs_of(api.clockwork, "acme"))
    assert not api.clockwork.queue.messages and not api.clockwork.ordered_queue.messages
    assert list(api.clockwork.regulation.parked()) == []
    refused(api.create(), 403)
    assert api.call("GET", "/v1/whoami").body["clientIds"] == []
    listed = admin(api, "GET", "/v1/clients").body["items"]
    assert [one["clientId"] for one in listed] == ["globex"]


def test_what_was_parked_ends_cancelled_with_that_reason() -> None:
    api = Api()
    admin(api, "POST", f"{PATH}/pause", {})
    for record in ("none", "full"):
        api.create(schedule={"delaySeconds": 1}, record=record)
    api.clockwork.run_until(api.clockwork.clock.at + 20_000)
    assert api.call("GET", f"{PATH}/usage").body["parked"]["count"] == 2
    admin(api, "DELETE")
    run(api, 3)
    assert is_gone(api)
    assert list(records(api).values()) == [("CANCELLED", DELETED)] * 2
    assert api.clockwork.targets.delivered == []


def test_a_client_that_gets_the_id_anew_inherits_nothing() -> None:
    api = busy()
    far = api.create(schedule={"delaySeconds": 3_600}).body["jobId"]
    key = {"Idempotency-Key": "order-17"}
    old = api.call("POST", "/v1/jobs", job_body(schedule={"delaySeconds": 3_600}), headers=key).body["jobId"]
    admin(api, "DELETE")
    run(api, 3)
    assert is_gone(api)
    api.clockwork.targets._answer = lambda _: Outcome(State.SUCCEEDED, api.clockwork.clock.at, api.clockwork.clock.at)
    made = admin(api, "PUT", PATH, {"principals": [BOB]}, headers={"If-Match": "0"})
    assert (made.status, made.body["state"]) == (200, "ACTIVE")
    ask: dict[str, Any] = {"query": {"clientId": "acme"}, "caller": BOB}
    for path in ("/v1/jobs", "/v1/upcoming", f"{PATH}/dead", "/v1/audit"):
        asked = ask if path != f"{PATH}/dead" else {"caller": BOB}
        found = api.call("GET", path, **asked).body["items"]
        assert [one for one in found if one.get("action") != "putClient"] == [], path
    sent = job_body(clientId="acme", schedule={"delaySeconds": 3_600})
    own = api.call("POST", "/v1/jobs", sent, headers=key, caller=BOB)
    assert own.status == 201 and own.body["jobId"] != old
    assert api.call("POST", "/v1/jobs", sent, headers=key, caller=BOB).body["jobId"] == own.body["jobId"]
    named = api.call("POST", "/v1/jobs", {**sent, "jobKey": "k0"}, caller=BOB)
    assert named.status == 201
    started = len(api.clockwork.targets.delivered)
    run(api, 90)
    delivered = api.clockwork.targets.delivered[started:]
    assert {one.job_id for one in delivered} == {own.body["jobId"], named.body["jobId"]}
    assert records(api)[f"{far}.{_due(api, far)}.0"] == ("CANCELLED", DELETED)


def _due(api: Api, job_id: str) -> str:
    (one,) = [one for one in api.clockwork.executions.all() if one.job_id == job_id]
    return f"{one.due_at:013d}"


@pytest.mark.parametrize("apart_ms", [0, 3_000])
def test_what_a_client_with_an_id_of_before_creates_at_once_is_its_own_though_clocks_differ(apart_ms: int) -> None:
    api = Api()
    left = api.create(schedule={"delaySeconds": 600}).body["jobId"]
    admin(api, "DELETE")
    while not is_gone(api):
        run(api, 0.1)
    assert admin(api, "PUT", PATH, {"principals": [BOB]}).status == 200
    api.clockwork.clock.at -= apart_ms
    own = api.call("POST", "/v1/jobs", job_body(clientId="acme", schedule={"delaySeconds": 60}), caller=BOB)
    named = {**job_body(clientId="acme", schedule={"delaySeconds": 60}), "jobKey": "at-once"}
    assert (own.status, api.call("POST", "/v1/jobs", named, caller=BOB).status) == (201, 201)
    run(api, 12)
    delivered = [one.job_id for one in api.clockwork.targets.delivered]
    assert len(delivered) == 2 and own.body["jobId"] in delivered and left not in delivered


def test_who_has_the_id_now_sees_nothing_of_the_client_before_by_any_way() -> None:
    api = Api()
    secret = {"payload": {"card": "SECRET"}, "tags": {"team": "old"}}
    named = api.create(jobKey="salary", schedule=EVERY, **secret).body["jobId"]
    once = api.create(jobKey="once", schedule={"delaySeconds": 1}, **secret).body["jobId"]
    soon, late = (api.create(schedule={"delaySeconds": one}, **secret).body["jobId"] for one in (1, 600))
    api.clockwork.run_until(api.clockwork.clock.at + 130_000)
    api.call("DELETE", f"/v1/jobs/{api.create(jobKey='ended', schedule=EVERY, **secret).body['jobId']}")
    admin(api, "DELETE")
    run(api, 15)
    assert is_gone(api)
    admin(api, "PUT", PATH, {"principals": [BOB]})
    runs = [one.execution_id for one in api.clockwork.executions.all()]
    assert len(runs) >= 5
    for state in (None, "CANCELLED", "COMPLETED", "ACTIVE"):
        for more in ({}, {"jobKey": "salary"}, {"prefix": "s"}, {"tag": "team"}):
            query = {"clientId": "acme", **more, **({"state": state} if state else {})}
            for caller in (BOB, ADMIN):
                assert api.call("GET", "/v1/jobs", query=query, caller=caller).body == {"items": [], "jobsRead": 0}
    paths = [f"/v1/executions/{one}" for one in runs]
    for job_id in (named, once, soon, late):
        paths += [f"/v1/jobs/{job_id}", f"/v1/jobs/{job_id}/executions"]
    for path in paths:
        answer = api.call("GET", path, caller=BOB)
        refused(answer, 404)
        assert "SECRET" not in answer.text
        assert api.call("GET", path, caller=ADMIN).status == 200
    for one in runs:
        refused(api.call("POST", f"/v1/executions/{one}/cancel", {}, caller=BOB), 404)
        refused(api.call("POST", f"/v1/executions/{one}/redrive", {}, caller=BOB), 404)
    for verb, method in (("", "DELETE"), ("/pause", "POST"), ("/run", "POST")):
        refused(api.call(method, f"/v1/jobs/{named}{verb}", None if verb == "" else {}, caller=BOB), 404)
    refused(api.call("PATCH", f"/v1/jobs/{named}", {"payload": 1}, caller=BOB), 404)
    # Its own jobs under the same keys are seen, and have ids that the old client never had.
    own = api.call("POST", "/v1/jobs", job_body(clientId="acme", jobKey="salary", schedule=EVERY), caller=BOB)
    assert own.status == 201 and own.body["jobId"] != named
    assert [
        one["jobKey"] for one in api.call("GET", "/v1/jobs", caller=BOB, query={"clientId": "acme"}).body["items"]
    ] == ["salary"]
    run(api, 5)
    fired = api.call("GET", f"/v1/jobs/{own.body['jobId']}/executions", caller=BOB).body["items"]
    assert len(fired) >= 3
    assert api.call("GET", f"/v1/executions/{fired[0]['executionId']}", caller=BOB).status == 200


def given_anew(api: Api) -> None:
    """Delete acme, and give its id to BOB."""
    admin(api, "DELETE")
    while not is_gone(api):
        run(api, 0.1)
    assert admin(api, "PUT", PATH, {"principals": [BOB]}).status == 200


def test_what_ended_long_before_its_due_instant_is_not_seen_by_who_has_the_id_when_that_comes() -> None:
    api = Api()
    job_id = api.create(schedule={"delaySeconds": 600}).body["jobId"]
    assert api.call("DELETE", f"/v1/jobs/{job_id}").body["result"] == "cancelled"
    given_anew(api)
    run(api, 15)
    (one,) = api.clockwork.executions.all()
    for path in (f"/v1/jobs/{job_id}", f"/v1/jobs/{job_id}/executions", f"/v1/executions/{one.execution_id}"):
        refused(api.call("GET", path, caller=BOB), 404)
        assert api.call("GET", path, caller=ADMIN).status == 200
    refused(api.call("POST", f"/v1/executions/{one.execution_id}/cancel", {}, caller=BOB), 404)


@pytest.mark.parametrize("record", ["full", "none"])
def test_who_has_the_id_now_sees_how_its_own_jobs_ended_that_were_due_before_it_had_it(record: str) -> None:
    api = Api()
    due_at = api.clockwork.clock.at
    run(api, 1)
    api.clockwork.targets._answer = lambda _: Outcome(
        State.FAILED, api.clockwork.clock.at, api.clockwork.clock.at, permanent=True
    )
    given_anew(api)
    sent = job_body(clientId="acme", record=record, schedule={"at": instants.to_text(due_at)})
    job_id = api.call("POST", "/v1/jobs", sent, caller=BOB).body["jobId"]
    run(api, 1)
    assert api.call("POST", f"{PATH}/dead/discard", {}, caller=BOB).body["changed"] == 1
    (one,) = api.clockwork.executions.all()
    assert (one.job_id, one.state) == (job_id, State.DEAD)
    assert api.call("GET", f"/v1/executions/{one.execution_id}", caller=BOB).status == 200


def test_the_record_of_a_row_that_could_not_be_read_is_of_no_client_that_came_after_another() -> None:
    row = Row("p000", row_key(NOW + MINUTE, "x"), b"\xff", NOW + DAY_MS)
    unread = undecodable_execution(row, "acme", "damaged", NOW + DAY_MS)
    assert is_of_client_since(0, unread) and not is_of_client_since(1, unread)


def test_what_an_admin_redrove_of_the_client_before_is_still_that_ones() -> None:
    dead = plan_death(release(occurrence=occurrence(created_at=NOW - MINUTE)), None, "lost", NOW, NOW + MINUTE)
    redriven = plan_redrive(dead, "p000", NOW + 10 * MINUTE).execution
    assert redriven is not None
    assert is_of_client_since(NOW - MINUTE, redriven) and not is_of_client_since(NOW, redriven)


def test_the_rows_of_a_deleted_clients_named_jobs_end_once_no_record_of_them_is_kept() -> None:
    api = Api()
    kept_ms = api.clockwork.world.execution_kept_ms(None)
    api.create(jobKey="alive", schedule=EVERY)
    api.clockwork.clients.put(msgspec.structs.replace(ACME, retention_days=300))
    api.create(jobKey="long", schedule=EVERY)
    api.clockwork.clients.put(ACME)
    api.call("DELETE", f"/v1/jobs/{api.create(jobKey='ended', schedule=EVERY).body['jobId']}")
    assert {job.expires_at for job in jobs_of(api.clockwork, "acme")} == {0}
    began_at = api.clockwork.clock.at
    admin(api, "DELETE")
    run(api, 3)
    assert is_gone(api)
    ends = {job.job_key: job.expires_at - began_at for job in jobs_of(api.clockwork, "acme")}
    assert kept_ms <= ends["alive"] <= kept_ms + 3 * MINUTE
    assert kept_ms <= ends["ended"] <= kept_ms + 3 * MINUTE
    assert ends["long"] >= 300 * 86_400_000
    # Without the rows, too, the next client's jobs are others.
    old = {job.job_key: job.job_id for job in jobs_of(api.clockwork, "acme")}
    api.clockwork.jobs._jobs.clear()
    admin(api, "PUT", PATH, {"principals": [ALICE]})
    own = api.create(jobKey="alive", schedule=EVERY).body["jobId"]
    assert own != old["alive"]
    (job,) = jobs_of(api.clockwork, "acme")
    assert job.expires_at == 0


def test_what_died_before_the_delete_is_not_redriven_by_who_has_the_id_now() -> None:
    api = Api()

    def fail(_: Any) -> Outcome:
        at = api.clockwork.clock.at
        return Outcome(State.FAILED, at, at, error="HTTP 500", permanent=True)

    api.clockwork.targets._answer = fail
    api.create(schedule={"delaySeconds": 1})
    api.clockwork.run_until(api.clockwork.clock.at + 20_000)
    (one,) = api.call("GET", f"{PATH}/dead").body["items"]
    admin(api, "DELETE")
    run(api, 3)
    admin(api, "PUT", PATH, {"principals": [ALICE]})
    assert api.call("GET", f"{PATH}/usage").body["dead"]["count"] == 0
    assert api.call("GET", f"{PATH}/dead").body == {"items": [], "executionsRead": 0}
    assert api.call("GET", f"{PATH}/attention").body["executionsRead"] == 0
    assert api.call("POST", f"{PATH}/dead/redrive").body["matched"] == 0
    refused(api.call("POST", f"/v1/executions/{one['executionId']}/redrive", {}), 404)
    answer = admin(api, "POST", f"/v1/executions/{one['executionId']}/redrive", {})
    refused(answer, 409)
    assert DELETED in answer.body["detail"]


@pytest.mark.parametrize(("since_at", "called"), [(0, 1), (NOW - 1_000, 1), (NOW, 0)])
def test_what_dies_late_calls_nobody_back_once_another_client_has_the_id(since_at: int, called: int) -> None:
    api = Api()
    api.clockwork.clients.put(msgspec.structs.replace(ACME, since_at=since_at))
    left = release(occurrence=occurrence(on_failure=HttpTarget("https://example.com/failed"), created_at=NOW - 1_000))
    dead = execution(State.DEAD, attempt=1, dead_at=NOW + 7, reason="given up")
    ensure_shards(api.clockwork.world)
    assert call_back(api.clockwork.world, [(left, dead)]) == []
    rows = api.clockwork.timeline._rows.values()
    assert sum(map(len, rows)) == called


def test_a_trail_outlives_its_client_for_admins_alone() -> None:
    api = Api()
    admin(api, "DELETE")
    run(api, 3)
    query = {"clientId": "acme"}
    told = [one["action"] for one in admin(api, "GET", "/v1/audit", query=query).body["items"]]
    assert told == ["deleteClient"]
    refused(api.call("GET", "/v1/audit", query=query), 403)
    refused(admin(api, "GET", "/v1/audit", query={"clientId": "nobody"}), 404)
    admin(api, "PUT", PATH, {"principals": [ALICE]})
    assert [one["action"] for one in api.call("GET", "/v1/audit").body["items"]] == ["putClient"]
    assert len(admin(api, "GET", "/v1/audit", query=query).body["items"]) == 2


def test_many_jobs_are_ended_over_many_sweeps_each_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clockwork.flows.sweep.deletion.PAGE", 4)
    api = Api()
    for number in range(30):
        api.create(jobKey=f"k{number:02}", schedule={"every": {"seconds": 3_600}})
    admin(api, "DELETE")
    api.clockwork.clock.at += 120_000
    jobs = api.clockwork.jobs
    save, spent = type(jobs).save, []

    def slow(self: Any, *args: Any) -> bool:
        api.clockwork.clock.at += 10_000
        spent.append(1)
        return save(self, *args)

    monkeypatch.setattr(type(jobs), "save", slow)
    sweeps = 0
    while not is_gone(api) and sweeps < 30:
        spent.clear()
        sweep(api)
        sweeps += 1
        assert len(spent) <= 8
    assert 4 <= sweeps < 30
    assert all(not job.is_alive for job in jobs_of(api.clockwork, "acme"))


def test_a_visit_gets_on_though_its_time_is_over_once_the_first_page_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    for number in range(5):
        api.create(jobKey=f"k{number}", schedule={"every": {"seconds": 3_600}})
    admin(api, "DELETE")
    api.clockwork.clock.at += 120_000
    listed = type(api.clockwork.jobs).list

    def slow(self: Any, *args: Any) -> Any:
        api.clockwork.clock.at += 60_000
        return listed(self, *args)

    monkeypatch.setattr(type(api.clockwork.jobs), "list", slow)
    for visit in range(1, 6):
        client = api.clockwork.clients.get("acme", fresh=True)
        assert client is not None
        end_client(api.clockwork.world, client, Parked("acme"), api.clockwork.clock.at + 50_000)
        assert sum(job.is_alive for job in jobs_of(api.clockwork, "acme")) == 5 - visit
    for _ in range(3):
        sweep(api)
    assert is_gone(api)


def test_a_job_that_cannot_be_read_keeps_the_client_and_not_the_jobs_behind_it() -> None:
    api = Api()
    for number in range(4):
        api.create(jobKey=f"k{number}", schedule=EVERY)
    api.clockwork.jobs.unreadable["acme", "k1"] = Undecodable("damaged")
    admin(api, "DELETE")
    started = len(api.clockwork.targets.delivered)
    run(api, 3)
    assert [job.job_key for job in jobs_of(api.clockwork, "acme") if job.is_alive] == []
    assert admin(api, "GET").body["state"] == "DELETING"
    del api.clockwork.jobs.unreadable["acme", "k1"]
    run(api, 2)
    assert is_gone(api)
    assert len(api.clockwork.targets.delivered) == started


@pytest.mark.parametrize("timeouts", [{"api_timeout_seconds": 70}, {"ingester_timeout_seconds": 70}])
def test_a_client_is_not_gone_while_a_cache_may_still_take_its_jobs(timeouts: dict[str, int]) -> None:
    api = Api(**timeouts)
    admin(api, "DELETE")
    api.clockwork.clock.at += (api.clockwork.settings.client_cache_seconds + 70) * 1000
    sweep(api)
    assert not is_gone(api)
    api.clockwork.clock.at += 11_000
    sweep(api)
    assert is_gone(api)


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("run", {}),
        ("backfill", {"from": "2023-11-14T20:00:00Z", "to": "2023-11-14T20:05:00Z", "maxPerSecond": 1}),
    ],
)
def test_a_key_of_the_former_client_holds_up_no_run_and_no_backfill_of_the_next_one(
    what: str, body: dict[str, Any]
) -> None:
    api, key = Api(), {"Idempotency-Key": "monday"}

    def ask(job_id: str, caller: str) -> Answer:
        return api.call("POST", f"/v1/jobs/{job_id}/{what}", body, caller=caller, headers=key)

    assert ask(api.create(jobKey="k", schedule=EVERY).body["jobId"], ALICE).status == 202
    admin(api, "DELETE")
    run(api, 5)
    assert is_gone(api)
    assert admin(api, "PUT", body={"principals": [BOB]}).status == 200
    api.clockwork.clock.advance(60_000)
    mine = {**job_body(), "clientId": "acme", "jobKey": "k", "schedule": EVERY}
    job_id = api.call("POST", "/v1/jobs", mine, caller=BOB).body["jobId"]
    first = ask(job_id, BOB)
    assert first.status == 202
    # The next client's own key is remembered as ever.
    assert ask(job_id, BOB).body == first.body
    other = api.call("POST", "/v1/jobs", {**mine, "jobKey": "l"}, caller=BOB).body["jobId"]
    assert ask(other, BOB).status == 409


def test_wherever_the_delete_dies_its_repeat_leads_to_the_same_end() -> None:
    for moment in range(100):
        api = busy()
        strikes = Strikes(moment, Died())
        handle, api.handle = api.handle, make_handler("api", fragile(api.clockwork.world, strikes))
        try:
            admin(api, "DELETE")
        except Died:
            pass
        finally:
            api.handle = handle
        assert admin(api, "DELETE").status == 202
        started = len(api.clockwork.targets.delivered)
        run(api, 15)
        assert is_gone(api)
        assert len(api.clockwork.targets.delivered) == started
        if len(strikes.calls) * 2 <= moment:
            assert moment > 4
            return
    raise AssertionError("the call never comes to its end")


def test_wherever_a_sweep_dies_the_next_ones_go_on() -> None:
    for moment in range(1_000):
        api = busy()
        admin(api, "POST", f"{PATH}/pause", {})
        api.create(schedule={"delaySeconds": 1})
        api.clockwork.run_until(api.clockwork.clock.at + 20_000)
        admin(api, "DELETE")
        started = len(api.clockwork.targets.delivered)
        api.clockwork.clock.at += 120_000
        strikes = Strikes(moment, Died())
        with suppress(Died):
            unpark(fragile(api.clockwork.world, strikes), api.clockwork.clock.at + 60_000)
        run(api, 15)
        assert is_gone(api), strikes.calls
        assert len(api.clockwork.targets.delivered) == started
        assert {state for state, _ in records(api).values()} == {"CANCELLED"}
        if len(strikes.calls) * 2 <= moment:
            assert moment > 10
            return
    raise AssertionError("the sweep never comes to its end")


def test_the_sweeper_may_make_every_call_that_a_deletion_needs() -> None:
    api = busy()
    admin(api, "DELETE")
    api.clockwork.clock.at += 120_000
    calls: list[str] = []
    unpark(recorded(api.clockwork.world, calls), api.clockwork.clock.at + 60_000)
    assert {"jobs.list", "jobs.save", "clients.put"} <= set(calls)
    for call in {one for one in calls if one.partition(".")[0] not in roles.NO_TABLE}:
        roles.require("sweeper", *roles.NEEDS[call](1))


def test_a_new_client_met_through_an_old_tombstone_loses_no_job() -> None:
    """A deliverer may have the tombstone in its cache for a while after the id was given anew."""
    api = Api()
    admin(api, "DELETE")
    run(api, 3)
    tombstone = api.clockwork.clients.get("acme")
    assert tombstone is not None and tombstone.gone_at is not None
    admin(api, "PUT", PATH, {"principals": [ALICE]})
    clients = api.clockwork.clients
    get = clients.get
    api.create(schedule={"delaySeconds": 1})
    clients.get = lambda client_id, *, fresh=False: get(client_id, fresh=fresh) if fresh else tombstone  # type: ignore[method-assign]
    api.clockwork.run_until(api.clockwork.clock.at + 20_000)
    assert len(api.clockwork.targets.delivered) == 1
