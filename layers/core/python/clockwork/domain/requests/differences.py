"""Differences between two JSON documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec


def differences(one: bytes, other: bytes) -> list[str]:
    """The JSON pointers (RFC 6901) at which two encoded documents differ, each as deep as both documents go."""
    return sorted(_walk(msgspec.json.decode(one), msgspec.json.decode(other), ""))


def _walk(one: Any, other: Any, pointer: str) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in one.keys() | other.keys():
            place = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
            if name not in one or name not in other:
                yield place
            else:
                yield from _walk(one[name], other[name], place)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from _walk(a, b, f"{pointer}/{index}")
    elif one != other or isinstance(one, bool) != isinstance(other, bool):
        yield pointer
