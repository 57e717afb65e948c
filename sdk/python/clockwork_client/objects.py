"""Objects of requests: options in snake case become JSON objects of the API, and so do the answers that they name."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

from clockwork_client.answers import Answer, camel, text_of
from clockwork_client.errors import UnexpectedAnswer

#: Seconds, or a timedelta.
Duration = float | timedelta
#: A datetime with a zone, or RFC 3339.
Instant = datetime | str
#: Options whose field of the API has another name.
RENAMED = {"in_": "delaySeconds", "key": "jobKey", "retry": "retryPolicy"}
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
            one = _value(value)
            found[names.get(name) or camel(name)] = {"seconds": one} if name == "every" else one
    return found


def fields(**options: Any) -> dict[str, Any]:
    """An object of the API with these fields, none of which has another name there. None is left out."""
    return object_of(options, {})


def _value(value: Any) -> Any:
    if isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Answer):
        return value.raw
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
        return int(seconds) if seconds.is_integer() else seconds
    if isinstance(value, datetime):
        return text_of(value)
    return dict(value) if isinstance(value, Mapping) else list(value)
