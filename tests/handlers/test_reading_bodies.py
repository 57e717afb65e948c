"""Reading a body: the same values as the standard library, within the bounds, in time linear in the length."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clockwork.edge.http.answer import to_json
from clockwork.edge.http.body import BATCH_BYTES, MOST_DEPTH, BodyTooLarge, NotJson, read_body
from clockwork.edge.http.pages import page
from tests.support.events import http_event
from tests.support.searches import drawn

numbers = st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=40,
)


def depth(value: Any) -> int:
    """How many lists and objects lie around the innermost value."""
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@settings(max_examples=drawn(200), deadline=None)
@given(value=values, escaped=st.booleans(), indent=st.sampled_from([None, 1]))
def test_any_json_is_read_as_it_was_written(value: Any, escaped: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=escaped, indent=indent)
    assert read_body({"body": text}, BATCH_BYTES) == value


@settings(max_examples=drawn(100), deadline=None)
@given(value=values, wraps=st.lists(st.sampled_from(["list", "object"]), min_size=60, max_size=66))
def test_depth_is_counted_whatever_brackets_stand_in_strings(value: Any, wraps: list[str]) -> None:
    for wrap in wraps:
        value = [value, "]}["] if wrap == "list" else {'{["': value}
    text = json.dumps(value)
    if depth(value) <= MOST_DEPTH:
        assert read_body({"body": text}, BATCH_BYTES) == value
    else:
        with pytest.raises(NotJson, match="64 levels"):
            read_body({"body": text}, BATCH_BYTES)


HALF = BATCH_BYTES // 2
SLOW = {
    "escapes outside a string": '\\"' * HALF,
    "a string that never ends": '"' + '\\"' * (HALF - 1),
    "a string that ends in a backslash": '"' + "a" * (BATCH_BYTES - 2) + "\\",
    "nothing but quotes": '"' * BATCH_BYTES,
    "nothing but opening brackets": "[" * BATCH_BYTES,
    "nothing but closing brackets": "]" * BATCH_BYTES,
    "one number": "1" * BATCH_BYTES,
    "one fraction": "0." + "1" * (BATCH_BYTES - 2),
    "one exponent": "1e" + "9" * (BATCH_BYTES - 2),
    "many names, one of them twice": "{" + ",".join(f'"{n}":0' for n in range(250_000)) + ',"7":0}',
    "many objects with a name twice": "[" + ",".join(['{"a":0}'] * 350_000) + ',{"a":0,"a":0}]',
}


@pytest.mark.parametrize("body", SLOW.values(), ids=list(SLOW))
def test_no_body_takes_longer_to_read_than_its_length_explains(body: str) -> None:
    assert len(body) <= BATCH_BYTES
    # Of the processor alone: whatever else the machine is busy with does not count.
    began = time.process_time()
    with pytest.raises(NotJson):
        read_body({"body": body}, BATCH_BYTES)
    # A tenth of this on an idle machine; a quadratic reader takes hours.
    assert time.process_time() - began < 8


def test_base64_is_not_decoded_before_its_length_is_judged() -> None:
    with pytest.raises(BodyTooLarge):
        read_body({"body": "!" * (4 * BATCH_BYTES), "isBase64Encoded": True}, BATCH_BYTES)


#: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
LAMBDA_BYTES = 6 * 1024 * 1024


def test_a_body_of_the_largest_batch_passes_through_lambda_however_much_of_it_is_escaped() -> None:
    event = http_event("POST", "/v1/jobs/batch", b"") | {"body": '"' * BATCH_BYTES, "headers": {"h": "x" * 10_240}}
    assert len(json.dumps(event)) < LAMBDA_BYTES


def test_a_page_passes_through_lambda_however_much_of_it_is_escaped() -> None:
    items = [(str(n), {"text": '"\n\u00e9' * 20_000}) for n in range(200)]
    shown, token = page(items, None)
    assert 1 < len(shown) < 200
    assert token == str(len(shown) - 1)
    answer = {"statusCode": 200, "headers": {}, "body": to_json({"items": shown, "nextToken": token})}
    assert len(json.dumps(answer)) < LAMBDA_BYTES
