"""Validate against models, with every fault in the answer: what pydantic finds and what our own checks report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from clockwork.domain.clients import Client
from clockwork.domain.errors import InvalidRequest, Problem
from clockwork.settings import Settings

Body = TypeVar("Body", bound=BaseModel)

#: Part of the API's contract, not of this version: refused by name, never ignored.
NOT_BUILT_FIELDS = frozenset(
    {
        "/jobKey",
        "/orderingKey",
        "/sequence",
        "/relevancyWindowSeconds",
        "/schedule/every",
        "/schedule/cron",
        "/retryPolicy",
        "/maxRatePerSecond",
        "/maxConcurrency",
        "/createsPerSecond",
        "/jobsPerDay",
        "/retentionDays",
        "/deadLetterQueueArn",
        "/allowedTargetHosts",
        "/allowedTargetArns",
    }
)


class EdgeModel(BaseModel):
    """A JSON object of the API: camelCase, exact types, no unknown fields."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True, allow_inf_nan=False)


@dataclass
class Checks:
    """What validators may ask, and where they report faults that should not hide others."""

    now: int
    settings: Settings
    client: Client | None = None
    problems: list[Problem] = field(default_factory=list)

    def report(self, pointer: str, detail: str) -> None:
        """One more fault of the request."""
        self.problems.append(Problem(pointer, detail))


def checks_of(info: ValidationInfo) -> Checks:
    """The Checks of the validation that runs."""
    assert isinstance(info.context, Checks)
    return info.context


def validate(model: type[Body], value: Any, checks: Checks) -> Body:
    """The body as a model. Raises InvalidRequest with all faults."""
    found: list[Problem] = []
    body = None
    try:
        body = model.model_validate(value, context=checks)
    except ValidationError as error:
        found = [_problem(details, value) for details in error.errors(include_url=False)]
    problems = list(dict.fromkeys([*found, *checks.problems]))
    checks.problems.clear()
    if problems or body is None:
        raise InvalidRequest(sorted(problems, key=lambda p: p.pointer))
    return body


def _problem(error: ErrorDetails, value: Any) -> Problem:
    pointer = _pointer(error["loc"], value)
    if error["type"] == "extra_forbidden":
        known = pointer in NOT_BUILT_FIELDS
        return Problem(pointer, "is not supported by this version" if known else "is not a known field")
    if error["type"] == "missing":
        return Problem(pointer, "is required")
    if error["type"].startswith("union_tag"):
        return Problem(f"{pointer}/type", f"must be one of {error.get('ctx', {}).get('expected_tags', 'http, sqs')}")
    reason = error.get("ctx", {}).get("error")
    return Problem(pointer, str(reason) if reason is not None else error["msg"])


def _pointer(location: tuple[int | str, ...], value: Any) -> str:
    """An RFC 6901 pointer: pydantic's location less the tags of unions, which are no part of the document."""
    parts = []
    here = value
    for part in location:
        if isinstance(here, dict) and part not in here and here.get("type") == part:
            continue
        parts.append(str(part).replace("~", "~0").replace("/", "~1"))
        is_inside = (isinstance(here, dict) and part in here) or (
            isinstance(here, list) and isinstance(part, int) and part < len(here)
        )
        here = here[part] if is_inside else None
    return "".join(f"/{part}" for part in parts)
