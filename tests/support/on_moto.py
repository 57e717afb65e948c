"""A Clockwork whose stores and queues are the shipped adapters on moto, under the virtual clock of one in memory."""

from __future__ import annotations

from clockwork.aws.queues.dead_letters import AwsDeadLetters
from clockwork.aws.queues.ordered_queue import AwsOrderedQueue, AwsVisibility
from clockwork.aws.queues.release_queue import AwsReleaseQueue
from clockwork.aws.stores.clients import AwsClients, CachedClients
from clockwork.aws.stores.executions import AwsExecutions
from clockwork.aws.stores.jobs import AwsJobs
from clockwork.aws.stores.operations import AwsOperations
from clockwork.aws.stores.regulation import AwsRegulation
from clockwork.aws.stores.requests import AwsActivity, AwsKeyRows, AwsTrail
from clockwork.aws.stores.shards import AwsShards
from clockwork.aws.stores.timeline import AwsTimeline
from clockwork.memory.world import MemoryClockwork
from clockwork.ports.routing import Routed, by_order
from tests.crash_points.queues import MotoQueue
from tests.crash_points.services import QUEUES, Services


class Queue(MotoQueue):
    """A queue that tells when it is to be looked at again, as that in memory does."""

    def next_visible_at(self) -> int | None:
        """When the next message becomes visible (ms). moto hands out messages that became visible before now."""
        at = [int(max(one.visible_at, one.delayed_until)) + 1 for one in self.messages.values()]
        return min(at, default=None)


class MotoClockwork(MemoryClockwork):
    """The same Clockwork on `services`, which are emptied for it."""

    services: Services

    def __post_init__(self) -> None:
        super().__post_init__()
        services, aws, clock, settings = self.services, self.services.aws, self.clock, self.settings
        services.now = lambda: clock.at
        services.start(settings)

        def elapsed() -> float:
            return clock.at / 1000

        plain = AwsReleaseQueue(aws, services.url("release"), elapsed_seconds=elapsed)
        ordered = AwsOrderedQueue(aws, services.url("ordered.fifo"), elapsed_seconds=elapsed)
        self.queue, self.ordered_queue = (  # type: ignore[assignment]
            Queue(services, name, clock) for name in QUEUES
        )
        self.executions = AwsExecutions(aws, "executions")  # type: ignore[assignment]
        self.regulation = AwsRegulation(aws, "clients", clock)  # type: ignore[assignment]
        self.clients = CachedClients(  # type: ignore[assignment]
            AwsClients(aws, "clients"), clock, settings.client_cache_seconds
        )
        self.timeline = AwsTimeline(aws, "timeline")  # type: ignore[assignment]
        self.shards = AwsShards(aws, "shards")  # type: ignore[assignment]
        self.jobs = AwsJobs(aws, "jobs")  # type: ignore[assignment]
        self.world = self.world.with_(
            timeline=self.timeline,
            shards=self.shards,
            jobs=self.jobs,
            executions=self.executions,
            releases=Routed(by_order(plain, ordered)),
            dead_letters=AwsDeadLetters(aws, [services.url(dead) for dead in QUEUES.values()]),
            visibility=AwsVisibility(aws, services.url("ordered.fifo")),
            clients=self.clients,
            key_rows=AwsKeyRows(aws, "jobs"),
            regulation=self.regulation,
            trail=AwsTrail(aws, "executions"),
            operations=AwsOperations(aws, "clients"),
            activity=AwsActivity(aws, "executions"),
        )
