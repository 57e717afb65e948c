"""The refusal of an unknown field names the known one that is like it, and compares a bounded number of names."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.domain.errors import InvalidRequest
from clockwork.edge.http.checks import MOST_COMPARED, Checks
from clockwork.edge.http.shown import LONGEST_COMPARED, meant_by
from clockwork.edge.http.validation import validate
from clockwork.edge.requests.jobs import CreateJobBody
from clockwork.settings import Settings
from tests.handlers.faults import HTTP, QUEUE, refused, retry, schedule, target
from tests.handlers.handlers import Answer, Api, job_body
from tests.support.examples import ADMIN

UNKNOWN = "is not a known field"


def told(answer: Answer) -> dict[str, str]:
    """The faults of a refusal by their pointers."""
    refused(answer, 422)
    return dict(zip(answer.pointers, answer.details, strict=True))


@pytest.mark.parametrize(
    ("body", "pointer", "meant"),
    [
        ({"payloud": 1}, "/payloud", "payload"),
        ({"jobkey": "a"}, "/jobkey", "jobKey"),
        (retry(maxAttemps=3), "/retryPolicy/maxAttemps", "maxAttempts"),
        (schedule(delaySeconds=1, dealySeconds=1), "/schedule/dealySeconds", "delaySeconds"),
        (target(timeout_seconds=5), "/target/timeout_seconds", "timeoutSeconds"),
        ({"onFailure": {**HTTP, "hedaers": {}}}, "/onFailure/hedaers", "headers"),
        ({"completion": {"mode": "callback", "timeoutSecs": 90}}, "/completion/timeoutSecs", "timeoutSeconds"),
        ({"target": {"type": "sqs", "queueArn": QUEUE, "messageGroup": "g"}}, "/target/messageGroup", "messageGroupId"),
        # Fields of a target of another type, and of another object, are not meant.
        (target(queueArm=QUEUE), "/target/queueArm", None),
        ({"maxAttemps": 3}, "/maxAttemps", None),
        (target(http=1), "/target/http", None),
        ({"color": "red"}, "/color", None),
    ],
)
def test_an_unknown_field_of_a_job_gets_the_near_one_of_its_object(body: Any, pointer: str, meant: str | None) -> None:
    api = Api()
    says = f"{UNKNOWN}: did you mean {meant}?" if meant else UNKNOWN
    assert told(api.create(**body))[pointer] == says
    (result,) = api.call("POST", "/v1/jobs/batch", {"jobs": [job_body(**body)]}).body["results"]
    faults = {one["pointer"]: one["detail"] for one in result["problem"]["errors"]}
    assert faults[f"/jobs/0{pointer}"] == says
    assert api.writes == []


def test_a_node_of_a_workflow_has_near_fields_too() -> None:
    node = {"target": {**HTTP, "uri": "x"}, "afterr": [], "if": [{"att": "/input", "is": [1]}], **retry(jiter="full")}
    faults = told(Api().create(target={"type": "workflow", "nodez": {}, "nodes": {"a": node}}))
    assert {pointer: detail for pointer, detail in faults.items() if detail.startswith(UNKNOWN)} == {
        "/target/nodez": f"{UNKNOWN}: did you mean nodes?",
        "/target/nodes/a/afterr": f"{UNKNOWN}: did you mean after?",
        "/target/nodes/a/if/0/att": f"{UNKNOWN}: did you mean at?",
        "/target/nodes/a/retryPolicy/jiter": f"{UNKNOWN}: did you mean jitter?",
        "/target/nodes/a/target/uri": f"{UNKNOWN}: did you mean url?",
    }


@pytest.mark.parametrize(
    ("method", "path", "body", "pointer", "meant"),
    [
        (
            "PUT",
            "/v1/clients/acme",
            {"principals": [], "retryPolicy": {"maxAge": 1}},
            "/retryPolicy/maxAge",
            "maxAgeSeconds",
        ),
        ("PUT", "/v1/clients/acme", {"principals": [], "retentionDay": 1}, "/retentionDay", "retentionDays"),
        ("POST", "/v1/schedules/preview", {"schedule": {"every": {"second": 9}}}, "/schedule/every/second", "seconds"),
        (
            "POST",
            "/v1/clients/acme/operations",
            {"kind": "pauseJobs", "filter": {"perfix": "a"}},
            "/filter/perfix",
            "prefix",
        ),
        ("POST", "/v1/clients/acme/pause", {"reasn": "x"}, "/reasn", "reason"),
    ],
)
def test_other_bodies_have_near_fields_too(method: str, path: str, body: Any, pointer: str, meant: str) -> None:
    assert told(Api().call(method, path, body, caller=ADMIN))[pointer] == f"{UNKNOWN}: did you mean {meant}?"


def test_a_name_longer_than_any_field_is_compared_with_none() -> None:
    assert meant_by("relevancyWindowSeconds".ljust(LONGEST_COMPARED, "s")[:40], ["relevancyWindowSeconds"]) != ""
    assert meant_by("maxAttempts" * 6, ["maxAttempts" * 6]) == ""


def compared(body: Any) -> int:
    """How many names the refusal of a body compares with others."""
    checks = Checks(1_700_000_000_000, Settings.for_local())
    with pytest.raises(InvalidRequest):
        validate(CreateJobBody, body, checks)
    return len(checks.compared)


def test_the_names_that_a_hostile_body_has_compared_are_few() -> None:
    assert compared(job_body(**{f"payload{number}": 0 for number in range(100)})) == 100
    # A body with more faults than are listed was never meant for the operation.
    assert compared(job_body(**{f"payload{number}": 0 for number in range(101)})) == 0
    assert compared(job_body(**{f"payload{number}": 0 for number in range(20_000)})) == 0
    nodes = {f"n{place}": {f"target{place}x{number}": 0 for number in range(90)} for place in range(20)}
    assert compared(job_body(target={"type": "workflow", "nodes": nodes})) == MOST_COMPARED


def test_the_jobs_of_a_batch_have_few_names_compared_and_each_name_once() -> None:
    jobs = [job_body(payloud=1, **retry(maxAttemps=3)) for _ in range(500)]
    results = Api().call("POST", "/v1/jobs/batch", {"jobs": jobs}).body["results"]
    details = [one["detail"] for result in results for one in result["problem"]["errors"]]
    assert (len(details), sum("did you mean" in one for one in details)) == (1_000, 1_000)
    hostile = [job_body(**{f"payload{place}x{number}": 0 for number in range(5)}) for place in range(500)]
    results = Api().call("POST", "/v1/jobs/batch", {"jobs": hostile}).body["results"]
    details = [one["detail"] for result in results for one in result["problem"]["errors"]]
    assert (len(details), sum("did you mean" in one for one in details)) == (2_500, MOST_COMPARED)
