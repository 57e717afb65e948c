"""Faults of what a caller gives, found before a request is sent. `requests` asks for them, and raises.

A fault is a TypeError for a value of a wrong type, and else a ValueError. Its text names the argument and the value,
and has an example of a right one. The API judges all else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from clockwork_client.answers import Target, instant, text_of
from clockwork_client.objects import is_duration, seconds_of
from clockwork_client.places import target_at
from clockwork_client.reports import Completion
from clockwork_client.results import RetryPolicy

Fault = TypeError | ValueError
#: The ways to say when. A schedule has exactly one of them.
WAYS = ("in_", "at", "every", "cron")
_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_INSTANTS = frozenset({"at", "anchor_at", "start_at", "end_at", "from_", "to"})
#: Options that are objects of this client: their class, and what makes one. A mapping has the API's names.
_OBJECTS = {
    "retry": (RetryPolicy, "retry=retry(max_attempts=3)"),
    "completion": (Completion, "completion=callback(timeout_seconds=3600)"),
}
#: By the name of a class what makes JSON of its values.
_MENDED = {
    "set": "list({})",
    "frozenset": "list({})",
    "generator": "list({})",
    "date": "{}.isoformat()",
    "time": "{}.isoformat()",
    "timedelta": "{}.total_seconds()",
    "bytes": "{}.decode()",
    "bytearray": "{}.decode()",
    "Enum": "{}.value",
    "Decimal": "str({})",
    "UUID": "str({})",
    "PurePath": "str({})",
    "mappingproxy": "dict({})",
    "Mapping": "dict({})",
    "ndarray": "{}.tolist()",
    "generic": "{}.item()",
    "BaseModel": '{}.model_dump(mode="json")',
}


def of_option(name: str, value: Any) -> Fault | None:
    """The fault of an option, if it has one. An option that is None is left out, and has none."""
    if value is None:
        return None
    if is_duration(name):
        return _of_duration(name, value)
    if name in _INSTANTS:
        return _of_instant(name, value)
    if name in _OBJECTS:
        kind, example = _OBJECTS[name]
        return None if isinstance(value, (kind, Mapping)) else TypeError(f"{_given(name, value)}: give {example}")
    if name == "on_failure":
        return of_target(name, value)
    if not isinstance(value, (str, int, float, timedelta, datetime, Target, Iterable)):
        return TypeError(f"{name} is of the type {type(value).__name__}: give {_mended(name, value)}")
    return None


def of_times(options: Mapping[str, Any]) -> Fault | None:
    """The fault of a job without a time, or with several."""
    given = [_given(name, options[name]) for name in WAYS if options.get(name) is not None]
    if len(given) == 1:
        return None
    found = f"{' and '.join(given)} are {len(given)} times" if given else "no time is given"
    return ValueError(f'{found}: give one of {", ".join(WAYS)}, such as in_="5m"')


def of_target(name: str, value: Any) -> Fault | None:
    """The fault of a target: a text that is no place, or no target at all."""
    if isinstance(value, str):
        try:
            target_at(value)
        except ValueError as error:
            return ValueError(f"{name}: {error}")
    elif not isinstance(value, Target) and not hasattr(type(value), "raw"):  # a workflow has its own
        example = 'give a place, such as "https://example.com/hook", or a target, such as http(...)'
        return TypeError(f"{name} is no target, but of the type {type(value).__name__}: {example}")
    return None


def of_payload(value: Any) -> Fault | None:
    """The fault of a payload that JSON has no form for, with the path of the first such part."""
    try:
        _ENCODE(value).encode()
    except RecursionError:
        return ValueError("payload is nested too deeply for JSON: give a flatter one")
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        return next(_in_payload("payload", value, ()), None) or kind(f"payload is no JSON: {error}")
    return None


def _in_payload(path: str, value: Any, around: tuple[int, ...]) -> Iterator[Fault]:
    if id(value) in around:
        yield ValueError(f"{path} contains itself: give a copy without that part")
    elif isinstance(value, dict):
        for name, part in value.items():
            if not isinstance(name, (str, int, float, type(None))):
                yield TypeError(f"{path} has a key of the type {type(name).__name__}, {name!r:.80}: give texts as keys")
            yield from _in_payload(f"{path}[{name!r:.80}]", part, (*around, id(value)))
    elif isinstance(value, (list, tuple)):
        for index, part in enumerate(value):
            yield from _in_payload(f"{path}[{index}]", part, (*around, id(value)))
    elif isinstance(value, float) and not math.isfinite(value):
        yield ValueError(f"{path} is {value}, and JSON has finite numbers alone: give None, or a text")
    elif isinstance(value, str) and any("\ud800" <= one <= "\udfff" for one in value):
        yield ValueError(f"{path} has half a pair of surrogates, which UTF-8 lacks: give a text without")
    elif not isinstance(value, (str, int, float, type(None))):
        yield TypeError(f"{path} is of the type {type(value).__name__}, which JSON lacks: give {_mended(path, value)}")


def _mended(path: str, value: Any) -> str:
    names = [one.__name__ for one in type(value).__mro__]
    made = next((_MENDED[name] for name in names if name in _MENDED), None)
    if made is None and hasattr(value, "__dataclass_fields__"):
        made = "dataclasses.asdict({})"
    return "a dict, a list, a text, a number, a bool or None" if made is None else made.format(path)


def _of_duration(name: str, value: Any) -> Fault | None:
    if isinstance(value, str):
        try:
            seconds_of(value)
        except ValueError as error:
            return ValueError(f"{name}={error}")
    elif isinstance(value, bool) or not isinstance(value, (int, float, timedelta)):
        return TypeError(f'{_given(name, value)} is no duration: give seconds or a text, such as {name}="5m"')
    elif isinstance(value, float) and not math.isfinite(value):
        return ValueError(f'{name}={value} is no duration: give finite seconds or a text, such as {name}="5m"')
    return None


def _of_instant(name: str, value: Any) -> Fault | None:
    example = f'give a datetime with a zone, or RFC 3339, such as {name}="2027-01-31T09:00:00Z"'
    if isinstance(value, datetime):
        try:
            text_of(value)
        except (ValueError, OverflowError) as error:
            return ValueError(f"{name}={value.isoformat()}: {error}")
    elif isinstance(value, str):
        try:
            instant(value)
        except ValueError:
            return ValueError(f"{_given(name, value)} is no instant: {example}")
    else:
        return TypeError(f"{_given(name, value)} is no instant: {example}")
    return None


def _given(name: str, value: Any) -> str:
    return f"{name}={value!r:.80}"
