"""Operations that do not create jobs, and the description of all: loaded by the first request that needs them.

Most requests create jobs and have no query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from clockwork.flows.requests.quotas import Intake
from clockwork.flows.world import World

if TYPE_CHECKING:
    from clockwork.edge.operations.base import Counts
    from clockwork.edge.operations.jobs import Api


def all_operations(world: World, count: Counts, shards: Callable[[], Sequence[str]], intake: Intake) -> Api:
    """All operations of one Lambda environment."""
    from clockwork.edge.operations.jobs import Api

    return Api(world, count, shards, intake)


def check_query(operation: str, query: Mapping[str, str]) -> None:
    """Raise InvalidRequest for every parameter of a query that the operation does not know."""
    from clockwork.edge.description import parameters

    parameters.check_query(query, parameters.query_of(operation))
