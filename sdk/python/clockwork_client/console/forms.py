"""The form of a job: its fields as texts, the definition that they make, and the patch between two definitions.

A field that nobody touched is never sent. Each field has the digest of its text beside it. A text of the same digest
stands for the value that the API has now. A value that a page cannot show exactly has no field to change it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from clockwork_client.inert import inert
from clockwork_client.results import Job

#: The fields of a schedule that have a field of the form, by its name.
_SCHEDULE = {"cron": "cron", "timezone": "timezone", "at": "at", "overlap": "overlap", "catch_up": "catchUp"}
#: Fields of a definition that the field `rest` holds as JSON.
_REST = ("retryPolicy", "relevancyWindowSeconds", "precision", "orderingKey", "sequence", "onFailure", "completion")
#: The ways to say when, with the field of the form and that of the API.
WAYS = {"cron": "cron", "every": "every", "at": "at"}
NAMES = ("key", "way", "cron", "timezone", "every", "at", "overlap", "catch_up", "target", "payload", "tags", "rest")
#: A longer text is not changed in a page, which cuts texts beyond 64 Ki characters.
LONGEST = 60_000
#: Pointer of the API -> the field that shows its faults. The longest that fits counts.
_POINTERS = {
    "/jobKey": "key",
    "/schedule": "way",
    "/schedule/cron": "cron",
    "/schedule/timezone": "timezone",
    "/schedule/every": "every",
    "/schedule/at": "at",
    "/schedule/overlap": "overlap",
    "/schedule/catchUp": "catch_up",
    "/target": "target",
    "/payload": "payload",
    "/tags": "tags",
}


#: The value of a place that a definition does not have.
_NONE: Any = object()


class Faulty(Exception):
    """Fields that make no definition: pairs of a pointer and its fault."""

    def __init__(self, *faults: tuple[str, str]) -> None:
        super().__init__(faults)
        self.faults = faults


class Difference(NamedTuple):
    """One place in which two definitions differ. A text is empty where one of them has nothing."""

    pointer: str
    before: str
    after: str


def fields_of(job: Job) -> dict[str, str]:
    """The fields of the form for a job as it is."""
    raw = job.raw
    schedule = dict(raw["schedule"])
    found = dict.fromkeys(NAMES, "")
    found |= {"key": job.job_key or "", "way": next((way for way in WAYS if way in schedule), "at")}
    if (seconds := schedule.pop("delaySeconds", None)) is not None:
        schedule["at"] = raw.get("dueAt", "")
        found["way"] = "at"
        del seconds
    every = schedule.pop("every", None)
    found["every"] = "" if every is None else _number(every["seconds"])
    for name, field in _SCHEDULE.items():
        found[name] = str(schedule.pop(field, ""))
    target = raw["target"]
    is_plain = set(target) <= {"type", "url", "method", "timeoutSeconds"} and target.get("type") == "http"
    found["target"] = target["url"] if is_plain and target.get("method", "POST") == "POST" else _json(target)
    found["payload"] = _json(raw.get("payload"))
    found["tags"] = "\n".join(f"{name}={value}" for name, value in (raw.get("tags") or {}).items())
    rest = {name: raw[name] for name in _REST if name in raw}
    found["rest"] = _json({**({"schedule": schedule} if schedule else {}), **rest})
    return found


def is_editable(text: str) -> bool:
    """Whether a page shows a text exactly as it is, and gets it back so."""
    return len(text) <= LONGEST and inert(text, LONGEST, keep="\n\t") == text


def digest(text: str) -> str:
    """A short digest of a field's text. Browsers send line ends as they like."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return hashlib.sha256(lines.encode("utf-8", "replace")).hexdigest()[:16]


