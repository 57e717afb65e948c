"""Jobs that end by callback over the API: how they are asked for, shown, reported on and refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.handlers.handlers import Api
from tests.support.examples import ACME

ALICE = "arn:aws:iam::123456789012:user/alice"
CALLBACK = {"mode": "callback", "heartbeatSeconds": 60, "timeoutSeconds": 600}


@pytest.fixture
def api() -> Api:
    api = Api()
    api.clockwork.clients.put(msgspec.structs.replace(ACME, principals=(ALICE,)))
    return api


def job(**fields: Any) -> dict[str, Any]:
    target = {"type": "http", "url": "https://example.com/hook"}
    return {"clientId": "acme", "schedule": {"delaySeconds": 0}, "target": target, "completion": CALLBACK, **fields}


def at_work(api: Api, **fields: Any) -> tuple[str, str]:
    """The path of an execution whose receiver is at work, and its token."""
    created = api.call("POST", "/v1/jobs", job(**fields), caller=ALICE)
    assert created.status in (200, 201), created.text
    api.clockwork.run_until(api.clockwork.clock.at + 3_000)
    delivery = api.clockwork.targets.delivered[-1]
    return f"/v1/executions/{delivery.execution_id}", str(delivery.token)


def problems(api: Api, **fields: Any) -> list[tuple[str, str]]:
    refused = api.call("POST", "/v1/jobs", job(**fields), caller=ALICE)
    assert refused.status == 422
    return [(one["pointer"], one["detail"]) for one in refused.body["errors"]]


def test_a_job_shows_how_its_attempts_end(api: Api) -> None:
    created = api.call("POST", "/v1/jobs", job(completion={"mode": "callback"}), caller=ALICE)
    shown = api.call("GET", f"/v1/jobs/{created.body['jobId']}", caller=ALICE)
    assert shown.body["completion"] == {"mode": "callback", "heartbeatSeconds": 300, "timeoutSeconds": 86_400}


@pytest.mark.parametrize("fields", [{}, {"jobKey": "nightly"}])
def test_an_execution_is_at_work_until_its_receiver_completes_it(api: Api, fields: dict[str, str]) -> None:
    path, token = at_work(api, **fields)
    shown = api.call("GET", path, caller=ALICE).body
    assert shown["state"] == "RUNNING"
    assert {"attempt", "acceptedAt", "leaseUntil", "deadlineAt"} == set(shown["atWork"])
    beat = api.call("POST", f"{path}/heartbeat", {"token": token, "progress": 0.5, "message": "half"}, caller=ALICE)
    assert (beat.status, beat.body["progress"], beat.body["message"]) == (200, 0.5, "half")
    done = api.call("POST", f"{path}/complete", {"token": token, "result": {"pages": 12}}, caller=ALICE)
    assert (done.status, done.body["state"]) == (200, "SUCCEEDED")
    assert "report" not in done.body
    shown = api.call("GET", path, caller=ALICE).body
    assert "atWork" not in shown
    assert (shown["report"]["state"], shown["report"]["result"]) == ("SUCCEEDED", {"pages": 12})
    again = api.call("POST", f"{path}/complete", {"token": token}, caller=ALICE)
    assert (again.status, again.body["state"]) == (200, "SUCCEEDED")
    late = api.call("POST", f"{path}/fail", {"token": token, "error": "e"}, caller=ALICE)
    assert late.status == 409


def test_a_failure_for_good_is_dead_with_its_error(api: Api) -> None:
    path, token = at_work(api)
    error = "no such customer " + "x" * 1_000
    assert (
        api.call("POST", f"{path}/fail", {"token": token, "error": error, "retryable": False}, caller=ALICE).status
        == 200
    )
    api.clockwork.run_until(api.clockwork.clock.at + 3_000)
    shown = api.call("GET", path, caller=ALICE).body
    assert (shown["state"], shown["report"]["error"]) == ("DEAD", error)
    assert shown["attempts"][0]["error"] == error[:500]


def test_a_cancel_is_told_by_the_heartbeat(api: Api) -> None:
    path, token = at_work(api)
    assert api.call("POST", f"{path}/cancel", caller=ALICE).body["result"] == "running"
    beat = api.call("POST", f"{path}/heartbeat", {"token": token}, caller=ALICE)
    assert beat.body["cancelRequested"] is True
    stopped = api.call("POST", f"{path}/cancelled", {"token": token}, caller=ALICE)
    assert (stopped.status, stopped.body["state"]) == (200, "CANCELLED")
    assert "forced" not in stopped.body


def test_a_receiver_that_does_not_stop_is_stopped_and_that_is_shown(api: Api) -> None:
    path, token = at_work(api, completion={"mode": "callback", "heartbeatSeconds": 600, "timeoutSeconds": 600})
    early = api.call("POST", f"{path}/cancelled", {"token": token}, caller=ALICE)
    assert (early.status, early.body["detail"]) == (409, "nobody has asked for a cancel")
    api.call("POST", f"{path}/cancel", caller=ALICE)
    api.clockwork.run_until(api.clockwork.clock.at + 70_000)
    shown = api.call("GET", path, caller=ALICE).body
    assert (shown["state"], shown["forced"], shown["attempts"][0]["state"]) == ("CANCELLED", True, "CANCELLED")
    assert api.call("POST", f"{path}/complete", {"token": token}, caller=ALICE).status == 409


def test_completion_needs_records_and_has_no_order(api: Api) -> None:
    assert problems(api, record="none") == [("/completion", "needs the record level full")]
    ((pointer, detail),) = problems(api, orderingKey="k")
    assert pointer == "/orderingKey"
    assert "completion" in detail


@pytest.mark.parametrize(
    ("completion", "pointer"),
    [
        ({"mode": "webhook"}, "/completion/mode"),
        ({}, "/completion/mode"),
        ({"mode": "callback", "heartbeatSeconds": 9}, "/completion/heartbeatSeconds"),
        ({"mode": "callback", "timeoutSeconds": 604_801}, "/completion/timeoutSeconds"),
        ({"mode": "callback", "heartbeatSeconds": 61, "timeoutSeconds": 60}, "/completion"),
        ({"mode": "callback", "heartbeat": 61}, "/completion/heartbeat"),
    ],
)
def test_a_completion_out_of_bounds_is_refused_at_its_place(api: Api, completion: Any, pointer: str) -> None:
    assert [one for one, _ in problems(api, completion=completion)] == [pointer]


@pytest.mark.parametrize(
    ("verb", "body", "pointer"),
    [
        ("complete", {"result": "x" * 32_767}, "/result"),
        ("complete", {}, "/token"),
        ("fail", {"error": "ü" * 16_385}, "/error"),
        ("fail", {"error": ""}, "/error"),
        ("fail", {"error": "e", "retryAfterSeconds": 86_401}, "/retryAfterSeconds"),
        ("heartbeat", {"progress": 1.1}, "/progress"),
        ("heartbeat", {"message": "x" * 257}, "/message"),
        ("heartbeat", {"token": "x" * 1_001}, "/token"),
    ],
)
def test_a_report_out_of_bounds_is_refused_and_changes_nothing(api: Api, verb: str, body: Any, pointer: str) -> None:
    path, token = at_work(api)
    before = api.call("GET", path, caller=ALICE).body
    given = {"token": token, **body} if pointer != "/token" or "token" in body else body
    refused = api.call("POST", f"{path}/{verb}", given, caller=ALICE)
    assert (refused.status, [one["pointer"] for one in refused.body["errors"]]) == (422, [pointer])
    assert api.call("GET", path, caller=ALICE).body == before


def test_the_largest_reports_are_taken(api: Api) -> None:
    path, token = at_work(api)
    largest = "x" * (32 * 1024 - 2)
    assert api.call("POST", f"{path}/complete", {"token": token, "result": largest}, caller=ALICE).status == 200
    assert api.call("GET", path, caller=ALICE).body["report"]["result"] == largest
