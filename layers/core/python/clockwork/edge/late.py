"""What a create without faults can do without: it is loaded by the first request that needs it.

pydantic and the models made with it take longer to load than all the rest of the api, the description of its operations
is needed for queries alone, and most requests create jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clockwork.domain.errors import Problem
from clockwork.edge.http.checks import Checks
from clockwork.flows.requests.quotas import Intake
from clockwork.flows.world import World

if TYPE_CHECKING:
    from pydantic import BaseModel

    from clockwork.edge.http.forms import Form
    from clockwork.edge.operations.jobs import Api


def all_operations(
    world: World, count_accepted: Callable[[int], None], shards: Callable[[], Sequence[str]], intake: Intake
) -> Api:
    """All operations of one Lambda environment."""
    from clockwork.edge.operations.jobs import Api

    return Api(world, count_accepted, shards, intake)


def check_query(operation: str, query: Mapping[str, str]) -> None:
    """Raise InvalidRequest for every parameter of a query that the operation does not know."""
    from clockwork.edge.description import parameters

    parameters.check_query(query, parameters.query_of(operation))


def faults_of(kind: Any, value: Any, checks: Checks) -> tuple[Any, list[Problem]]:
    """The body, and all faults of it, as `faults.listed_by_pydantic` gives them."""
    from clockwork.edge.http.faults import listed_by_pydantic

    return listed_by_pydantic(kind, value, checks)


def model_of(form: type[Form]) -> type[BaseModel]:
    """The model that takes what the form takes."""
    from clockwork.edge.http import models

    return models.model_of(form)
