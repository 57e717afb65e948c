"""pydantic, loaded when it is first needed: it and its models take longer to load than all the rest of the api."""

from __future__ import annotations

from typing import Any

from clockwork.domain.errors import Problem
from clockwork.edge.http.checks import Checks


def faults_of(kind: Any, value: Any, checks: Checks) -> tuple[Any, list[Problem]]:
    """The body, and all faults of it, as `faults.listed_by_pydantic` gives them."""
    from clockwork.edge.http.faults import listed_by_pydantic

    return listed_by_pydantic(kind, value, checks)
