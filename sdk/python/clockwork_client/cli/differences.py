"""The differences between two forms of a job, with both values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from clockwork_client.errors import ClockworkError, Conflict, Fault

if TYPE_CHECKING:
    from clockwork_client.cli.state import State

_DIFFERS = "differs"
_LONGEST = 60
_NOTHING = "nothing"


def with_values(state: State, error: Conflict, sent: Mapping[str, Any]) -> Conflict:
    """A refusal whose faults tell both values. It stays as it is if the kept job cannot be read."""
    key = sent.get("jobKey")
    if key is None or not any(one.detail == _DIFFERS for one in error.faults):
        return error
    try:
        found = state.cw.jobs.find(key)
        kept = None if found is None else state.cw.jobs.get(found.job_id).raw
    except ClockworkError:
        return error
    if kept is None:
        return error
    faults = tuple(_told(one, sent, kept) if one.detail == _DIFFERS else one for one in error.faults)
    return Conflict(error.status, error.detail, faults, error.raw)


def changed(names: Iterable[str], before: Mapping[str, Any], after: Mapping[str, Any]) -> list[list[str]]:
    """The fields of these names that a change has made others: each with its value before, and its value now."""
    both = [[name, *(_short(one[name]) if name in one else _NOTHING for one in (before, after))] for name in names]
    return [[name, was, now] for name, was, now in both if was != now]


def _told(fault: Fault, sent: Mapping[str, Any], kept: Mapping[str, Any]) -> Fault:
    mine, theirs = (_at(one, fault.pointer) for one in (sent, kept))
    return Fault(fault.pointer, f"{_DIFFERS}: {mine} was sent, {theirs} is kept")


def _at(value: Any, pointer: str) -> str:
    """The value behind a pointer (RFC 6901), in short."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, dict) and name in value:
            value = value[name]
        else:
            return _NOTHING
    return _short(value)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
