"""Tickets in place of releases: a release for a pool gets a check, is sealed, and goes to the pool's queue.

Clockwork does not rely on that queue, from which workers receive. A check of every ticket is put on the timeline before
its send, and is due days later (`domain.storage.checks`).

How it fails. Without a key no ticket is sealed, and without a check no ticket is sent. Each release is then refused for
now, as where a release queue does not answer. If the process dies between checks and tickets, its sender repeats, under
the same checks within the hour. Without a repeat the check finds the attempt waiting, and sends the ticket. A row that
is put or read twice makes at most one duplicate, and the claim absorbs it.

A ticket that is sent anew puts no row, since the checks of its attempt follow each other until a claim. A wait under a
cap, which may take hundreds of hops, therefore costs no row. A claim that is given back might have ended the checks:
its ticket gets a new check.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clockwork.domain.errors import Unavailable
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.messages.tickets import Ticket, sealed
from clockwork.domain.releases import Deliver, Refused, Release
from clockwork.domain.storage.checks import GRAINS_OF_WAIT, check_rows
from clockwork.domain.storage.codec import encode_release
from clockwork.ports import PoolMessage, PoolQueues, Shards, TicketKeys, Timeline
from clockwork.ports.registry import polled
from clockwork.targets.pool import PoolTarget


class Checks:
    """The checks of tickets: `after_ms` after each was sent, or a little before, in rows kept for `rows_ms` more."""

    def __init__(self, timeline: Timeline, shards: Shards, after_ms: int, rows_ms: int) -> None:
        self._timeline = timeline
        self._shards = shards
        self._after_ms = after_ms
        self._rows_ms = rows_ms

    def put(self, releases: Sequence[Deliver], now: int) -> list[Deliver]:
        """The releases, for each of which a check is on the timeline. Raises Unavailable if that is not certain."""
        at = now + self._after_ms
        unchecked = [release for release in releases if not release.checked]
        if unchecked:
            rows = check_rows(unchecked, at, max(1, self._after_ms // GRAINS_OF_WAIT), self._rows_ms)
            self._timeline.put_new(rows)
            polled(self._shards, [rows[0].partition_id])
        return [msgspec.structs.replace(release, checked=True) for release in releases]


class Tickets:
    """`ports.ReleaseQueue` of releases for pools, each sent as a ticket of its own."""

    def __init__(self, keys: TicketKeys, queues: PoolQueues, checks: Checks) -> None:
        self._keys = keys
        self._queues = queues
        self._checks = checks

    def send(
        self,
        releases: Sequence[Release],
        now: int,
        aligned: Aligned | None = None,  # noqa: ARG002 - nobody is paid for while a worker waits
    ) -> Sequence[Refused]:
        """Put a check of each release, then seal and send it. Where that is not certain each is refused for now."""
        try:
            keys = self._keys.get()
            if not keys:
                raise Unavailable("there is no key for tickets: it is made when the first pool is written")
            checked = self._checks.put([release for release in releases if isinstance(release, Deliver)], now)
        except Unavailable as error:
            return [Refused(index, False, str(error)) for index, _ in enumerate(releases)]
        return self._queues.send([_message(release, keys[0], now) for release in checked], now)


def _message(release: Deliver, key: str, now: int) -> PoolMessage:
    target = release.occurrence.target
    assert isinstance(target, PoolTarget), "only what is for a pool is sealed"
    ticket = Ticket(target.pool, target.priority, now, encode_release(release))
    client_id = release.occurrence.client_id
    return PoolMessage(target.pool, target.priority, sealed(ticket, key), release.run_at, client_id)
