"""Every fault of a body, found by pydantic, in words of our own."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from clockwork.domain.errors import Problem
from clockwork.edge.http.checks import MOST_COMPARED, MOST_FAULTS, Checks, pointer_part
from clockwork.edge.http.forms import Form
from clockwork.edge.http.models import fields_at, model_of
from clockwork.edge.http.shown import for_example, meant_by

#: Fields that hold a target.
TARGETS = frozenset({"target", "onFailure"})
#: The type of a target that only a job has, and neither a callback nor a node.
WORKFLOW = "workflow"
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
    "bool_type": "must be true or false",
    "literal_error": "must be one of {expected}",
    "string_pattern_mismatch": "must match {pattern}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} character(s)",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} entry",
}
#: Faults whose messages do not show what the field takes.
_UNSHOWN = frozenset(
    name for name in _WORDS if name == "missing" or name.endswith("_type") or name == "string_pattern_mismatch"
)


def listed_by_pydantic(kind: Any, value: Any, checks: Checks) -> tuple[Any, list[Problem]]:
    """The body, and all faults of it, those that `checks` held before among them: `checks` holds none afterwards."""
    found: list[Problem] = []
    body = None
    model: type[BaseModel] = model_of(kind) if issubclass(kind, Form) else kind
    try:
        body = model.model_validate(value, context=checks)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        found = [_problem(details, value) for details in errors]
        # A body with more faults was never meant for this operation.
        if len(errors) <= MOST_FAULTS:
            ends = [_meant_by(details, model, checks) for details in errors]
            found = [Problem(one.pointer, one.detail + end) for one, end in zip(found, ends, strict=True)]
    problems = list(dict.fromkeys([*found, *checks.problems]))
    checks.problems.clear()
    return body, problems


def _problem(error: ErrorDetails, value: Any) -> Problem:
    pointer, kind, context = _pointer(error["loc"], value), error["type"], error.get("ctx", {})
    if kind == "union_tag_not_found":
        return Problem(f"{pointer}/type", _WORDS["missing"] + for_example("type"))
    if kind == "union_tag_invalid":
        if context["tag"] == WORKFLOW:
            in_node = pointer == "/target"
            return Problem(pointer, "must not be a workflow" + (": write its nodes here" if in_node else ""))
        return Problem(f"{pointer}/type", f"must be one of {context['expected_tags']}")
    if kind == "value_error":
        return Problem(pointer, str(context["error"]))
    shown = for_example(pointer.rpartition("/")[2]) if kind in _UNSHOWN else ""
    return Problem(pointer, (_WORDS[kind].format(**context) if kind in _WORDS else error["msg"]) + shown)


def _meant_by(error: ErrorDetails, model: type[BaseModel], checks: Checks) -> str:
    """The end of the refusal of an unknown field, with the known one that may be meant; empty for other faults."""
    if error["type"] != "extra_forbidden":
        return ""
    *inside, name = error["loc"]
    pair = str(name), fields_at(model, tuple(inside))
    if pair not in checks.compared and len(checks.compared) < MOST_COMPARED:
        checks.compared[pair] = meant_by(*pair)
    return checks.compared.get(pair, "")


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
