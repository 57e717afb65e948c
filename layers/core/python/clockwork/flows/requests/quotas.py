"""Quotas: whether a client may make so many occurrences, checked once per request before anything is written.

A create counts its jobs. A run by hand, a redrive, a backfill and a changed schedule count the occurrences that they
make; a schedule counts as one, also if it recurs. In the jobs of a day the run of a workflow counts as one and its
nodes. For a client without caps the check is free. Both caps count what
requests were let in for, and count a repeated request again. A request that stops many jobs is never refused and not
counted. Only if that request finds nothing to change, the client is charged for the reads. One environment knows only
the requests that it let in itself. For that reason the pace is divided by the number of environments that are expected.
The jobs of a day are reserved in a counter of the client, a block at a time. Jobs that an environment has reserved and
not used are lost with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.clients import Client
from clockwork.domain.errors import ClientDeleting, TooManyRequests
from clockwork.domain.requests.quotas import block_of, day_of, plan_owed, plan_pace, seconds_left_of_day
from clockwork.flows.requests.reading import Reading
from clockwork.flows.world import World


class Intake:
    """The occurrences that one api environment has let in. Not for several threads."""

    def __init__(self) -> None:
        self._paid_until: dict[str, int] = {}
        #: By clientId: the day, and how many of its jobs are reserved and unused.
        self._reserved: dict[str, tuple[int, int]] = {}
        #: The debts for reads.
        self.reading = Reading()

    def admit(self, world: World, client: Client, count: int, nodes: int = 0) -> None:
        """Let in `count` occurrences of the client, and count them; each of their `nodes` counts in the day as well.

        Raises TooManyRequests if a cap forbids it, ClientDeleting if the client is being deleted; then none of them is
        counted. Raises Unavailable.
        """
        if count == 0:
            return
        if client.deleting_at is not None:
            raise ClientDeleting(f"the client {client.client_id} is being deleted: it takes no jobs any more")
        paid_until_at = self._pace(world, client, count)
        self._count_day(world, client, count + nodes)
        if paid_until_at is not None:
            self._paid_until[client.client_id] = paid_until_at

    def admit_work(self, world: World, client: Client, count: int) -> None:
        """Let in a request that makes no occurrence and costs as much as `count` creates, at the client's pace.

        0: only ask whether there is room. Raises TooManyRequests.
        """
        paid_until_at = self._pace(world, client, count)
        if paid_until_at is not None and count:
            self._paid_until[client.client_id] = paid_until_at

    def owe_work(self, world: World, client: Client, count: int) -> None:
        """Count a request that was let in already, and cost as much as `count` creates. It refuses nothing."""
        if client.creates_per_second is None or not count:
            return
        share = client.creates_per_second / world.settings.api_environments
        before = self._paid_until.get(client.client_id, 0)
        self._paid_until[client.client_id] = plan_owed(before, count, share, world.clock.now())

    def admit_preview(self, world: World, clients: Sequence[Client]) -> None:
        """Let in one request that makes nothing and still costs work, at the pace of one of the caller's clients.

        It counts as one create of the first client that has room for it; the jobs of a day are not counted. Raises
        TooManyRequests if none has room.
        """
        refusals = []
        for client in clients:
            try:
                paid_until_at = self._pace(world, client, 1)
            except TooManyRequests as refused:
                refusals.append(refused)
                continue
            if paid_until_at is not None:
                self._paid_until[client.client_id] = paid_until_at
            return
        if refusals:
            raise min(refusals, key=lambda refused: refused.retry_after_seconds)

    def _pace(self, world: World, client: Client, count: int) -> int | None:
        if client.creates_per_second is None:
            return None
        share = client.creates_per_second / world.settings.api_environments
        before = self._paid_until.get(client.client_id, 0)
        pace = plan_pace(before, count, share, world.clock.now())
        if not pace.admitted:
            rate = f"createsPerSecond is {client.creates_per_second:g}"
            raise TooManyRequests(f"the client creates faster than it may: {rate}", pace.retry_after_seconds)
        return pace.paid_until_at

    def _count_day(self, world: World, client: Client, count: int) -> None:
        if client.jobs_per_day is None:
            return
        now = world.clock.now()
        day, left = self._reserved.get(client.client_id, (0, 0))
        left = left if day == day_of(now) else 0
        if left < count:
            left += _reserve(world, client, client.jobs_per_day, count - left, now)
        self._reserved[client.client_id] = (day_of(now), left - count)


def _reserve(world: World, client: Client, most: int, missing: int, now: int) -> int:
    """Reserve the `missing` jobs of the day, as part of a block if the day has room for one; returns how many.

    Raises TooManyRequests if the day has no room for the missing ones either.
    """
    for wanted in sorted({max(missing, block_of(most)), missing}, reverse=True):
        if world.regulation.count_created(client.client_id, day_of(now), wanted, most):
            return wanted
    detail = f"the client has created what it may today (UTC): jobsPerDay is {most:,}"
    raise TooManyRequests(detail, seconds_left_of_day(now))


class Trial(Intake):
    """The intake of dry runs: they make no occurrence, and each counts as a preview of `real`."""

    def __init__(self, real: Intake) -> None:
        super().__init__()
        self._real, self.reading = real, real.reading

    def admit(self, world: World, client: Client, count: int, nodes: int = 0) -> None:
        """Let in one dry run of the client. Raises TooManyRequests, and ClientDeleting as the real one would."""
        if client.deleting_at is not None:
            super().admit(world, client, count, nodes)
        elif count:
            self._real.admit_preview(world, [client])
