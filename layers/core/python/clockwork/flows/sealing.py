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

import logging
from collections.abc import Sequence

import msgspec

from clockwork.domain.errors import Unavailable
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.messages.tickets import Ticket, sealed
from clockwork.domain.pools.floods import Overflow
from clockwork.domain.pools.pool import overflow_of
from clockwork.domain.pools.shares import FirstPlaces, Shares
from clockwork.domain.releases import Deliver, Refused, Release
from clockwork.domain.storage.checks import GRAINS_OF_WAIT, check_rows
from clockwork.domain.storage.codec import encode_release
from clockwork.ports import PoolMessage, PoolQueues, Pools, Shards, TicketKeys, Timeline
from clockwork.ports.registry import polled
from clockwork.targets.pool import PoolTarget

log = logging.getLogger(__name__)


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

    def __init__(self, keys: TicketKeys, queues: PoolQueues, checks: Checks, pools: Pools, shares: Shares) -> None:
        self._keys = keys
        self._queues = queues
        self._checks = checks
        self._pools = pools
        self._places = FirstPlaces()
        self._shares = shares

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
        placed = self._placed(checked, now)
        refused = self._queues.send([_message(release, keys[0], now) for release in placed], now)
        return self._unspilled(placed, refused, keys[0], now)

    def _unspilled(
        self, releases: Sequence[Deliver], refused: Sequence[Refused], key: str, now: int
    ) -> Sequence[Refused]:
        """Send tickets that their overflow queue refuses to the first queue: only fairness may be lost there.

        Returns the tickets that no queue takes.
        """
        again = [one for one in refused if releases[one.index].spilled and not one.permanent]
        if not again:
            return refused
        firsts = [msgspec.structs.replace(releases[one.index], spilled=False) for one in again]
        for release in firsts:
            self._shares.shut(_pool_of(release).pool, now)
        log.warning("an overflow queue refuses tickets: %s", again[0].reason, extra={"action": "overflow_refused"})
        late = self._queues.send([_message(release, key, now) for release in firsts], now)
        others = [one for one in refused if one not in again]
        return [*others, *(msgspec.structs.replace(one, index=again[one.index].index) for one in late)]

    def _placed(self, releases: Sequence[Deliver], now: int) -> list[Deliver]:
        """The releases with their queues: the most of many that come due at once, and all of a client that floods.

        They go to overflow queues only if workers receive from these.
        """
        notes: dict[str, Overflow | None] = {}
        placed = []
        for release in releases:
            target, client_id = _pool_of(release), release.occurrence.client_id
            pool, priority = target.pool, target.priority
            if pool not in notes:
                notes[pool] = self._note_of(pool)
            note, is_first = notes[pool], self._places.take(pool, priority, client_id, max(release.run_at, now))
            is_beyond = note is not None and not (is_first and client_id not in note.flooding(priority, now))
            spilled = release.spilled or (is_beyond and note is not None and note.is_open(now))
            placed.append(msgspec.structs.replace(release, spilled=spilled and not self._shares.is_shut(pool, now)))
        return placed

    def _note_of(self, pool: str) -> Overflow | None:
        """The note of overflow. Without an answer: none, which costs fairness."""
        try:
            return self._pools.overflow(pool)
        except Unavailable as error:
            extra = {"action": "overflow_not_read", "pool": pool}
            log.warning("a flood goes to the first queue: %s", error, extra=extra)
            return None


def _pool_of(release: Deliver) -> PoolTarget:
    target = release.occurrence.target
    assert isinstance(target, PoolTarget), "only what is for a pool is sealed"
    return target


def _message(release: Deliver, key: str, now: int) -> PoolMessage:
    target = _pool_of(release)
    ticket = Ticket(target.pool, target.priority, now, encode_release(release))
    client_id = release.occurrence.client_id
    queue = overflow_of(target.priority) if release.spilled else target.priority
    return PoolMessage(target.pool, queue, sealed(ticket, key), release.run_at, client_id)
