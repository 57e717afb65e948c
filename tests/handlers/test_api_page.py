"""docs/api.md: its bodies and messages are taken as they stand, and its answers are those that come."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from clockwork.domain.executions import Outcome, State
from infra import ROOT
from tests.handlers.handlers import Api, job_body
from tests.handlers.test_ingester import Ingester
from tests.support.examples import ACME, ADMIN
from tests.unit.test_docs import fenced

JOB, WORKFLOW, CREATE, CANCEL, PROBLEM, CALLBACK, ORIGINAL = (
    json.loads(one) for one in fenced(ROOT / "docs/api.md", "json")
)


def test_the_job_is_taken_and_shown_as_it_was_sent() -> None:
    api = Api()
    created = api.call("POST", "/v1/jobs", JOB)
    assert created.status == 201, created.text
    shown = api.call("GET", f"/v1/jobs/{created.body['jobId']}").body
    assert {name: shown[name] for name in ("clientId", "jobKey", "schedule", "payload", "tags")} == {
        name: JOB[name] for name in ("clientId", "jobKey", "schedule", "payload", "tags")
    }


def test_the_workflow_is_taken_and_shown_with_its_nodes() -> None:
    api = Api()
    created = api.call("POST", "/v1/jobs", WORKFLOW)
    assert created.status == 201, created.text
    shown = api.call("GET", f"/v1/jobs/{created.body['jobId']}").body["target"]["nodes"]
    asked = WORKFLOW["target"]["nodes"]
    assert {name: node["after"] for name, node in shown.items()} == {
        name: node.get("after", []) for name, node in asked.items()
    }


def test_the_messages_create_and_cancel() -> None:
    ingester = Ingester()
    assert ingester.take(CREATE) == []
    assert len(ingester.payloads()) == 1
    named = {"op": "create", "clientId": "acme", "job": job_body(jobKey=CANCEL["jobKey"])}
    assert ingester.take(named, CANCEL, first=1) == []
    ((job,),) = ingester.clockwork.jobs.scan(0, 1)
    assert getattr(job, "state", None) == "CANCELLED"
    assert ingester.rejects.rejected == []


def test_the_refusal_is_the_one_that_comes() -> None:
    target = {"type": "http", "url": "https://example.com/hook", "headers": {"host": "a"}}
    answer = Api().call("POST", "/v1/jobs", {"schedule": {"at": "2026-05-05T10:00:00"}, "target": target})
    assert (answer.status, answer.body) == (422, PROBLEM)


def test_the_callback_has_the_fields_that_it_is_said_to_have() -> None:
    api = Api()
    clockwork = api.clockwork
    fails = Outcome(State.FAILED, 0, 0, status_code=503, error="HTTP 503")
    clockwork.targets._answer = lambda delivery: fails if b"invoice" in delivery.occurrence.payload.body else _done()
    told = {**JOB, "onFailure": {"type": "http", "url": "https://example.com/failed"}}
    told |= {"schedule": {"delaySeconds": 1}, "retryPolicy": {**JOB["retryPolicy"], "jitter": "none"}}
    assert api.call("POST", "/v1/jobs", told).status == 201
    clockwork.run_until(clockwork.clock.at + 3_600_000)
    callback: dict[str, Any] = json.loads(clockwork.targets.delivered[-1].occurrence.payload.body)
    assert list(callback) == list(CALLBACK)
    opaque = ("executionId", "jobId", "dueAt")
    assert {**callback, **{name: CALLBACK[name] for name in opaque}} == CALLBACK


def _done() -> Outcome:
    return Outcome(State.SUCCEEDED, 0, 0, status_code=200)


def test_the_body_in_the_original_format_is_taken() -> None:
    api = Api(kafka_release_queue_url="https://sqs/kafka")
    ours = msgspec.structs.replace(ACME, client_id="client1", allowed_topics=("orderTopic",))
    api.clockwork.clients.put(ours)
    answer = api.call("POST", "/schedule", ORIGINAL, caller=ADMIN)
    assert (answer.status, answer.text) == (200, "order1")
