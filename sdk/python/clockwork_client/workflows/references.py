"""References: values that a run will have, as parts of payloads and conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

#: A value with which a condition compares.
Scalar = str | int | float | bool | None
#: An object with this member, and no other, stands for the value at a pointer.
FROM = "$from"


class Reference:
    """A value that the run will have, named by a JSON Pointer (RFC 6901) into the context of a step.

    `reference["rows"]` and `reference[0]` name a part of it. `node` is the step of whose end it is a part; None for a
    part of the run. There is no value yet: a comparison is `is_(...)` or `is_not(...)`. A text that is formatted
    with a reference, its truth and a loop over it raise TypeError.
    """

    __slots__ = ("node", "owner", "pointer")

    def __init__(self, pointer: str, node: str | None = None, owner: object = None) -> None:
        self.pointer = pointer
        self.node = node
        self.owner = owner

    def __getitem__(self, part: str | int) -> Reference:
        if isinstance(part, bool) or not isinstance(part, str | int) or (isinstance(part, int) and part < 0):
            raise TypeError(f"{part!r} names no part: a text or a number from 0 on does")
        return Reference(f"{self.pointer}/{escaped(str(part))}", self.node, self.owner)

    def is_(self, *values: Scalar) -> Condition:
        """A condition for `if_`: the value is one of these. A value that is not there is None."""
        return Condition(self, "is", values)

    def is_not(self, *values: Scalar) -> Condition:
        """A condition for `if_`: the value is none of these. A value that is not there is None."""
        return Condition(self, "isNot", values)

    @property
    def raw(self) -> dict[str, str]:
        """The object that stands for it in a payload."""
        return {FROM: self.pointer}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reference):
            self._has_none("compare it by is_(...) or is_not(...)")
        return (self.pointer, self.owner) == (other.pointer, other.owner)

    def __hash__(self) -> int:
        return hash(self.pointer)

    def __bool__(self) -> bool:
        self._has_none("ask by is_(...) or is_not(...)")

    def __iter__(self) -> Iterator[Any]:
        self._has_none("the step that gets it can go through it")

    def __format__(self, spec: str) -> str:
        self._has_none("give it to a step as a value of its own, and make the text there")

    def __repr__(self) -> str:
        return f"Reference({self.pointer!r})"

    def _has_none(self, advice: str) -> NoReturn:
        raise TypeError(f"{self.pointer} has no value before the run: {advice}")


class Condition:
    """A condition of a step: what the reference leads to is one of the values (`is`), or is none of them (`isNot`)."""

    __slots__ = ("reference", "values", "word")

    def __init__(self, reference: Reference, word: str, values: tuple[Scalar, ...]) -> None:
        self.reference = reference
        self.word = word
        self.values = values

    @property
    def raw(self) -> dict[str, Any]:
        """The condition as the API takes it."""
        return {"at": self.reference.pointer, self.word: list(self.values)}

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} is not decided before the run: several conditions are a list, and all must hold")

    def __repr__(self) -> str:
        return f"Condition({self.reference.pointer!r}, {self.word!r}, {self.values!r})"


def escaped(part: str) -> str:
    """A part of a pointer as RFC 6901 writes it."""
    return part.replace("~", "~0").replace("/", "~1")


def in_json(value: Any) -> Any:
    """A payload with the objects that stand for its references."""
    if isinstance(value, Reference):
        return value.raw
    if isinstance(value, Mapping):
        return {name: in_json(one) for name, one in value.items()}
    return [in_json(one) for one in value] if isinstance(value, list | tuple) else value


def references_in(value: Any) -> Iterator[Reference]:
    """The references in a payload, in the order in which they stand there."""
    if isinstance(value, Reference):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from references_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from references_in(one)


def moved(value: Any, names: Mapping[str, str]) -> Any:
    """A payload in JSON whose references name steps by their new names."""
    if isinstance(value, dict):
        if value.keys() == {FROM} and isinstance(value[FROM], str):
            return {FROM: moved_pointer(value[FROM], names)}
        return {name: moved(one, names) for name, one in value.items()}
    return [moved(one, names) for one in value] if isinstance(value, list) else value


def moved_pointer(pointer: str, names: Mapping[str, str]) -> str:
    """A pointer that names a step by its new name."""
    head, is_node, rest = pointer.partition("/nodes/")
    name, slash, part = rest.partition("/")
    return f"/nodes/{names.get(name, name)}{slash}{part}" if is_node and not head else pointer
