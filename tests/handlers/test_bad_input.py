"""Every fault of a request that the contract names: one status, every fault pointed at, nothing written."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgspec
import pytest

from clockwork.domain.jobs import HttpTarget
from tests.events import encoded, http_event
from tests.examples import ACME, ADMIN
from tests.handlers.handlers import Answer, Api, job_body

HTTP = {"type": "http", "url": "https://example.com/hook"}
QUEUE = "arn:aws:sqs:us-east-1:111111111111:jobs"
FIFO = f"{QUEUE}.fifo"
NOW = "2023-11-14T22:13:20"


class Fault(NamedTuple):
    """A body, or changes of a valid one, and what the answer must hold."""

    id: str
    body: Any
    pointer: str
    says: str


def refused(answer: Answer, status: int) -> None:
    """The answer is a problem document of this status, and tells nothing of the inside."""
    assert answer.status == status, answer.text
    assert answer.content_type == "application/problem+json"
    document = answer.body
    assert document["status"] == status
    assert document["title"]
    assert document["type"] == "about:blank"
    for word in ("Traceback", "pydantic", "clockwork.", "botocore", "Input should", "object at 0x"):
        assert word not in answer.text


NOT_JSON: list[tuple[str, str | bytes | None, str]] = [
    ("no body", None, "empty"),
    ("an empty body", "", "empty"),
    ("white space", " \n", "empty"),
    ("text", "hello", "not JSON"),
    ("an unfinished object", '{"schedule"', "not JSON"),
    ("two values", "{} {}", "not JSON"),
    ("a byte order mark", "\ufeff{}", "not JSON"),
    ("single quotes", "{'a': 1}", "not JSON"),
    ("a raw line break in a string", '{"payload": "\n"}', "not JSON"),
    ("bytes that are not UTF-8", b'{"payload": "\xff"}', "not UTF-8"),
    ("overlong UTF-8", b'{"payload": "\xc0\xaf"}', "not UTF-8"),
    ("a surrogate in UTF-8", b'{"payload": "\xed\xa0\x80"}', "not UTF-8"),
    ("a surrogate as text", '{"payload": "\ud800"}', "not UTF-8"),
    ("half of an escaped surrogate pair", '{"payload": "\\ud800"}', "surrogate"),
    ("half of an escaped surrogate pair in a name", '{"\\udc00": 1}', "surrogate"),
    ("NaN", '{"payload": NaN}', "NaN"),
    ("Infinity", '{"payload": Infinity}', "Infinity"),
    ("minus Infinity", '{"payload": [-Infinity]}', "-Infinity"),
    ("a number beyond doubles", '{"payload": 1e999}', "too large"),
    ("a fraction beyond doubles", '{"payload": -123.5e309}', "too large"),
    ("an integer of 1,001 digits", '{"payload": ' + "9" * 1_001 + "}", "1,001"),
    ("a fraction of 400,000 digits", '{"payload": 0.' + "9" * 400_000 + "}", "400,002"),
    ("the same name twice", '{"payload": 1, "payload": 2}', "payload"),
    ("the same name twice deep down", '{"payload": [{"x": 1, "x": 1}]}', "twice"),
    ("the same name twice once unescaped", '{"payload": {"a": 1, "\\u0061": 1}}', "twice"),
    ("65 levels", '{"payload": ' + "[" * 64 + "]" * 64 + "}", "64 levels"),
    ("20,000 levels", "[" * 20_000 + "]" * 20_000, "64 levels"),
    ("20,000 levels of objects", '{"a":' * 20_000 + "1" + "}" * 20_000, "64 levels"),
    ("500,000 levels that never end", "[" * 500_000, "64 levels"),
]


@pytest.mark.parametrize(("body", "says"), [case[1:] for case in NOT_JSON], ids=[case[0] for case in NOT_JSON])
@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs/batch"])
def test_what_is_not_json_is_400(path: str, body: str | bytes | None, says: str) -> None:
    api = Api()
    answer = api.call("POST", path, body)
    refused(answer, 400)
    assert says in answer.body["detail"]
    assert api.writes == []


@pytest.mark.parametrize("text", ["!", "Zm9", "é", "Zm9v\n!"])
def test_a_body_that_is_not_the_base64_it_is_said_to_be_is_400(text: str) -> None:
    api = Api()
    refused(api.send(http_event("POST", "/v1/jobs", b"") | {"body": text}), 400)
    assert api.writes == []


@pytest.mark.parametrize(("path", "bound"), [("/v1/jobs", 512 * 1024), ("/v1/jobs/batch", 4 * 1024 * 1024)])
@pytest.mark.parametrize("is_binary", [False, True], ids=["text", "base64"])
def test_a_body_over_its_bound_is_413_before_anything_reads_it(path: str, bound: int, is_binary: bool) -> None:
    api = Api()
    # Not JSON either: the size is judged first.
    body = "[" * (bound + 1)
    answer = api.call("POST", path, body.encode() if is_binary else body)
    refused(answer, 413)
    assert f"{bound:,}" in answer.body["detail"]
    assert api.calls == []
    at_bound = encoded(job_body(payload="")) if path == "/v1/jobs" else encoded({"jobs": [job_body()]})
    assert api.call("POST", path, at_bound.ljust(bound)).status in (200, 201)


def test_size_counts_bytes_rather_than_characters() -> None:
    body = encoded(job_body()) + "\u00a0" * (256 * 1024)
    refused(Api().call("POST", "/v1/jobs", body), 413)


def test_64_levels_are_taken_and_brackets_in_strings_do_not_count() -> None:
    api = Api()
    deep = encoded(job_body(payload="MARK")).replace('"MARK"', "[" * 63 + "]" * 63)
    assert api.call("POST", "/v1/jobs", deep).status == 201
    assert api.create(payload='\\"' + "[{" * 1_000).status == 201


@pytest.mark.parametrize("body", ["[]", "5", '"text"', "null", "true", "1.5", '[{"schedule": {}}]'])
@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs/batch"])
def test_json_that_is_no_object_is_422(path: str, body: str) -> None:
    api = Api()
    answer = api.call("POST", path, body)
    refused(answer, 422)
    assert answer.body["errors"] == [{"pointer": "", "detail": "must be a JSON object"}]
    assert api.writes == []


def schedule(**fields: Any) -> dict[str, Any]:
    """A job with this schedule."""
    return {"schedule": fields}


def target(**fields: Any) -> dict[str, Any]:
    """A job with its target changed."""
    return {"target": {**HTTP, **fields}}


def retry(**fields: Any) -> dict[str, Any]:
    """A job with this retry policy."""
    return {"retryPolicy": fields}


ONE_OF = "must have just one of at and delaySeconds"
FIELDS = [
    Fault("an unknown field", {"color": "red"}, "/color", "is not a known field"),
    Fault("an unknown field whose name needs escaping", {"a/b~c": 1}, "/a~1b~0c", "is not a known field"),
    Fault("an unknown field of the schedule", schedule(delaySeconds=1, when=1), "/schedule/when", "not a known field"),
    Fault("an unknown field of the target", target(uri="x"), "/target/uri", "is not a known field"),
    Fault("a field named like the target's type", target(http=1), "/target/http", "is not a known field"),
    Fault("snake_case", target(timeout_seconds=5), "/target/timeout_seconds", "is not a known field"),
    Fault("a clientId that is no string", {"clientId": 5}, "/clientId", "must be a string"),
    Fault("no schedule", {"schedule": None}, "/schedule", "must be a JSON object"),
    Fault("a schedule that is a list", {"schedule": []}, "/schedule", "must be a JSON object"),
    Fault("an empty schedule", schedule(), "/schedule", ONE_OF),
    Fault("at and delaySeconds", schedule(at=f"{NOW}Z", delaySeconds=1), "/schedule", ONE_OF),
    Fault("at as a number", schedule(at=1_700_000_000), "/schedule/at", "must be a string"),
    Fault("at without a zone", schedule(at=NOW), "/schedule/at", "has no time zone"),
    Fault("at as garbage", schedule(at="tomorrow"), "/schedule/at", "RFC 3339"),
    Fault("at that is empty", schedule(at=""), "/schedule/at", "RFC 3339"),
    Fault("at as a date", schedule(at="2023-11-15"), "/schedule/at", "RFC 3339"),
    Fault("at in ISO 8601's basic form", schedule(at="20231115T000000Z"), "/schedule/at", "RFC 3339"),
    Fault("at as a week", schedule(at="2023-W46-3T00:00:00Z"), "/schedule/at", "RFC 3339"),
    Fault("at on 30 February", schedule(at="2024-02-30T00:00:00Z"), "/schedule/at", "RFC 3339"),
    Fault("at 24 o'clock", schedule(at="2023-11-15T24:00:00Z"), "/schedule/at", "RFC 3339"),
    Fault("at in other digits", schedule(at="\u0662023-11-15T00:00:00Z"), "/schedule/at", "RFC 3339"),
    Fault("at with a line break", schedule(at=f"{NOW}Z\n"), "/schedule/at", "RFC 3339"),
    Fault("at over 24 h past", schedule(at="2023-11-13T22:13:19.999Z"), "/schedule/at", "24 hours"),
    Fault("at over 10 years ahead", schedule(at="2033-11-11T22:13:20.001Z"), "/schedule/at", "10 years"),
    Fault("at in year 1", schedule(at="0001-01-01T00:00:00+23:59"), "/schedule/at", "24 hours"),
    Fault("at in year 9999", schedule(at="9999-12-31T23:59:59-23:59"), "/schedule/at", "10 years"),
    Fault("a negative delay", schedule(delaySeconds=-1), "/schedule/delaySeconds", "must be at least 0"),
    Fault("a delay over 10 years", schedule(delaySeconds=315_360_001), "/schedule/delaySeconds", "315360000"),
    Fault("a delay finer than ms", schedule(delaySeconds=0.0005), "/schedule/delaySeconds", "milliseconds"),
    Fault("a delay as text", schedule(delaySeconds="5"), "/schedule/delaySeconds", "must be a number"),
    Fault("a delay that is true", schedule(delaySeconds=True), "/schedule/delaySeconds", "must be a number"),
    Fault("a delay of 900 digits", schedule(delaySeconds=10**899), "/schedule/delaySeconds", "must be a number"),
    Fault("no target", {"target": None}, "/target", "must be a JSON object"),
    Fault("a target without type", {"target": {}}, "/target/type", "is required"),
    Fault("a target of unknown type", {"target": {"type": "ftp"}}, "/target/type", "must be one of 'http', 'sqs'"),
    Fault("a target whose type is a list", {"target": {"type": []}}, "/target/type", "must be one of 'http', 'sqs'"),
    Fault("a target without url", {"target": {"type": "http"}}, "/target/url", "is required"),
    Fault("url as a number", target(url=5), "/target/url", "must be a string"),
    Fault("url not https", target(url="http://example.com/"), "/target/url", "https://"),
    Fault("url of another scheme", target(url="file:///etc/passwd"), "/target/url", "https://"),
    Fault("url with credentials", target(url="https://u:p@example.com/"), "/target/url", "credentials"),
    Fault("url with a fragment", target(url="https://example.com/#x"), "/target/url", "fragment"),
    Fault("url with a line break", target(url="https://example.com/\r\nx: y"), "/target/url", "control character"),
    Fault("url of 2,049 characters", target(url=f"https://example.com/{'x' * 2_029}"), "/target/url", "2,048"),
    Fault("url to loopback", target(url="https://127.0.0.1/"), "/target/url", "public address"),
    Fault("url to a private network", target(url="https://10.1.2.3/"), "/target/url", "public address"),
    Fault("url to instance metadata", target(url="https://169.254.169.254/"), "/target/url", "public address"),
    Fault("url to IPv6 loopback", target(url="https://[::1]/"), "/target/url", "public address"),
    Fault("url to a mapped address", target(url="https://[::ffff:10.0.0.1]/"), "/target/url", "public address"),
    Fault("url to an octal address", target(url="https://0177.0.0.1/"), "/target/url", "four decimal numbers"),
    Fault("url to a single number", target(url="https://2130706433/"), "/target/url", "four decimal numbers"),
    Fault("url to localhost", target(url="https://localhost/"), "/target/url", "local name"),
    Fault("url without a host", target(url="https:///x"), "/target/url", "names no host"),
    Fault("an unknown method", target(method="TRACE"), "/target/method", "'POST'"),
    Fault("a method in lower case", target(method="post"), "/target/method", "'POST'"),
    Fault("a header injected by its value", target(headers={"x": "a\r\nhost: b"}), "/target/headers/x", "printable"),
    Fault(
        "a header injected by its name", target(headers={"x:y\r\nz": "a"}), "/target/headers/x:y\r\nz", "header name"
    ),
    Fault("a header without a name", target(headers={"": "a"}), "/target/headers", "header name"),
    Fault("a header that is a number", target(headers={"x": 5}), "/target/headers/x", "must be a string"),
    Fault("headers as a list", target(headers=[]), "/target/headers", "must be a JSON object"),
    Fault("21 headers", target(headers={f"x-{n}": "" for n in range(21)}), "/target/headers", "20"),
    Fault("headers of over 4 KiB", target(headers={"x": "a" * 4_096}), "/target/headers", "4,096"),
    *(
        Fault(f"the header {name}", target(headers={name: "a"}), f"/target/headers/{name}", "set by Clockwork")
        for name in ("Host", "content-length", "Transfer-Encoding", "connection", "TE", "webhook-id", "Clockwork-Any")
    ),
    Fault("a timeout below 1 s", target(timeoutSeconds=0.9), "/target/timeoutSeconds", "must be at least 1"),
    Fault("a timeout over the stage's", target(timeoutSeconds=15.1), "/target/timeoutSeconds", "must be at most 15"),
    Fault(
        "a queue that is not listed",
        {"target": {"type": "sqs", "queueArn": f"{QUEUE}2"}},
        "/target/queueArn",
        "allowedQueueArns",
    ),
    Fault("a queue that is missing", {"target": {"type": "sqs"}}, "/target/queueArn", "is required"),
    Fault(
        "a message group for a standard queue",
        {"target": {"type": "sqs", "queueArn": QUEUE, "messageGroupId": "g"}},
        "/target/messageGroupId",
        "FIFO",
    ),
    Fault(
        "a message group with a blank",
        {"target": {"type": "sqs", "queueArn": FIFO, "messageGroupId": "a b"}},
        "/target/messageGroupId",
        "must match",
    ),
    Fault(
        "a payload that SQS refuses",
        {"target": {"type": "sqs", "queueArn": QUEUE}, "payload": "\x00"},
        "/payload",
        "SQS refuses",
    ),
    Fault(
        "an empty payload for SQS", {"target": {"type": "sqs", "queueArn": QUEUE}, "payload": ""}, "/payload", "empty"
    ),
    Fault("a payload over 256 KiB", {"payload": "a" * (256 * 1024 + 1)}, "/payload", "262,144"),
    Fault("a payload over 256 KiB in UTF-8", {"payload": "é" * (128 * 1024 + 1)}, "/payload", "262,144"),
    Fault("record that is unknown", {"record": "some"}, "/record", "'none' or 'full'"),
    Fault("retryPolicy as null", {"retryPolicy": None}, "/retryPolicy", "must be a JSON object"),
    Fault("no attempt", retry(maxAttempts=0), "/retryPolicy/maxAttempts", "at least 1"),
    Fault("101 attempts", retry(maxAttempts=101), "/retryPolicy/maxAttempts", "at most 100"),
    Fault("half an attempt", retry(maxAttempts=1.5), "/retryPolicy/maxAttempts", "whole number"),
    Fault("10^899 attempts", retry(maxAttempts=10**899), "/retryPolicy/maxAttempts", "at most 100"),
    Fault("an unknown backoff", retry(backoff="random"), "/retryPolicy/backoff", "'exponential'"),
    Fault("an unknown jitter", retry(jitter="some"), "/retryPolicy/jitter", "'full'"),
    Fault("initialSeconds of 0", retry(initialSeconds=0), "/retryPolicy/initialSeconds", "at least 1"),
    Fault("initialSeconds over a day", retry(initialSeconds=86_401), "/retryPolicy/initialSeconds", "at most 86400"),
    Fault("maxSeconds over a day", retry(maxSeconds=86_401), "/retryPolicy/maxSeconds", "at most 86400"),
    Fault("maxAgeSeconds over 14 days", retry(maxAgeSeconds=1_209_601), "/retryPolicy/maxAgeSeconds", "1209600"),
    Fault("tags as a list", {"tags": ["a"]}, "/tags", "must be a JSON object"),
    Fault("21 tags", {"tags": {f"t{n}": "" for n in range(21)}}, "/tags", "at most 20"),
    Fault("a tag without a name", {"tags": {"": "v"}}, "/tags/", "at least 1"),
    Fault("a tag's name of 65 characters", {"tags": {"k" * 65: "v"}}, f"/tags/{'k' * 65}", "at most 64"),
    Fault("a tag's value of 257 characters", {"tags": {"k": "v" * 257}}, "/tags/k", "at most 256"),
    Fault("a tag that is a number", {"tags": {"k": 1}}, "/tags/k", "must be a string"),
    Fault("a tag named like its own value", {"tags": {"type": "k", "k": 1}}, "/tags/k", "must be a string"),
]


def api_with_queues() -> Api:
    """Acme may use two queues."""
    api = Api()
    api.clockwork.clients.put(msgspec.structs.replace(ACME, allowed_queue_arns=(QUEUE, FIFO)))
    return api


@pytest.mark.parametrize("fault", FIELDS, ids=[fault.id for fault in FIELDS])
def test_a_fault_of_a_job_is_422_alone_and_in_a_batch(fault: Fault) -> None:
    api = api_with_queues()
    answer = api.create(**fault.body)
    refused(answer, 422)
    assert answer.pointers == [fault.pointer]
    assert fault.says in answer.details[0]
    assert api.writes == []
    if fault.pointer == "/clientId":
        return
    batch = api.call("POST", "/v1/jobs/batch", {"jobs": [job_body(**fault.body)]})
    assert batch.status == 200
    (result,) = batch.body["results"]
    assert (result["index"], result["status"]) == (0, 422)
    assert [one["pointer"] for one in result["problem"]["errors"]] == [f"/jobs/0{fault.pointer}"]
    assert api.writes == []


def test_values_at_their_bounds_are_taken() -> None:
    api = api_with_queues()
    good: list[dict[str, Any]] = [
        schedule(delaySeconds=0),
        schedule(delaySeconds=315_360_000),
        schedule(delaySeconds=0.001),
        schedule(at="2023-11-13T22:13:20Z"),
        schedule(at="2033-11-11t22:13:20.000z"),
        schedule(at="2023-11-15T00:00:00.123456789+05:30"),
        target(url=f"https://example.com/{'x' * 2_028}"),
        target(headers={f"x-{n}": "" for n in range(20)}),
        target(timeoutSeconds=15),
        target(timeoutSeconds=1),
        {"payload": "a" * 256 * 1024},
        {"payload": None},
        {"payload": 10**999},
        {"tags": {"k" * 64: "v" * 256} | {f"t{n}": "" for n in range(19)}},
        {"record": None},
        retry(maxAttempts=100, initialSeconds=86_400, maxSeconds=86_400, maxAgeSeconds=1_209_600),
        {"target": {"type": "sqs", "queueArn": FIFO, "messageGroupId": "g" * 128}},
        {"clientId": None},
    ]
    for changes in good:
        answer = api.create(**changes)
        assert answer.status == 201, (changes, answer.text)


NOT_BUILT: list[tuple[dict[str, Any], str]] = [
    *(({name: 1}, f"/{name}") for name in ("jobKey", "orderingKey", "sequence", "relevancyWindowSeconds")),
    *(
        (schedule(**{"delaySeconds": 1, name: 1}), f"/schedule/{name}")
        for name in (
            *("anchorAt", "timezone", "startAt", "endAt", "maxFires", "jitterSeconds", "exclude", "dstGap"),
            *("dstOverlap", "dayMatch", "catchUp", "catchUpWindowSeconds", "overlap"),
        )
    ),
    (schedule(every={"seconds": 90}), "/schedule/every"),
    (schedule(cron="0 3 * * *"), "/schedule/cron"),
    *(({"target": {"type": name}}, "/target/type") for name in ("kafka", "lambda", "eventbridge", "sns", "pool")),
]


@pytest.mark.parametrize(("changes", "pointer"), NOT_BUILT, ids=[json.dumps(case[0])[:50] for case in NOT_BUILT])
def test_what_is_not_built_yet_is_refused_by_name(changes: dict[str, Any], pointer: str) -> None:
    api = Api()
    answer = api.create(**changes)
    refused(answer, 422)
    assert answer.body["errors"] == [{"pointer": pointer, "detail": "is not supported by this version"}]
    assert api.writes == []


CLIENT_FIELDS = [
    Fault("an unknown field", {"color": 1}, "/color", "is not a known field"),
    *(
        Fault(f"{name}, not built yet", {name: 1}, f"/{name}", "is not supported by this version")
        for name in (
            *("retryPolicy", "relevancyWindowSeconds", "maxRatePerSecond", "maxConcurrency", "createsPerSecond"),
            *("jobsPerDay", "retentionDays", "deadLetterQueueArn", "allowedTargetHosts", "allowedTargetArns"),
        )
    ),
    Fault("principals as text", {"principals": "arn"}, "/principals", "must be a list"),
    Fault("a principal that is everybody", {"principals": ["*"]}, "/principals/0", "must match"),
    Fault(
        "a session as principal",
        {"principals": ["arn:aws:sts::111111111111:assumed-role/app/session"]},
        "/principals/0",
        "must match",
    ),
    Fault("a role with a path", {"principals": ["arn:aws:iam::111111111111:role/a/b"]}, "/principals/0", "must match"),
    Fault(
        "more principals than one transaction replaces",
        {"principals": [f"arn:aws:iam::111111111111:user/u{n}" for n in range(50)]},
        "/principals",
        "at most 49",
    ),
    Fault("an unknown record level", {"record": "some"}, "/record", "'none' or 'full'"),
    Fault("three secrets", {"signingSecrets": ["clockwork/a"] * 3}, "/signingSecrets", "at most 2"),
    Fault("a secret of somebody else", {"signingSecrets": ["prod/database"]}, "/signingSecrets/0", "must match"),
    Fault("a secret itself", {"signingSecrets": ["whsec_c2VjcmV0"]}, "/signingSecrets/0", "must match"),
    Fault("a queue that is no ARN", {"allowedQueueArns": ["jobs"]}, "/allowedQueueArns/0", "must match"),
    Fault(
        "a private target without port",
        {"allowedPrivateTargets": ["a.internal"]},
        "/allowedPrivateTargets/0",
        "host:port",
    ),
    Fault(
        "a private target with a path",
        {"allowedPrivateTargets": ["a.internal:80/x"]},
        "/allowedPrivateTargets/0",
        "host:port",
    ),
]


@pytest.mark.parametrize("fault", CLIENT_FIELDS, ids=[fault.id for fault in CLIENT_FIELDS])
def test_a_fault_of_a_client_is_422(fault: Fault) -> None:
    api = Api()
    answer = api.call("PUT", "/v1/clients/acme", fault.body, caller=ADMIN)
    refused(answer, 422)
    assert answer.pointers == [fault.pointer]
    assert fault.says in answer.details[0]
    assert api.writes == []


@pytest.mark.parametrize("client_id", ["Acme", "9lives", "a" * 65, "a_b", "é"])
def test_a_client_is_not_made_under_another_kind_of_id(client_id: str) -> None:
    api = Api()
    answer = api.call("PUT", f"/v1/clients/{client_id}", {"record": "some"}, caller=ADMIN)
    refused(answer, 422)
    assert answer.pointers == ["", "/record"]
    assert "1-64" in answer.details[0]
    assert api.writes == []


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
    assert answer.details == ["the query parameter limit must be 1-1000"]


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
        "jobKey": "k",
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
        *("", "/color", "/jobKey", "/payload", "/retryPolicy/backoff", "/retryPolicy/maxAttempts"),
        *("/schedule", "/schedule/at", "/schedule/delaySeconds", "/tags/"),
        *("/target/headers/host", "/target/headers/x", "/target/method", "/target/timeoutSeconds", "/target/url"),
    ]
    assert api.writes == []


def test_what_is_kept_is_what_was_sent() -> None:
    api = Api()
    body = job_body(payload={"ü": [1, 2.5, None, "\u0001"]}, tags={"a": "b"}, record="none", **retry(maxAttempts=2))
    shown = api.call("GET", f"/v1/jobs/{api.call('POST', '/v1/jobs', body).body['jobId']}").body
    assert shown["payload"] == body["payload"]
    assert shown["tags"] == {"a": "b"}
    assert (shown["record"], shown["retryPolicy"]["maxAttempts"]) == ("none", 2)
    assert shown["target"] == {**HTTP, "method": "POST", "timeoutSeconds": HttpTarget("").timeout_seconds}
