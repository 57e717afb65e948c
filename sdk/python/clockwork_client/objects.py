"""Objects of requests: options in snake case become JSON objects of the API, and so do the answers that they name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

from clockwork_client.answers import Answer, camel, text_of
from clockwork_client.errors import UnexpectedAnswer

#: Seconds, a timedelta, or a text: `90s`, `5m`, `1h30m`, `2d`.
Duration = float | timedelta | str
#: A datetime with a zone, or RFC 3339.
Instant = datetime | str
#: Options whose field of the API has another name.
RENAMED = {"in_": "delaySeconds", "key": "jobKey", "retry": "retryPolicy"}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|min|m|h|d|w)", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
Made = TypeVar("Made", bound=Answer)


def made(kind: type[Made], **options: Any) -> Made:
    """The request that the options make. Raises TypeError for an option of a wrong type."""
    try:
        return kind(fields(**options))
    except UnexpectedAnswer as error:
        raise TypeError(f"an option is of the wrong type: {error}") from None


def object_of(options: Mapping[str, Any], names: Mapping[str, str] = RENAMED) -> dict[str, Any]:
    """The options as a JSON object. An option that is None is left out."""
    found = {}
    for name, value in options.items():
        if value is not None:
            one = seconds_of(value) if isinstance(value, str) and is_duration(name) else _value(value)
            found[names.get(name) or camel(name)] = {"seconds": one} if name == "every" else one
    return found


def seconds_of(text: str) -> float:
    """`90`, `90s`, `5m`, `1h30m`, `2d` -> seconds. Raises ValueError for a text that is no duration."""
    if re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        return _number(float(text))
    parts = _PART.findall(text)
    if not parts or "".join(map("".join, parts)) != text:
        raise ValueError(f"{text!r} is no duration: 90s, 5m, 1h30m, 2d")
    return _number(round(sum(float(count) * _SECONDS[unit] for count, unit in parts), 3))


def is_duration(name: str) -> bool:
    """Whether an option is a duration, which may be a text."""
    return name in ("in_", "every") or name.endswith("_seconds")


def _number(seconds: float) -> float:
    return int(seconds) if seconds.is_integer() else seconds


def fields(**options: Any) -> dict[str, Any]:
    """An object of the API with these fields, none of which has another name there. None is left out."""
    return object_of(options, {})


def _value(value: Any) -> Any:
    if isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Answer):
        return value.raw
    if isinstance(value, timedelta):
        return _number(value.total_seconds())
    if isinstance(value, datetime):
        return text_of(value)
    return dict(value) if isinstance(value, Mapping) else list(value)
