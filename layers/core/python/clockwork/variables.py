"""The texts of settings in environment variables."""

from __future__ import annotations

import json


def to_text(value: object) -> str:
    """The text of a value that has the type of a setting."""
    plain = int(value) if isinstance(value, bool) else value
    return json.dumps(list(plain)) if isinstance(plain, tuple) else str(plain)


def from_text(text: str, like: object) -> object:
    """The value of a text, of the same type as `like`. Raises KeyError for a truth value, ValueError for others."""
    if isinstance(like, bool):
        return {"1": True, "0": False}[text]
    if isinstance(like, int):
        return int(text)
    if isinstance(like, tuple):
        return _texts(json.loads(text))
    return text


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError("must be a JSON list of strings")
    return tuple(value)
