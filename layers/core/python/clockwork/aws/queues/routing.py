"""Releases have a queue by whether they keep an order, by who delivers them (to Kafka another Lambda), and by shard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from clockwork.domain.releases import Release, queue_of
from clockwork.ports import DeadLetter, DeadLetters, Refused, ReleaseQueue


class RoutedReleases:
    """`ports.ReleaseQueue` over several: those for the types of target named in `queues`, one for all others."""

    def __init__(self, others: ReleaseQueue, queues: Mapping[type, ReleaseQueue]) -> None:
        self._others = others
        self._queues = queues

    def send(self, releases: Sequence[Release], now: int) -> Sequence[Refused]:
        routes: dict[ReleaseQueue, list[int]] = {}
        for index, release in enumerate(releases):
            routes.setdefault(self._queue_of(release), []).append(index)
        refused = [
            msgspec.structs.replace(refusal, index=indexes[refusal.index])
            for queue, indexes in routes.items()
            for refusal in queue.send([releases[index] for index in indexes], now)
        ]
        return sorted(refused, key=lambda refusal: refusal.index)

    def _queue_of(self, release: Release) -> ReleaseQueue:
        return self._queues.get(type(release.occurrence.target), self._others)


class OrderedApart(RoutedReleases):
    """`ports.ReleaseQueue` over two: one for the occurrences of ordered jobs, one for all others."""

    def __init__(self, others: ReleaseQueue, ordered: ReleaseQueue) -> None:
        super().__init__(others, {})
        self._ordered = ordered

    def _queue_of(self, release: Release) -> ReleaseQueue:
        return self._others if release.occurrence.ordering_key is None else self._ordered


class DealtByShard(RoutedReleases):
    """`ports.ReleaseQueue` over several alike, into which shards are dealt: each has limits and a ramp of its own.

    All releases of a shard go to one, so those of a poller's page share batches as if there were no other.
    """

    def __init__(self, queues: Sequence[ReleaseQueue]) -> None:
        super().__init__(queues[0], {})
        self._dealt = queues

    def _queue_of(self, release: Release) -> ReleaseQueue:
        return self._dealt[queue_of(release.shard, len(self._dealt))]


class JoinedDeadLetters:
    """`ports.DeadLetters` over several queues. A receipt begins with the index of its queue."""

    def __init__(self, queues: Sequence[DeadLetters]) -> None:
        self._queues = queues

    def receive(self) -> Sequence[DeadLetter]:
        return [
            msgspec.structs.replace(letter, receipt=f"{index} {letter.receipt}")
            for index, queue in enumerate(self._queues)
            for letter in queue.receive()
        ]

    def delete(self, receipt: str) -> None:
        index, _, inner = receipt.partition(" ")
        self._queues[int(index)].delete(inner)
