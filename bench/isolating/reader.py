"""A tenant that reads its own job of 256 KB as fast as it can, through all environments of the API.

DynamoDB grants a partition 3,000 read units a second. Pollers read the client's jobs in the same partition: while its
reads use up a second's units, a poller's read of them is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from clockwork.aws.errors import HotPartition
from clockwork.domain.clients import Client
from clockwork.domain.errors import TooManyRequests
from clockwork.domain.named_jobs import Definition
from clockwork.domain.recurrence import Every, Recurrence
from clockwork.domain.requests.reading import API_ENVIRONMENTS, PARTITION_UNITS, Kind
from clockwork.flows.named.write import NamedRequest, create_named
from clockwork.flows.requests.reading import Reading
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.flows.world import World
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload

JOB_UNITS = 64
#: Requests that each environment is sent in a second: together twice of what the partition grants.
A_SECOND = 2
MOST_AT_FIRST = 10
#: The job fires each second from then on (ms), beside the jobs of the others.
LEAD_MS, FIRES = 180_000, 10


class Partition:
    """The partition of the client, second by second. `hot_seconds`: in how many the reader used all that is granted."""

    def __init__(self, world: World, client_id: str) -> None:
        self._world, self._client_id = world, client_id
        self._environments = [Reading(number / API_ENVIRONMENTS) for number in range(API_ENVIRONMENTS)]
        self._second = -1
        self._read = 0
        self.hot_seconds = 0
        # It has read for long: what environments let in at first is used up, unless they let in anything.
        for one in self._environments:
            for _ in range(MOST_AT_FIRST):
                self._ask(one)

    def is_hot(self) -> bool:
        """Whether the reader has used up what is granted in this second."""
        second = self._world.clock.now() // 1000
        if second != self._second:
            self._second = second
            self._read = sum(self._ask(one) for one in self._environments for _ in range(A_SECOND))
            self.hot_seconds += self._read >= PARTITION_UNITS
        return self._read >= PARTITION_UNITS

    def _ask(self, environment: Reading) -> int:
        environment.begin(self._world)
        try:
            environment.admit(self._world, Kind.LOOK, [self._client_id])
        except TooManyRequests:
            return 0
        self._world.environment.meter.read("jobs", self._client_id, JOB_UNITS)
        environment.settle(self._world)
        return JOB_UNITS


@contextmanager
def hot_reader(world: World, client_id: str, url: str) -> Iterator[None]:
    """The client has a named job in each shard that fires among the others' jobs, and reads it all the time."""
    every = Recurrence(every=Every(1_000, world.clock.now() + LEAD_MS), max_fires=FIRES)
    definition = Definition(target=HttpTarget(url), payload=Payload(b"{}"), recurrence=every)
    wanted = NamedRequest(client=Client(client_id=client_id), job_key="hot", as_sent=b'"x"', definition=definition)
    create_named(world, wanted, ensure_shards(world))
    partition = Partition(world, client_id)
    store: Any = getattr(world.jobs, "_inner", world.jobs)
    get = store.get

    def granted(job_refs: Sequence[tuple[str, str]]) -> Any:
        if any(one == client_id for one, _ in job_refs) and partition.is_hot():
            raise HotPartition("the level of reads of a partition was exceeded")
        return get(job_refs)

    with mock.patch.object(store, "get", granted):
        yield
