"""Contexts: what a node's payload and conditions may refer to, by JSON Pointer (RFC 6901).

The context of a node is `{"input": ..., "run": {...}, "nodes": {...}}`, with its ancestors alone. A pointer that finds
nothing in a payload is an error, and never null in silence. In a condition it counts as null.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from clockwork.domain.workflows.definition import LARGEST_FILLED, Condition, Node
from clockwork.targets.message import Payload

#: An object with this member, and no other, stands for the value at a pointer.
REFERENCE = "$from"
#: Payloads of nodes are at most this deep: they are walked without a bound otherwise.
DEEPEST = 100
TOO_LARGE = (
    f"its payload has more than {LARGEST_FILLED:,} bytes: refer to /nodes/{{name}}/executionId in place of a result, "
    "and read that with GET"
)
#: https://www.rfc-editor.org/rfc/rfc6901#section-3
_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)+\Z")
_INDEX = re.compile(r"(?:0|[1-9][0-9]{0,9})\Z", re.ASCII)


class Unfilled(ValueError):
    """A payload that cannot be made of its context. The message is the reason."""


class _Nothing:
    """Stands for the value of a pointer that finds none."""


NOTHING = _Nothing()


def parts_of(pointer: str) -> tuple[str, ...] | None:
    """The reference tokens of a pointer; None for a text that is none, and for the pointer to the whole context."""
    if _POINTER.match(pointer) is None:
        return None
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def found_at(pointer: str, document: Any) -> Any:
    """The value at a pointer; NOTHING if there is none. https://www.rfc-editor.org/rfc/rfc6901#section-4."""
    here, parts = document, parts_of(pointer)
    if parts is None:
        return NOTHING
    for part in parts:
        if isinstance(here, dict):
            here = here.get(part, NOTHING)
        elif isinstance(here, list) and _INDEX.match(part) and int(part) < len(here):
            here = here[int(part)]
        else:
            return NOTHING
    return here


def references_of(value: Any, place: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Each reference of a payload: the place of its object, and the pointer as it is given. Raises Unfilled if deep."""
    if depth > DEEPEST:
        raise Unfilled(f"is more than {DEEPEST} objects and lists deep")
    if isinstance(value, dict):
        if REFERENCE in value:
            yield place, value[REFERENCE] if len(value) == 1 else None
            return
        for name, inner in value.items():
            yield from references_of(inner, f"{place}/{name.replace('~', '~0').replace('/', '~1')}", depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from references_of(inner, f"{place}/{index}", depth + 1)


def holds(condition: Condition, context: Mapping[str, Any]) -> bool:
    """Whether a condition holds in a context."""
    found = found_at(condition.at, context)
    value = None if found is NOTHING else found
    if condition.is_ is not None:
        return any(_is_same(value, one) for one in condition.is_)
    return not any(_is_same(value, one) for one in condition.is_not or ())


def all_hold(node: Node, context: Mapping[str, Any]) -> bool:
    """Whether all conditions of a node hold."""
    return all(holds(one, context) for one in node.conditions)


def filled(node: Node, context: Mapping[str, Any]) -> Payload:
    """The payload of a node in its context. Raises Unfilled."""
    value = context if node.payload is None else _Filling(context).of(msgspec.json.decode(node.payload))
    payload = Payload(value.encode(), is_text=True) if isinstance(value, str) else Payload(msgspec.json.encode(value))
    if len(payload.body) > LARGEST_FILLED:
        raise Unfilled(TOO_LARGE)
    return payload


class _Filling:
    """One payload that is filled in.

    A definition may refer to one result thousands of times. The bytes that references bring are therefore counted while
    they are filled in, and not once all of them are encoded.
    """

    def __init__(self, context: Mapping[str, Any]) -> None:
        self._context = context
        #: By pointer: the value, and its bytes at the least.
        self._found: dict[str, tuple[Any, int]] = {}
        self._size = 0

    def of(self, value: Any) -> Any:
        """The value with its references filled in. Raises Unfilled."""
        if isinstance(value, dict):
            if REFERENCE in value:
                return self._value_at(value[REFERENCE])
            return {name: self.of(inner) for name, inner in value.items()}
        return [self.of(inner) for inner in value] if isinstance(value, list) else value

    def _value_at(self, pointer: str) -> Any:
        if pointer not in self._found:
            found = found_at(pointer, self._context)
            if found is NOTHING:
                raise Unfilled(f"its payload refers to {pointer}, where nothing is")
            # A text may become the whole payload, without its quotation marks.
            self._found[pointer] = found, len(msgspec.json.encode(found)) - 2 * isinstance(found, str)
        found, size = self._found[pointer]
        self._size += size
        if self._size > LARGEST_FILLED:
            raise Unfilled(TOO_LARGE)
        return found


def ancestors_named(node: Node) -> frozenset[str]:
    """The nodes to whose state, result or error a node's payload or conditions refer, as far as these can be told."""
    pointers = [one.at for one in node.conditions]
    if node.payload is not None:
        pointers += [one for _, one in references_of(msgspec.json.decode(node.payload)) if isinstance(one, str)]
    parts = (parts_of(pointer) or () for pointer in pointers)
    return frozenset(part[1] for part in parts if len(part) > 1 and part[0] == "nodes")


def _is_same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal. True is not 1, and 1 is 1.0."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
