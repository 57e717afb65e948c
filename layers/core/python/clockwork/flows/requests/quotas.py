"""May a client create so many jobs? Asked once a request, before anything is written; free for who has no caps.

Both caps count jobs of accepted requests, repeated ones again. One environment knows only what it let in itself, so
the pace is divided by the number of environments that are expected. Jobs of a day are reserved in a counter of the
client, a block at a time; what an environment has reserved and not used is lost with it.
"""

from __future__ import annotations

from clockwork.domain.clients import Client
from clockwork.domain.errors import TooManyRequests
from clockwork.domain.requests.quotas import block_of, day_of, plan_pace, seconds_left_of_day
from clockwork.flows.world import World


class Intake:
    """What one api environment has let in. Not for several threads."""

    def __init__(self) -> None:
        self._paid_until: dict[str, int] = {}
        #: The day, and how many jobs of it are reserved and unused.
        self._reserved: dict[str, tuple[int, int]] = {}

    def admit(self, world: World, client: Client, count: int) -> None:
        """Count `count` jobs. Raises TooManyRequests, having counted none of them; Unavailable."""
        if count == 0:
            return
        paid_until_at = self._pace(world, client, count)
        self._count_day(world, client, count)
        if paid_until_at is not None:
            self._paid_until[client.client_id] = paid_until_at

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
    """At least what is missing: a block, or what is left of the day if that is less."""
    for wanted in sorted({max(missing, block_of(most)), missing}, reverse=True):
        if world.regulation.count_created(client.client_id, day_of(now), wanted, most):
            return wanted
    detail = f"the client has created what it may today (UTC): jobsPerDay is {most:,}"
    raise TooManyRequests(detail, seconds_left_of_day(now))
