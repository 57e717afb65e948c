"""Operations that do not create jobs, and the description of all: loaded by the first request that needs them.

Most requests create jobs and have no query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from clockwork.domain.keys import plain_partitions
from clockwork.flows.requests.quotas import Intake, Trial
from clockwork.flows.world import World

if TYPE_CHECKING:
    from clockwork.edge.operations.base import Counts
    from clockwork.edge.operations.creates import CreateApi
    from clockwork.edge.operations.jobs import Api


def all_operations(world: World, count: Counts, shards: Callable[[], Sequence[str]], intake: Intake) -> Api:
    """All operations of one Lambda environment."""
    from clockwork.edge.operations.jobs import Api

    return Api(world, count, shards, intake)


def dry_run(api: CreateApi) -> CreateApi:
    """The same operations in a world without writes: they count nothing, and each is let in as a preview is."""
    from clockwork.flows.named.dry import without_writes

    world = without_writes(api.world)
    shards = partial(plain_partitions, world.settings.shards)
    return type(api)(world, _uncounted, shards, Trial(api.intake), is_dry=True)


def _uncounted(_: Mapping[str, int | Sequence[int]]) -> None:
    """A metric of something that was not done."""


def check_query(operation: str, query: Mapping[str, str]) -> None:
    """Raise InvalidRequest with every fault that a query has in itself."""
    from clockwork.edge.description import queries

    queries.check_query(operation, query)
