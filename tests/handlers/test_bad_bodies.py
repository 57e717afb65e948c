"""Bodies that are not JSON, too large, or not an object: refused, and nothing is written."""

from __future__ import annotations

import pytest

from tests.handlers.faults import refused
from tests.handlers.handlers import Api, job_body
from tests.support.events import encoded, http_event

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


@pytest.mark.parametrize(("path", "bound"), [("/v1/jobs", 512 * 1024), ("/v1/jobs/batch", 3_000_000)])
@pytest.mark.parametrize("is_binary", [False, True], ids=["text", "base64"])
def test_a_body_over_its_bound_is_413_before_anything_reads_it(path: str, bound: int, is_binary: bool) -> None:
    api = Api()
    # The body is not JSON either: the api checks the size first.
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
