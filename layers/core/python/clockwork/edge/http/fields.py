"""Make one struct of others' fields of the same names: bodies of requests as they are kept, answers of what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

Made = TypeVar("Made", bound=msgspec.Struct)


def like(kind: type[Made], sources: Iterable[object], convert: Callable[[str, Any], Any], **given: object) -> Made:
    """A struct with the fields `given`, each other one with the value that the first source has under its name.

    `convert` gets the name and the value of each field that is not given, and returns the value for the struct. Raises
    AttributeError for a field that is neither given nor in a source, so that a field renamed elsewhere is not lost.
    """
    taken = {name: convert(name, _first(sources, name)) for name in kind.__struct_fields__ if name not in given}
    return kind(**taken, **given)


def kept(kind: type[Made], *bodies: object, **given: object) -> Made:
    """A struct of the domain made of the bodies of a request, as `like` makes it. A list becomes a tuple."""
    return like(kind, bodies, _as_kept, **given)


def _as_kept(_: str, value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _first(sources: Iterable[object], name: str) -> Any:
    for source in sources:
        if hasattr(source, name):
            return getattr(source, name)
    raise AttributeError(f"nobody gives {name}")
