"""Jobs that end by callback over the API: how they are asked for, shown, reported on and refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.lifecycle.tokens import InvalidToken, decode_token
from clockwork.ports import Refused
from tests.handlers.handlers import Answer, Api
from tests.support.examples import ACME, ADMIN

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


LONG = {"mode": "callback", "heartbeatSeconds": 600, "timeoutSeconds": 600}


def delete_job(api: Api, path: str) -> Answer:
    job_id = path.removeprefix("/v1/executions/").split(".")[0]
    return api.call("DELETE", f"/v1/jobs/{job_id}", caller=ALICE)


def later(api: Api, seconds: int) -> None:
    api.clockwork.run_until(api.clockwork.clock.at + seconds * 1_000)


@pytest.mark.parametrize("fields", [{"jobKey": "once"}, {"jobKey": "k", "schedule": {"every": {"seconds": 3_600}}}])
def test_the_receiver_of_a_deleted_job_hears_of_the_cancel_and_may_stop(api: Api, fields: dict[str, Any]) -> None:
    if "schedule" in fields:
        created = api.call("POST", "/v1/jobs", job(**fields), caller=ALICE)
        api.call("POST", f"/v1/jobs/{created.body['jobId']}/run", {}, caller=ALICE)
        later(api, 3)
        delivery = api.clockwork.targets.delivered[-1]
        path, token = f"/v1/executions/{delivery.execution_id}", str(delivery.token)
    else:
        path, token = at_work(api, **fields)
    deleted = delete_job(api, path)
    assert (deleted.body["result"], len(deleted.body["executions"])) == ("running", 1)
    beat = api.call("POST", f"{path}/heartbeat", {"token": token}, caller=ALICE)
    assert beat.body["cancelRequested"] is True
    stopped = api.call("POST", f"{path}/cancelled", {"token": token}, caller=ALICE)
    assert (stopped.status, stopped.body["state"]) == (200, "CANCELLED")


def test_the_receiver_of_a_deleted_job_has_its_grace_and_is_stopped_then_though_its_lease_is_long(api: Api) -> None:
    path, token = at_work(api, jobKey="k", completion=LONG)
    delete_job(api, path)
    later(api, 50)
    assert api.call("GET", path, caller=ALICE).body["state"] == "RUNNING"
    later(api, 20)
    shown = api.call("GET", path, caller=ALICE).body
    assert (shown["state"], shown["forced"]) == ("CANCELLED", True)
    assert api.call("POST", f"{path}/complete", {"token": token}, caller=ALICE).status == 409


def test_a_receiver_that_accepts_after_its_job_was_deleted_hears_of_it_too(api: Api) -> None:
    answer = api.clockwork.targets._answer
    early: list[Answer] = []

    def deleting(delivery: Any) -> Any:
        if not early:
            early.append(delete_job(api, f"/v1/executions/{delivery.execution_id}"))
        return answer(delivery)

    api.clockwork.targets._answer = deleting
    path, token = at_work(api, jobKey="k", completion=LONG)
    assert early[0].body["result"] == "running"
    assert api.call("POST", f"{path}/heartbeat", {"token": token}, caller=ALICE).body["cancelRequested"] is True
    later(api, 70)
    assert api.call("GET", path, caller=ALICE).body["state"] == "CANCELLED"


def test_a_pause_or_a_change_of_a_job_leaves_its_receiver_at_work(api: Api) -> None:
    path, token = at_work(api, jobKey="k")
    job_id = path.removeprefix("/v1/executions/").split(".")[0]
    assert api.call("POST", f"/v1/jobs/{job_id}/pause", {"waiting": "cancel"}, caller=ALICE).status == 200
    assert api.call("PATCH", f"/v1/jobs/{job_id}", {"payload": 2}, caller=ALICE).status == 200
    beat = api.call("POST", f"{path}/heartbeat", {"token": token}, caller=ALICE)
    assert (beat.status, "cancelRequested" in beat.body) == (200, False)


@pytest.mark.parametrize("fields", [{}, {"jobKey": "k"}])
def test_repeats_of_a_cancel_send_one_watch_more_and_only_one(api: Api, fields: dict[str, str]) -> None:
    path, _ = at_work(api, completion=LONG, **fields)
    watch = len(api.clockwork.queue.messages)

    def cancel() -> int:
        api.call("POST", f"{path}/cancel", caller=ALICE)
        delete_job(api, path)
        return len(api.clockwork.queue.messages) - watch

    assert [cancel() for _ in range(5)][1:] == [2] * 4
    later(api, 70)
    assert api.call("GET", path, caller=ALICE).body["state"] == "CANCELLED"


@pytest.mark.parametrize("fields", [{}, {"jobKey": "k"}])
@pytest.mark.parametrize("by_job", [True, False])
def test_a_watch_that_the_queue_refused_or_that_was_never_sent_comes_with_a_repeat(
    api: Api, monkeypatch: pytest.MonkeyPatch, fields: dict[str, str], by_job: bool
) -> None:
    path, _ = at_work(api, completion=LONG, **fields)

    def cancel() -> Answer:
        return delete_job(api, path) if by_job else api.call("POST", f"{path}/cancel", caller=ALICE)

    monkeypatch.setattr(api.clockwork.queue, "send", lambda *_: [Refused(0, permanent=False, reason="throttled")])
    for _ in range(3):
        assert cancel().status == 503
    monkeypatch.undo()
    assert cancel().body["result"] == "running"
    later(api, 70)
    assert api.call("GET", path, caller=ALICE).body["state"] == "CANCELLED"


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


@pytest.mark.parametrize("is_gone", [False, True])
def test_the_executions_of_a_deleted_client_take_no_reports(api: Api, is_gone: bool) -> None:
    path, token = at_work(api)
    stored = api.clockwork.clients.get("acme")
    assert stored is not None
    now = api.clockwork.clock.at
    anew = {"since_at": now + 1} if is_gone else {"deleting_at": now}
    api.clockwork.clients.put(msgspec.structs.replace(stored, **anew))
    for verb, body in (("complete", {}), ("fail", {"error": "x"}), ("cancelled", {}), ("heartbeat", {})):
        answer = api.call("POST", f"{path}/{verb}", {"token": token, **body}, caller=ADMIN)
        assert (answer.status, answer.body["detail"]) == (404, "there is no such execution"), verb
        assert api.writes == []
    api.clockwork.clients.put(stored)
    api.clockwork.clients.damage("acme")
    answer = api.call("POST", f"{path}/complete", {"token": token}, caller=ADMIN)
    assert answer.status == 200, "a damaged client was not deleted"


@pytest.mark.parametrize("attempt", ["01", "001", "+1", " 1", "1 ", "\u0661", "1_0", "0", ""])
def test_a_token_has_one_spelling(api: Api, attempt: str) -> None:
    path, token = at_work(api)
    odd = f".{attempt}.".join(token.rsplit(".1.", 1))
    assert odd != token
    answer = api.call("POST", f"{path}/complete", {"token": odd}, caller=ALICE)
    assert (answer.status, api.writes) == (409, [])
    with pytest.raises(InvalidToken):
        decode_token(odd)
    assert api.call("POST", f"{path}/complete", {"token": token}, caller=ALICE).status == 200


MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:orders"
END = {"target": {"type": "stepFunctions", "stateMachineArn": MACHINE}, "completion": {"mode": "end"}}


@pytest.fixture
def machines(api: Api) -> Api:
    api.clockwork.clients.put(msgspec.structs.replace(ACME, principals=(ALICE,), allowed_target_arns=(MACHINE,)))
    return api


def test_a_job_that_ends_with_its_state_machine_shows_no_heartbeats(machines: Api) -> None:
    created = machines.call("POST", "/v1/jobs", job(**END), caller=ALICE)
    shown = machines.call("GET", f"/v1/jobs/{created.body['jobId']}", caller=ALICE)
    assert shown.body["completion"] == {"mode": "end", "timeoutSeconds": 86_400}


def test_an_execution_shows_that_aws_is_at_work_and_takes_no_token(machines: Api) -> None:
    path, token = at_work(machines, **END)
    shown = machines.call("GET", path, caller=ALICE).body
    assert (shown["state"], set(shown["atWork"])) == ("RUNNING", {"attempt", "acceptedAt", "leaseUntil", "deadlineAt"})
    assert token == "None"
    execution_id = path.rpartition("/")[2]
    made_up = f"{execution_id}.1.{'a' * 22}"
    assert machines.call("POST", f"{path}/complete", {"token": made_up}, caller=ALICE).status == 409
    machines.clockwork.run_until(machines.clockwork.clock.at + 60_000)
    done = machines.call("GET", path, caller=ALICE).body
    assert (done["state"], done["report"]["state"]) == ("SUCCEEDED", "SUCCEEDED")


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        (END | {"completion": {"mode": "end", "heartbeatSeconds": 60}}, "heartbeatSeconds is for the mode callback"),
        ({"completion": {"mode": "end"}}, "cannot have the mode end with http, whose end AWS does not say"),
        (END | {"record": "none"}, "needs the record level full"),
        (END | {"orderingKey": "a"}, "is not for jobs with completion"),
    ],
)
def test_what_aws_does_not_tell_is_refused(machines: Api, fields: dict[str, Any], fault: str) -> None:
    assert any(fault in detail for _, detail in problems(machines, **fields))
