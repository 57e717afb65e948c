"""Make a struct of fields of other objects, by name: the kept form of a request's body, an answer of a kept form."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

Made = TypeVar("Made", bound=msgspec.Struct)


def like(kind: type[Made], sources: Iterable[object], convert: Callable[[str, Any], Any], /, **given: object) -> Made:
    """A struct with the fields `given`. Each other field has the value that the first source has under its name.

    `convert` gets the name and the value of a field that is not given, and returns the value for the struct. Raises
    AttributeError for a field that is neither given nor in a source, so that a field renamed elsewhere is not lost.
    """
    for name in kind.__struct_fields__:
        if name not in given:
            given[name] = convert(name, _first(sources, name))
    return kind(**given)


def kept(kind: type[Made], *bodies: object, **given: object) -> Made:
    """A struct of the domain, made by `like` of a request's body and of parts of it. A list becomes a tuple."""
    return like(kind, bodies, _as_kept, **given)


def _as_kept(_: str, value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _first(sources: Iterable[object], name: str) -> Any:
    for source in sources:
        if hasattr(source, name):
            return getattr(source, name)
    raise AttributeError(f"nobody gives {name}")
