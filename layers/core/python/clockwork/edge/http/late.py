"""pydantic, loaded when it is first needed: it and its models take longer to load than all the rest of the api."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clockwork.domain.errors import Problem
from clockwork.edge.http.checks import Checks

if TYPE_CHECKING:
    from pydantic import BaseModel

    from clockwork.edge.http.forms import Form


def faults_of(kind: Any, value: Any, checks: Checks) -> tuple[Any, list[Problem]]:
    """The body, and all faults of it, as `faults.listed_by_pydantic` gives them."""
    from clockwork.edge.http.faults import listed_by_pydantic

    return listed_by_pydantic(kind, value, checks)


def model_of(form: type[Form]) -> type[BaseModel]:
    """The model that accepts the same bodies as the form."""
    from clockwork.edge.http import models

    return models.model_of(form)
