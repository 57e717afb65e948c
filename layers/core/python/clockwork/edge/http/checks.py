"""Validate a body against its model. Every fault is listed: pydantic finds some, our own checks report others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from clockwork.domain.clients import Client
from clockwork.domain.errors import InvalidRequest, Problem
from clockwork.domain.pools.pool import Pool
from clockwork.domain.recurrence import Work
from clockwork.settings import Settings

Body = TypeVar("Body", bound="EdgeModel")

#: The most faults of a request that are listed. A request with more is nothing that this operation takes.
MOST_FAULTS = 100
#: The most characters of a name that a pointer shows.
LONGEST_NAME = 256
#: Fields that hold a target.
TARGETS = frozenset({"target", "onFailure"})
#: Messages instead of those of pydantic that speak of Python or of Rust. Its other messages are shown as they are.
_WORDS = {
    "missing": "is required",
    "extra_forbidden": "is not a known field",
    "model_type": "must be a JSON object",
    "model_attributes_type": "must be a JSON object",
    "dict_type": "must be a JSON object",
    "list_type": "must be a list",
    "string_type": "must be a string",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "literal_error": "must be one of {expected}",
    "string_pattern_mismatch": "must match {pattern}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} character(s)",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} entry",
}


class EdgeModel(BaseModel):
    """A JSON object of the API: camelCase, exact types, no unknown fields."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True, allow_inf_nan=False)


#: Excluded stretches of one request's schedules may cost so much (units of about a microsecond).
REQUEST_WORK = 400_000


@dataclass
class Checks:
    """The context of a validation: `now` (ms), the settings and the client, and the faults that validators report.

    A validator reports a fault here, instead of raising ValueError, if the fault should not hide others.
    """

    now: int
    settings: Settings
    client: Client | None = None
    problems: list[Problem] = field(default_factory=list)
    #: The pool of a name, as admins have written it; None if nobody has. Raises Unavailable.
    pool_named: Callable[[str], Pool | None] = lambda _: None
    #: What all schedules of the request together may cost.
    work: Work = field(default_factory=lambda: Work(REQUEST_WORK))

    def report(self, pointer: str, detail: str) -> None:
        """Add a fault of the request."""
        self.problems.append(Problem(pointer, detail))

    @contextmanager
    def relocated(self, pointer: str, other: str) -> Iterator[None]:
        """Move the faults that are reported meanwhile from below one pointer to below another one."""
        before = len(self.problems)
        try:
            yield
        finally:
            for index, problem in enumerate(self.problems[before:], before):
                self.problems[index] = Problem(other + problem.pointer.removeprefix(pointer), problem.detail)


def checks_of(info: ValidationInfo) -> Checks:
    """The Checks of the validation that runs."""
    assert isinstance(info.context, Checks)
    return info.context


def validate(model: type[Body], value: Any, checks: Checks, most: int = MOST_FAULTS) -> Body:
    """The body as a model. Raises InvalidRequest with its faults, up to `most` of them."""
    found: list[Problem] = []
    body = None
    try:
        body = model.model_validate(value, context=checks)
    except ValidationError as error:
        found = [_problem(details, value) for details in error.errors(include_url=False)]
    problems = list(dict.fromkeys([*found, *checks.problems]))
    checks.problems.clear()
    if problems or body is None:
        raise InvalidRequest(listed(problems, most))
    return body


def pointer_part(name: str | int) -> str:
    """One reference token of a JSON pointer (RFC 6901).

    A name longer than LONGEST_NAME is cut, so that an answer does not grow with the names of a bad request.
    https://www.rfc-editor.org/rfc/rfc6901#section-3
    """
    return "/" + str(name)[:LONGEST_NAME].replace("~", "~0").replace("/", "~1")


def listed(problems: list[Problem], most: int) -> list[Problem]:
    """The faults in the order of their pointers, and how many there are beyond `most`."""
    listed = sorted(problems, key=lambda problem: problem.pointer)
    left = len(listed) - most
    return listed[:most] + ([Problem("", f"has {left:,} more faults")] if left > 0 else [])


def _problem(error: ErrorDetails, value: Any) -> Problem:
    pointer, kind, context = _pointer(error["loc"], value), error["type"], error.get("ctx", {})
    if kind == "union_tag_not_found":
        return Problem(f"{pointer}/type", _WORDS["missing"])
    if kind == "union_tag_invalid":
        return Problem(f"{pointer}/type", f"must be one of {context['expected_tags']}")
    if kind == "value_error":
        return Problem(pointer, str(context["error"]))
    return Problem(pointer, _WORDS[kind].format(**context) if kind in _WORDS else error["msg"])


def _pointer(location: tuple[int | str, ...], value: Any) -> str:
    """The RFC 6901 pointer of a location by pydantic, without the marks in it that are no names of the document."""
    parts = []
    here = value
    before: int | str | None = None
    for part in location:
        is_tag = before in TARGETS and isinstance(here, dict) and here.get("type") == part
        is_inside = (isinstance(here, dict) and part in here) or (
            isinstance(here, list) and isinstance(part, int) and part < len(here)
        )
        before = part
        # Pydantic's marks: the tag of a union, and `[key]` for a fault in a name rather than in its value.
        if is_tag or (part == "[key]" and not is_inside):
            continue
        parts.append(pointer_part(part))
        here = here[part] if is_inside else None
    return "".join(parts)
