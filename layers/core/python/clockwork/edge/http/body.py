"""Read a request's body as JSON. Its size, encoding, depth, numbers and names are checked before it is used."""

from __future__ import annotations

import base64
import json
import math
import re
from collections import Counter
from typing import Any, NoReturn

from clockwork.domain.errors import ClockworkError

MOST_DEPTH = 64
SINGLE_BYTES = 512 * 1024
#: Lambda takes 6 MB, see https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html. API Gateway sends
#: a body as a string in JSON, which may double it, beside headers and more. A larger one would be 500, by API Gateway.
BATCH_BYTES = 3_000_000
#: The most characters of a number. No count and no measurement needs more.
MOST_DIGITS = 1_000
#: Its quantifiers are possessive, so that no text makes it backtrack: a string without an end is read once.
_NESTING = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


class BodyTooLarge(ClockworkError):
    """The body has more bytes than the operation takes."""


class NotJson(ClockworkError):
    """The body is not JSON by RFC 8259: one value, unique names, finite numbers, UTF-8."""


def read_body(event: dict[str, Any], most_bytes: int) -> Any:
    """The JSON value in the body of an API Gateway event (payload format 2.0). Raises BodyTooLarge or NotJson."""
    return parse(_raw(event, most_bytes), most_bytes)


def parse(raw: bytes, most_bytes: int) -> Any:
    """The JSON value in the bytes of a message. Raises BodyTooLarge or NotJson."""
    text = _decoded(raw, most_bytes)
    if not text.strip():
        raise NotJson("the body is empty: send a JSON object")
    _check_depth(text)
    try:
        value = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite, parse_int=_bounded
        )
    except json.JSONDecodeError as error:
        raise NotJson(f"the body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    if _SURROGATE.search(text):
        _check_surrogates(value)
    return value


def canonical(value: Any) -> bytes:
    """The canonical text of a JSON value: the same for equal values, whatever their white space and order of names."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def _raw(event: dict[str, Any], most_bytes: int) -> bytes:
    body: str = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return body.encode("utf-8", "surrogatepass")
    if len(body) > most_bytes * 4 // 3 + 4:
        raise BodyTooLarge(f"the body has more than {most_bytes:,} bytes")
    try:
        return base64.b64decode(body, validate=True)
    except ValueError:
        raise NotJson("the body is not base64, though the request says so") from None


def _decoded(raw: bytes, most_bytes: int) -> str:
    if len(raw) > most_bytes:
        raise BodyTooLarge(f"the body has {len(raw):,} bytes, at most {most_bytes:,} are taken")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJson(f"the body is not UTF-8: byte {error.start} cannot be read") from None


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= MOST_DEPTH:
        return  # so few cannot be too deep, even if none of them stands in a string
    depth = 0
    for token in _NESTING.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth > MOST_DEPTH:
                raise NotJson(f"the body is nested deeper than {MOST_DEPTH} levels")
        elif token[0] in "]}":
            depth -= 1


def _check_surrogates(value: Any) -> None:
    try:
        canonical(value)
    except UnicodeEncodeError:
        raise NotJson("the body holds half of a surrogate pair, which is no character") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = sorted(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise NotJson(f"the body has the same name twice in one object: {_shown(', '.join(twice))}")
    return value


def _refuse(constant: str) -> NoReturn:
    raise NotJson(f"the body holds {constant}, which is not JSON")


def _finite(text: str) -> float:
    if len(text) > MOST_DIGITS:
        raise _too_long(text)
    number = float(text)
    if not math.isfinite(number):
        raise NotJson(f"the body holds {_shown(text)}, which is too large a number")
    return number


def _bounded(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise _too_long(text)
    return int(text)


def _too_long(number: str) -> NotJson:
    return NotJson(f"the body holds a number of {len(number):,} characters, at most {MOST_DIGITS:,} are taken")


def _shown(text: str) -> str:
    """The start of a text of a request, as an error's message quotes it: without half of a surrogate pair."""
    return text[:50].encode("ascii", "backslashreplace").decode()
