"""Faults outside the fields of one job: headers, queries, batches, and many faults at once."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.edge.description.contract import OPERATIONS
from clockwork.edge.http.forms import Form
from clockwork.edge.http.models import model_of
from clockwork.edge.http.shown import VALUES
from clockwork.targets.http import HttpTarget
from tests.handlers.faults import HTTP, refused, retry, schedule
from tests.handlers.handlers import Api, job_body
from tests.support.events import encoded
from tests.support.examples import ADMIN, ALICE


@pytest.mark.parametrize("key", ["", "a" * 256, "a b", "a\tb", "é", "a\r\nb", "\x7f"])
@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs/batch"])
def test_an_idempotency_key_of_another_form_is_422(path: str, key: str) -> None:
    api = Api()
    body = job_body() if path == "/v1/jobs" else {"jobs": [job_body()]}
    answer = api.call("POST", path, body, headers={"Idempotency-Key": key})
    refused(answer, 422)
    assert answer.details == ["the Idempotency-Key header must be 1-255 visible ASCII characters"]
    assert api.writes == []


def test_an_idempotency_key_stands_for_one_request() -> None:
    api = Api()
    key = {"Idempotency-Key": "k" * 255}
    first = api.call("POST", "/v1/jobs", job_body(), headers=key)
    again = api.call("POST", "/v1/jobs", encoded(dict(reversed(job_body().items()))) + " ", headers=key)
    assert (first.status, again.text) == (201, first.text)
    other = api.call("POST", "/v1/jobs", job_body(payload=2), headers=key)
    refused(other, 409)
    assert "timeline.put_new" not in api.calls


@pytest.mark.parametrize("limit", ["", "0", "1001", "-1", "1.5", "ten", "1,2", "٣", "9" * 5_000])
def test_a_limit_of_another_form_is_422(limit: str) -> None:
    api = Api()
    job_id = api.create().body["jobId"]
    answer = api.call("GET", f"/v1/jobs/{job_id}/executions", query={"limit": limit})
    refused(answer, 422)
    assert answer.details == ["must be 1-1000, for example 100"]


@pytest.mark.parametrize("token", ["", "x", "~" * 3_000, "aaaa.1700000000000.0"])
def test_a_next_token_that_no_page_gave_is_422(token: str) -> None:
    api = Api()
    job_id = api.create().body["jobId"]
    answer = api.call("GET", f"/v1/jobs/{job_id}/executions", query={"nextToken": token})
    refused(answer, 422)
    assert "nextToken" in answer.details[0]


@pytest.mark.parametrize(
    ("body", "pointer", "says"),
    [
        ({"jobs": []}, "/jobs", "at least 1"),
        ({"jobs": [{}] * 501}, "/jobs", "at most 500"),
        ({"jobs": {}}, "/jobs", "must be a list"),
        ({}, "/jobs", "is required"),
        ({"jobs": [{}], "schedule": {}}, "/schedule", "is not a known field"),
    ],
)
def test_a_fault_of_the_batch_itself_refuses_it_whole(body: dict[str, Any], pointer: str, says: str) -> None:
    api = Api()
    answer = api.call("POST", "/v1/jobs/batch", body)
    refused(answer, 422)
    assert answer.pointers == [pointer]
    assert says in answer.details[0]
    assert api.writes == []


def test_a_batch_accepts_the_good_and_names_the_bad_by_index() -> None:
    api = Api()
    jobs = [job_body(), 5, job_body(**schedule(at="x")), job_body(payload="last"), job_body(clientId="acme")]
    answer = api.call("POST", "/v1/jobs/batch", {"clientId": "acme", "jobs": jobs})
    assert answer.status == 200
    results = answer.body["results"]
    assert [(one["index"], one["status"]) for one in results] == [(0, 201), (1, 422), (2, 422), (3, 201), (4, 422)]
    faults = [one["problem"]["errors"][0] for one in results if one["status"] == 422]
    assert [fault["pointer"] for fault in faults] == ["/jobs/1", "/jobs/2/schedule/at", "/jobs/4/clientId"]
    assert api.call("GET", f"/v1/jobs/{results[3]['jobId']}").body["payload"] == "last"
    assert api.writes == []


def test_a_batch_of_500_is_taken() -> None:
    api = Api()
    answer = api.call("POST", "/v1/jobs/batch", {"jobs": [job_body(payload=n) for n in range(500)]})
    assert {one["status"] for one in answer.body["results"]} == {201}
    assert len({one["jobId"] for one in answer.body["results"]}) == 500


def test_all_faults_of_a_request_come_in_one_answer() -> None:
    api = Api()
    body = {
        "color": "red",
        "orderingKey": "",
        "schedule": {"at": "x", "delaySeconds": -1},
        "target": {
            "type": "http",
            "url": "http://u@example.com/",
            "method": "TRACE",
            "headers": {"host": "a", "x": "\n"},
            "timeoutSeconds": 99,
        },
        "payload": "a" * 300_000,
        "retryPolicy": {"maxAttempts": 0, "backoff": "x"},
        "tags": {"": "v"},
    }
    answer = api.call("POST", "/v1/jobs", body, headers={"Idempotency-Key": "a b"})
    refused(answer, 422)
    assert answer.pointers == [
        *("", "/color", "/orderingKey", "/payload", "/retryPolicy/backoff", "/retryPolicy/maxAttempts"),
        *("/schedule", "/schedule/at", "/schedule/delaySeconds", "/tags/"),
        *("/target/headers/host", "/target/headers/x", "/target/method", "/target/timeoutSeconds", "/target/url"),
    ]
    assert api.writes == []


@pytest.mark.parametrize("kind", [{"cron": "0 9 * * *"}, {"every": {"seconds": 60}}])
def test_a_key_that_is_missing_is_listed_with_the_other_faults(kind: dict[str, Any]) -> None:
    answer = Api().create(schedule={**kind, "timezone": "Mars/Olympus"}, color="red", payload="a" * 300_000)
    refused(answer, 422)
    assert answer.pointers == ["/color", "/jobKey", "/payload", "/schedule/timezone"]
    assert Api().create(jobKey="k", schedule=kind, color="red").pointers == ["/color"]


def test_all_faults_of_a_query_come_in_one_answer() -> None:
    query = {"limit": "0", "color": "red", "from": "tomorrow", "to": "", "prefix": "\x00", "kind": "lost"}
    answer = Api().call("GET", "/v1/clients/acme/attention", query=query)
    refused(answer, 422)
    assert dict(zip(answer.pointers, answer.details, strict=True)) == {
        "?color": "is not a known query parameter: this operation takes kind, prefix, from, to, limit, nextToken",
        "?from": "must be RFC 3339, for example 2026-05-05T10:00:00.250Z",
        "?kind": "must be one or more of dead, retrying, for example dead,retrying",
        "?limit": "must be 1-1000, for example 100",
        "?prefix": "must be a jobKey or its beginning, for example daily-",
        "?to": "must be RFC 3339, for example 2026-05-05T10:00:00.250Z",
    }
    both = Api().call("GET", "/v1/upcoming", query={"from": "0001-01-01T00:00:00Z", "to": "9999-12-31T00:00:00Z"})
    assert both.details == ["is out of 1970-2286"] * 2


def test_a_field_that_is_missing_or_of_another_kind_is_shown() -> None:
    body = {"schedule": {"delaySeconds": "5"}, "target": "https://example.com/hook", "tags": ["a"]}
    shown = Api().call("POST", "/v1/jobs", body)
    assert dict(zip(shown.pointers, shown.details, strict=True)) == {
        "/schedule/delaySeconds": "must be a number, for example 30",
        "/tags": 'must be a JSON object, for example {"team": "billing"}',
        "/target": 'must be a JSON object, for example {"type": "http", "url": "https://example.com/hook"}',
    }
    missing = Api().call("POST", "/v1/jobs", {"schedule": {}, "target": {}})
    assert missing.details == [
        'must have just one of at, delaySeconds, every, cron, for example {"delaySeconds": 30}',
        'is required, for example "http"',
    ]


def _required(schema: Any) -> set[str]:
    """The names of all fields that must be there, in a JSON schema and in all of its parts."""
    if isinstance(schema, list):
        return set().union(*map(_required, schema))
    if not isinstance(schema, dict):
        return set()
    own = {name for name in schema.get("required", ()) if name in schema.get("properties", ())}
    return own.union(*map(_required, schema.values()))


def test_every_field_that_must_be_there_has_a_value_to_show() -> None:
    bodies = [one.body for one in OPERATIONS.values() if one.body is not None]
    models = [model_of(body) if issubclass(body, Form) else body for body in bodies]
    names = set().union(*(_required(model.model_json_schema()) for model in models))
    assert len(names) > 40
    assert names - VALUES.keys() == set()


def test_a_request_with_countless_faults_gets_an_answer_of_a_bounded_size() -> None:
    api = Api()
    nonsense = {f"unknown{number}": 0 for number in range(20_000)}
    answer = api.create(**nonsense)
    refused(answer, 422)
    assert len(answer.body["errors"]) == 101
    assert answer.body["errors"][-1] == {"pointer": "", "detail": "has 19,900 more faults"}
    long = api.create(**{"/" * 400_000: 0}, tags={"t" * 50_000: ""})
    refused(long, 422)
    assert len(long.text) < 2_000
    element = {f"{'/' * 20}{number}": 0 for number in range(200)}
    batch = api.call("POST", "/v1/jobs/batch", {"jobs": [element] * 500})
    assert batch.status == 200
    assert len(batch.text.encode()) < 2 * 1024 * 1024
    assert batch.body["results"][499]["problem"]["errors"][-1]["detail"] == "has 192 more faults"


def test_what_is_kept_is_what_was_sent() -> None:
    api = Api()
    body = job_body(payload={"ü": [1, 2.5, None, "\u0001"]}, tags={"a": "b"}, record="none", **retry(maxAttempts=2))
    shown = api.call("GET", f"/v1/jobs/{api.call('POST', '/v1/jobs', body).body['jobId']}").body
    assert shown["payload"] == body["payload"]
    assert shown["tags"] == {"a": "b"}
    assert (shown["record"], shown["retryPolicy"]["maxAttempts"]) == ("none", 2)
    assert shown["target"] == {**HTTP, "method": "POST", "timeoutSeconds": HttpTarget("").timeout_seconds}


def test_what_a_jobs_key_refuses_is_pointed_at_from_the_batchs_body() -> None:
    api = Api()
    named = job_body(jobKey="k", payload=1)
    assert api.create(**named).status == 201
    jobs = [job_body(), {**named, "payload": 2, "tags": {"a": "b"}}, named]
    results = api.call("POST", "/v1/jobs/batch", {"jobs": jobs}).body["results"]
    assert [one["status"] for one in results] == [201, 409, 200]
    pointers = [fault["pointer"] for fault in results[1]["problem"]["errors"]]
    assert pointers == ["/jobs/1/payload", "/jobs/1/tags"]


def test_a_batch_under_a_key_of_another_request_creates_nothing_named_either() -> None:
    api = Api()
    key = {"Idempotency-Key": "k"}
    assert api.call("POST", "/v1/jobs/batch", {"jobs": [job_body()]}, headers=key).status == 200
    other = {"jobs": [job_body(jobKey="named"), job_body()]}
    refused(api.call("POST", "/v1/jobs/batch", other, headers=key), 409)
    assert api.call("GET", "/v1/jobs").body == {"items": [], "jobsRead": 0}


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs/batch"])
def test_an_idempotency_key_covers_named_jobs_too(path: str) -> None:
    api = Api()
    bodies = [job_body(jobKey="a"), job_body(jobKey="a"), job_body(jobKey="b")]
    sent = bodies if path == "/v1/jobs" else [{"jobs": [body]} for body in bodies]
    answers = [api.call("POST", path, body, headers={"Idempotency-Key": "k"}) for body in sent]
    assert [answer.status for answer in answers] == ([201, 200, 409] if path == "/v1/jobs" else [200, 200, 409])
    assert [item["jobKey"] for item in api.call("GET", "/v1/jobs").body["items"]] == ["a"]


@pytest.mark.parametrize(
    ("policy", "jitter"),
    [
        ({"backoff": "fixed"}, "none"),
        ({"backoff": "fixed", "jitter": None}, "none"),
        ({"backoff": "fixed", "jitter": "full"}, "full"),
        ({"backoff": "exponential"}, "full"),
        ({"backoff": "linear"}, "full"),
        ({}, "full"),
    ],
)
def test_a_fixed_pause_is_what_it_says_unless_a_jitter_is_asked_for(policy: dict[str, Any], jitter: str) -> None:
    api = Api()
    own = api.create(**retry(**policy)).body["jobId"]
    assert api.call("GET", f"/v1/jobs/{own}").body["retryPolicy"]["jitter"] == jitter
    principals = {"principals": [ALICE]}
    shown = api.call("PUT", "/v1/clients/acme", {**principals, "retryPolicy": policy}, caller=ADMIN).body
    assert shown["retryPolicy"]["jitter"] == jitter
