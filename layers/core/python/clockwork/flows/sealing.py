"""Tickets in place of releases: what is for a pool is sealed, and sent to the pool's queue.

How it fails. Without a key nothing is sealed: then each release is refused for now, and whoever sends it owes it, as
where a release queue does not answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.errors import Unavailable
from clockwork.domain.jobs import PoolTarget
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.messages.tickets import Ticket, sealed
from clockwork.domain.releases import Refused, Release
from clockwork.domain.storage.codec import encode_release
from clockwork.ports import PoolMessage, PoolQueues, TicketKeys


class Tickets:
    """`ports.ReleaseQueue` of releases for pools, each sent as a ticket of its own."""

    def __init__(self, keys: TicketKeys, queues: PoolQueues) -> None:
        self._keys = keys
        self._queues = queues

    def send(
        self,
        releases: Sequence[Release],
        now: int,
        aligned: Aligned | None = None,  # noqa: ARG002 - nobody is paid for while a worker waits
    ) -> Sequence[Refused]:
        """Seal each release and send it. Each is refused for now if there is no key to be had."""
        try:
            keys = self._keys.get()
            why_not = "" if keys else "there is no key for tickets: it is made when the first pool is written"
        except Unavailable as error:
            keys, why_not = (), str(error)
        if not keys:
            return [Refused(index, False, why_not) for index, _ in enumerate(releases)]
        return self._queues.send([_message(release, keys[0], now) for release in releases], now)


def _message(release: Release, key: str, now: int) -> PoolMessage:
    target = release.occurrence.target
    assert isinstance(target, PoolTarget), "only what is for a pool is sealed"
    ticket = Ticket(target.pool, target.priority, now, encode_release(release))
    client_id = release.occurrence.client_id
    return PoolMessage(target.pool, target.priority, sealed(ticket, key), release.run_at, client_id)
