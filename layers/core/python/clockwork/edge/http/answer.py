"""The base of answers' bodies. Each body is one class: the API sends it, and the API's description is made of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any, Self

import msgspec

from clockwork.domain.instants import to_text
from clockwork.edge.http.fields import like

Instant = Annotated[str, msgspec.Meta(examples=["2026-05-05T10:00:00.250Z"], extra_json_schema={"format": "date-time"})]


class AnswerBody(msgspec.Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """A JSON object that the API answers, in the order of its fields. A field that holds its default is left out."""

    @classmethod
    def like(cls, *kept: object, **given: object) -> Self:
        """The body with the fields `given`. Each other field has the value that the first of `kept` has under its name.

        A kept instant (ms; the field's name ends with `_at`) becomes text. Raises AttributeError for a field that is
        neither given nor kept, so that no field is lost from the answers when another module renames it.
        """
        return like(cls, kept, as_shown, **given)


class PlainText(str):
    """An answer in plain text rather than JSON."""


def one_of(values: Iterable[str]) -> msgspec.Meta:
    """The values that a text may have, for the API's description.

    msgspec would sort the values of a Literal, and would make an Enum a component of its own.
    """
    return msgspec.Meta(extra_json_schema={"enum": [str(value) for value in values]})


def either_of(*choices: Iterable[str]) -> msgspec.Meta:
    """The values that a text may have, as a choice of several enumerations, for the API's description."""
    return msgspec.Meta(
        extra_json_schema={"anyOf": [{"enum": list(map(str, one)), "type": "string"} for one in choices]}
    )


def instant(at: int | None) -> str | None:
    """An instant (ms) as text, if there is one."""
    return None if at is None else to_text(at)


def to_json(body: Any) -> str:
    """The text of an answer: compact JSON."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=msgspec.to_builtins)


def as_shown(name: str, value: Any) -> Any:
    """The value of a kept field as answers have it: an instant (ms; the field's name ends with `_at`) is text."""
    return instant(value) if name.endswith("_at") else value
