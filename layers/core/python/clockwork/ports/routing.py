"""Routing of releases: a release queue made of several, and the functions that pick one for each release.

A release's queue depends on four facts: whether workers of a pool start it, whether it is ordered, the Lambda that
delivers it, and its shard. Kafka and private targets have Lambdas of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.releases import Deliver, Refused, Release, queue_of
from clockwork.ports.queues import ReleaseQueue

Pick = Callable[[Release], ReleaseQueue]


class Routed:
    """`ports.ReleaseQueue` over several queues: one send to each queue that `pick` returns for any of the releases.

    The index of a refusal is the release's index among all releases given, whichever queue refused it.
    """

    def __init__(self, pick: Pick) -> None:
        self._pick = pick

    def send(self, releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
        """Send each release to its queue; indexes of the answer count all releases."""
        routes: dict[ReleaseQueue, list[int]] = {}
        for index, release in enumerate(releases):
            routes.setdefault(self._pick(release), []).append(index)
        refused = [
            msgspec.structs.replace(refusal, index=indexes[refusal.index])
            for queue, indexes in routes.items()
            for refusal in queue.send([releases[index] for index in indexes], now, *([aligned] if aligned else []))
        ]
        return sorted(refused, key=lambda refusal: refusal.index)


def by_order(others: ReleaseQueue, ordered: ReleaseQueue) -> Pick:
    """Pick `ordered` for occurrences with an ordering key, `others` for all others."""
    return lambda release: others if release.occurrence.ordering_key is None else ordered


def by_lane(others: ReleaseQueue, lanes: Mapping[str, ReleaseQueue]) -> Pick:
    """Pick the queue of the deliverer that the target has to itself; `others` if the deployment has none."""
    return lambda release: lanes.get(release.occurrence.target.lane, others)


def by_pool(others: ReleaseQueue, tickets: ReleaseQueue) -> Pick:
    """Pick `tickets` for releases that workers of a pool start. Watches and checks go to our own deliverers."""

    def pick(release: Release) -> ReleaseQueue:
        is_for_workers = release.occurrence.target.is_reported
        return tickets if is_for_workers and isinstance(release, Deliver) else others

    return pick


def by_shard(queues: Sequence[ReleaseQueue]) -> Pick:
    """Pick one of several queues alike by the release's shard. Each queue has limits and a ramp of its own.

    All releases of a shard go to one queue. The releases of a poller's page therefore share batches as with a single
    queue.
    """
    return lambda release: queues[queue_of(release.shard, len(queues))]
