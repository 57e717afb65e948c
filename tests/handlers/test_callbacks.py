"""Callbacks (onFailure) over the API: checked, shown and changed like any target, with pointers at onFailure."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import Outcome, State
from clockwork.targets.http import HttpTarget
from tests.handlers.faults import EVENTBRIDGE, FIELDS, FIFO, HTTP, LAMBDA, LISTED_ARNS, QUEUE, SNS, Fault, refused
from tests.handlers.handlers import Api, job_body
from tests.support.examples import ACME

BACK = {"type": "http", "url": "https://example.com/failed"}
CRON = {"jobKey": "daily", "schedule": {"cron": "0 3 * * *"}}


def api_with_targets(**client: Any) -> Api:
    """Acme may use two queues and some services."""
    api = Api()
    lists = {"allowed_queue_arns": (QUEUE, FIFO), "allowed_target_arns": LISTED_ARNS}
    api.clockwork.clients.put(msgspec.structs.replace(ACME, **{**lists, **client}))
    return api


def as_callback(fault: Fault) -> Fault:
    """The same fault, in the callback's target."""
    pointer = fault.pointer.replace("/target", "/onFailure", 1)
    return Fault(fault.id, {"onFailure": fault.body["target"]}, pointer, fault.says)


FAULTS = [as_callback(fault) for fault in FIELDS if fault.pointer.startswith("/target") and fault.body["target"]]


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.id for fault in FAULTS])
def test_every_fault_of_a_target_is_one_of_a_callback(fault: Fault) -> None:
    api = api_with_targets()
    answer = api.create(**fault.body)
    refused(answer, 422)
    assert (answer.pointers, api.writes) == ([fault.pointer], [])
    assert fault.says in answer.details[0]
    batch = api.call("POST", "/v1/jobs/batch", {"jobs": [job_body(**fault.body)]})
    assert [one["pointer"] for one in batch.body["results"][0]["problem"]["errors"]] == [f"/jobs/0{fault.pointer}"]
    assert api.writes == []


def test_there_are_faults_of_every_kind_of_target() -> None:
    kinds = {str(fault.body["onFailure"].get("type")) for fault in FAULTS}
    assert {"http", "sqs", "lambda", "eventbridge", "sns"} <= kinds


def test_faults_of_target_and_callback_are_told_together_and_apart() -> None:
    inside = {"type": "http", "url": "https://10.0.0.1/x", "headers": {"host": "x"}}
    answer = api_with_targets().create(target=inside, onFailure=inside)
    refused(answer, 422)
    assert answer.pointers == ["/onFailure/headers/host", "/onFailure/url", "/target/headers/host", "/target/url"]


def test_a_callback_may_only_go_where_its_client_may() -> None:
    api = api_with_targets(allowed_target_hosts=("example.com",), allowed_private_targets=("10.0.0.1:80",))
    elsewhere = api.create(onFailure={"type": "http", "url": "https://example.org/x"})
    assert (elsewhere.status, elsewhere.pointers) == (422, ["/onFailure/url"])
    assert "allowedTargetHosts" in elsewhere.details[0]


@pytest.mark.parametrize("named", [{}, CRON], ids=["anonymous", "named"])
@pytest.mark.parametrize("back", [BACK, {"type": "sqs", "queueArn": QUEUE}, LAMBDA, EVENTBRIDGE, SNS], ids=str)
def test_a_callback_is_shown_as_it_was_asked_for(named: dict[str, Any], back: dict[str, Any]) -> None:
    api = api_with_targets()
    created = api.create(**named, onFailure=back)
    assert created.status == 201, created.text
    shown = api.call("GET", f"/v1/jobs/{created.body['jobId']}").body
    assert back.items() <= shown["onFailure"].items()
    without = api.create(**({**CRON, "jobKey": "other"} if named else {}))
    assert "onFailure" not in api.call("GET", f"/v1/jobs/{without.body['jobId']}").body


def test_a_named_jobs_callback_is_compared_changed_and_taken_away() -> None:
    api = api_with_targets()
    created = api.create(**CRON, onFailure=BACK)
    assert api.create(**CRON, onFailure=BACK).status == 200
    other = api.create(**CRON, onFailure={**BACK, "url": "https://example.com/other"})
    assert (other.status, other.pointers) == (409, ["/onFailure/url"])
    path = f"/v1/jobs/{created.body['jobId']}"
    assert api.call("PATCH", path, {"onFailure": {"method": "PUT"}}).status == 200
    assert api.call("GET", path).body["onFailure"]["method"] == "PUT"
    assert api.call("PATCH", path, {"onFailure": None}).status == 200
    assert "onFailure" not in api.call("GET", path).body


@pytest.mark.parametrize("named", [{}, {"jobKey": "once"}], ids=["anonymous", "named"])
@pytest.mark.parametrize("batch", [False, True], ids=["alone", "in a batch"])
def test_a_dead_job_is_called_back_signed_where_only_the_callback_is_a_webhook(
    named: dict[str, Any], batch: bool
) -> None:
    api = api_with_targets(signing_secrets=("clockwork/acme",))

    def answer(delivery: Any) -> Outcome:
        now = api.clockwork.clock.now()
        is_back = isinstance(delivery.occurrence.target, HttpTarget)
        return Outcome(State.SUCCEEDED if is_back else State.FAILED, now, now, permanent=not is_back, error="refused")

    api.clockwork.targets._answer = answer
    job = {"schedule": {"delaySeconds": 1}, "target": {"type": "sqs", "queueArn": QUEUE}, "onFailure": HTTP, **named}
    if batch:
        second = {**job, **({"jobKey": "twice"} if named else {})}
        answered = api.call("POST", "/v1/jobs/batch", {"jobs": [{"payload": 1, **job}, {"payload": 1, **second}]})
        assert [result["status"] for result in answered.body["results"]] == [201, 201]
    else:
        assert api.create(**job).status == 201
    api.clockwork.run_until(api.clockwork.clock.at + 60_000)
    backs = [one for one in api.clockwork.targets.delivered if isinstance(one.occurrence.target, HttpTarget)]
    assert len(backs) == (2 if batch else 1)
    assert {one.occurrence.signing_secrets for one in backs} == {("clockwork/acme",)}