def merged(form: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """The texts that are meant: those that somebody touched, and of all other fields the present ones."""
    found = dict(now)
    for name in NAMES:
        text = form.get(name)
        if text is not None and digest(text) != form.get(f"was_{name}"):
            found[name] = text.replace("\r\n", "\n").strip() if name != "payload" else text
    return found


def definition_of(fields: Mapping[str, str]) -> dict[str, Any]:
    """The definition that the texts make, in the API's names. Raises Faulty; the API judges all else."""
    faults: list[tuple[str, str]] = []

    def read(name: str, make: Any) -> Any:
        try:
            return make(fields[name])
        except ValueError as fault:
            faults.append((f"/{name}", str(fault)))
            return None

    rest = read("rest", _object)
    target, payload, tags = read("target", _target), read("payload", _payload), read("tags", _tags)
    when = read("way", lambda way: _when(way, fields))
    if faults:
        raise Faulty(*faults)
    schedule = {**rest.pop("schedule", {}), **when}
    made = {"schedule": schedule, "target": target, "payload": payload, **rest}
    return {**made, "tags": tags} if tags else made


def patch_of(before: Any, after: Any) -> Any:
    """The merge patch (RFC 7396) that makes the one JSON value into the other."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    gone: dict[str, Any] = {name: None for name in before if name not in after}
    for name, value in after.items():
        if name not in before:
            gone[name] = value
        elif before[name] != value:
            gone[name] = patch_of(before[name], value)
    return gone


def differences(before: Any, after: Any, pointer: str = "") -> Iterator[Difference]:
    """The places in which two JSON values differ, each with both values."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted({*before, *after}):
            place = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
            yield from differences(before.get(name, _NONE), after.get(name, _NONE), place)
    elif isinstance(after, dict) and after and before is _NONE:
        yield from differences({}, after, pointer)
    elif before != after:
        yield Difference(pointer or "/", _said(before), _said(after))


def field_of(pointer: str) -> str:
    """The field of the form beside which the fault at a pointer is shown."""
    if pointer[1:] in NAMES:
        return pointer[1:]
    found = [one for one in _POINTERS if pointer == one or pointer.startswith(f"{one}/")]
    return _POINTERS[max(found, key=len)] if found else "rest"


def _when(way: str, fields: Mapping[str, str]) -> dict[str, Any]:
    if way not in WAYS:
        raise ValueError("choose one of cron, every and at")
    found = {field: fields[name] for name, field in _SCHEDULE.items() if fields[name] and name not in WAYS}
    if way == "at":
        found.pop("timezone", None)
    if way != "every":
        return {**found, way: fields[way]}
    try:
        seconds = finite(fields["every"])
    except ValueError:
        raise ValueError("a number of seconds is missing") from None
    return {**found, "every": {"seconds": int(seconds) if seconds.is_integer() else seconds}}


def finite(text: str) -> float:
    """A number that JSON has. Raises ValueError."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _object(text: str) -> dict[str, Any]:
    found = _loaded(text) if text.strip() else {}
    if not isinstance(found, dict) or not isinstance(found.get("schedule", {}), dict):
        raise ValueError("has to be a JSON object")
    return found


def _target(text: str) -> Any:
    return _loaded(text) if text.lstrip().startswith("{") else {"type": "http", "url": text}


def _payload(text: str) -> Any:
    return _loaded(text) if text.strip() else None


def _tags(text: str) -> dict[str, str]:
    pairs = [line.partition("=") for line in map(str.strip, text.splitlines()) if line]
    if any(not is_pair for _, is_pair, _ in pairs):
        raise ValueError("one tag a line: name=value")
    return {name: value for name, _, value in pairs}


def _loaded(text: str) -> Any:
    try:
        found = json.loads(text, parse_constant=_no_number)
        _check_sendable(found)
    except RecursionError:
        raise ValueError("is nested too deep") from None
    except json.JSONDecodeError as fault:
        raise ValueError(f"is not JSON: {fault}") from None
    return found


def _check_sendable(value: Any) -> None:
    """Raises ValueError for what JSON can spell and no request can carry."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise ValueError("has half of a character: \\ud800 to \\udfff come in pairs") from None
    except ValueError:
        raise ValueError("has a number that is too large") from None


def _no_number(constant: str) -> Any:
    raise ValueError(f"is not JSON: {constant}")


def _said(value: Any) -> str:
    return "" if value is _NONE else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=not is_editable(json.dumps(value, ensure_ascii=False)))


def _number(seconds: float) -> str:
    return f"{int(seconds)}" if float(seconds).is_integer() else repr(seconds)
