"""Validate a body. msgspec decides whether a form is taken; for one that is not, pydantic lists every fault."""

from __future__ import annotations

import logging
from typing import Any, TypeVar

from msgspec.structs import replace

from clockwork.domain.errors import InvalidRequest, Problem
from clockwork.edge.http import late
from clockwork.edge.http.checks import MOST_FAULTS, Checks, listed
from clockwork.edge.http.forms import Form

log = logging.getLogger(__name__)

Body = TypeVar("Body")
#: Nobody should ever read it: both libraries take the same.
_UNEXPLAINED = "has a fault that cannot be named"


def validate(kind: type[Body], value: Any, checks: Checks, most: int = MOST_FAULTS) -> Body:
    """The body as a form, or as a model of pydantic. Raises InvalidRequest with its faults, up to `most` of them."""
    if issubclass(kind, Form):
        # What it reports is dropped if the body is gone through once more, and what that costs is counted twice.
        trial = replace(checks, problems=list(checks.problems))
        try:
            form = kind.taken(value, trial)
        except ValueError:
            form = None
        if form is not None and not trial.problems:
            return form
    body, problems = late.faults_of(kind, value, checks)
    if issubclass(kind, Form) and not problems:
        log.error("two validations differ", extra={"action": "api_validations_differ", "form": kind.__name__})
        problems = [Problem("", _UNEXPLAINED)]
    if problems:
        raise InvalidRequest(listed(problems, most))
    return body  # type: ignore[no-any-return] # by pydantic
