"""Objects of answers: frozen, typed, read once. `raw` keeps the object as it came, with fields this version lacks.

A class lists its fields as annotations. The JSON name of a field is its name in camelCase. A field that may be absent
is annotated `| None`. A new field of the API is one new line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from clockwork_client.errors import UnexpectedAnswer

Reader = Callable[[Any], Any]
_RFC_3339 = re.compile(r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_MILLISECONDS = len("2026-05-05T10:00:00.250Z")


class Answer:
    """An object of an answer. Raises UnexpectedAnswer when a required field is missing, or a field has another type."""

    raw: Mapping[str, Any]

    def __init__(self, raw: object) -> None:
        if not isinstance(raw, dict):
            raise UnexpectedAnswer(f"{type(self).__name__} is not a JSON object")
        values = self.__dict__
        values["raw"] = raw
        for name, json_name, is_required, read in fields_of(type(self)):
            value = raw.get(json_name)
            if value is not None:
                try:
                    values[name] = read(value)
                except (TypeError, ValueError):
                    raise UnexpectedAnswer(f"{type(self).__name__}.{json_name} has another type") from None
            elif is_required:
                raise UnexpectedAnswer(f"{type(self).__name__} has no {json_name}")
            else:
                values[name] = None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Answer) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash((type(self), repr(sorted(self.raw.items(), key=lambda item: item[0]))))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.raw,)


class Target(Answer):
    """Where a job goes. A type that this version does not know stays a plain Target with all its fields in `raw`."""

    type: str


def place_of(target: Target) -> str:
    """The address of a target in one text, or what it has in place of one; empty for a type that is not known here."""
    if target.type == "workflow":
        return f"of {len(target.raw.get('nodes') or ())} steps"
    if target.type == "pool":
        return f"{target.raw.get('pool', '')}/{target.raw.get('handler', '')}"
    # The resource of an AWS service is its first ARN. The role to act by comes behind it.
    names = ("url", "topic", *(name for name in target.raw if name.endswith("Arn") and name != "roleArn"))
    return str(next((target.raw[name] for name in names if name in target.raw), ""))


def camel(name: str) -> str:
    """`due_at` -> `dueAt`, `from_` -> `from`."""
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(map(str.capitalize, rest))


def instant(text: object) -> datetime:
    """RFC 3339 -> datetime with its zone. Raises ValueError."""
    if not isinstance(text, str):
        raise ValueError("an instant is a text")
    if len(text) == _MILLISECONDS and text[-1] == "Z":
        return datetime.fromisoformat(f"{text[:-1]}+00:00")
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise ValueError("not RFC 3339 with a zone")
    seconds, fraction, zone = match.groups()
    zone = "+00:00" if zone in "Zz" else zone
    return datetime.fromisoformat(f"{seconds.upper()}.{(fraction or '0')[:6]:0<6}{zone}")


def text_of(moment: datetime) -> str:
    """A datetime as RFC 3339 in UTC, to the millisecond. Raises ValueError for one without a zone."""
    if moment.utcoffset() is None:
        raise ValueError("a datetime needs a time zone: datetime(..., tzinfo=timezone.utc)")
    utc = moment.astimezone(timezone.utc)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z"


_FIELDS: dict[type[Answer], tuple[tuple[str, str, bool, Reader], ...]] = {}


def fields_of(kind: type[Answer]) -> tuple[tuple[str, str, bool, Reader], ...]:
    """The fields of a class: name, JSON name, whether it is required, and what reads its value."""
    known = _FIELDS.get(kind)
    if known is None:
        hints = {name: hint for name, hint in get_type_hints(kind).items() if name != "raw"}
        known = _FIELDS[kind] = tuple(
            (name, camel(name), hint is not Any and NoneType not in get_args(hint), _reader(_without_none(hint)))
            for name, hint in hints.items()
        )
    return known


def _without_none(hint: Any) -> Any:
    if get_origin(hint) in (Union, UnionType):
        (only,) = [part for part in get_args(hint) if part is not NoneType]
        return only
    return hint


def _reader(hint: Any) -> Reader:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value: value
    if hint is datetime:
        return instant
    if origin is tuple:
        one = _reader(arguments[0])
        return lambda value: tuple(map(one, _checked(value, list)))
    if origin is not None:
        return lambda value: _checked(value, dict)
    if issubclass(hint, Target):
        return target_of
    if issubclass(hint, Answer):
        return hint  # type: ignore[no-any-return]
    if hint is float:
        return lambda value: _checked(value, (int, float))
    return lambda value: _checked(value, hint)


def _checked(value: Any, kind: type | tuple[type, ...]) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError
    return value


def target_of(raw: object) -> Target:
    """The target in an answer, as the class of its type."""
    kind = raw.get("type") if isinstance(raw, dict) else None
    kinds = {one.__name__.removesuffix("Target").lower(): one for one in Target.__subclasses__()}
    return kinds.get(str(kind).lower(), Target)(raw)
