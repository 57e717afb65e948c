"""A release queue made of several: each release goes to the one that is picked for it.

Releases have a queue by whether they keep an order, by who delivers them (to Kafka another Lambda), and by shard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from clockwork.domain.releases import Refused, Release, queue_of
from clockwork.ports.queues import ReleaseQueue

Pick = Callable[[Release], ReleaseQueue]


class Routed:
    """`ports.ReleaseQueue` over several: one send to each queue that `pick` returns for any of the releases.

    The index of a refusal is that among all releases given, whichever queue refused.
    """

    def __init__(self, pick: Pick) -> None:
        self._pick = pick

    def send(self, releases: Sequence[Release], now: int) -> Sequence[Refused]:
        routes: dict[ReleaseQueue, list[int]] = {}
        for index, release in enumerate(releases):
            routes.setdefault(self._pick(release), []).append(index)
        refused = [
            msgspec.structs.replace(refusal, index=indexes[refusal.index])
            for queue, indexes in routes.items()
            for refusal in queue.send([releases[index] for index in indexes], now)
        ]
        return sorted(refused, key=lambda refusal: refusal.index)


def by_order(others: ReleaseQueue, ordered: ReleaseQueue) -> Pick:
    """One queue for the occurrences of ordered jobs, one for all others."""
    return lambda release: others if release.occurrence.ordering_key is None else ordered


def by_target(others: ReleaseQueue, queues: Mapping[type, ReleaseQueue]) -> Pick:
    """A queue for each type of target named in `queues`, one for all others."""
    return lambda release: queues.get(type(release.occurrence.target), others)


def by_shard(queues: Sequence[ReleaseQueue]) -> Pick:
    """Queues alike, into which shards are dealt: each has limits and a ramp of its own.

    All releases of a shard go to one, so those of a poller's page share batches as if there were no other.
    """
    return lambda release: queues[queue_of(release.shard, len(queues))]
