"""Upcoming jobs, and the comparison with the expectation of a test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from clockwork.domain import instants, keys
from clockwork.flows.requests.upcoming import Position, list_upcoming
from clockwork.flows.world import World
from clockwork_client.client import Clockwork
from clockwork_client.testing.deliveries import moment

_PAGE = 1_000
#: The most things that a failed assertion lists.
_SHOWN = 20


@dataclass(frozen=True)
class Scheduled:
    """One execution to come `at` an instant (UTC), of a named job (`key`) or an anonymous one (None)."""

    client_id: str
    job_id: str
    key: str | None
    at: datetime
    payload: Any


def all_scheduled(world: World, client_id: str, reader: Clockwork) -> Iterator[Scheduled]:
    """The upcoming jobs of a client. A recurring job has its next ten fires, as the API shows them."""
    begin = Position(keys.row_key(world.clock.now(), ""), 0)
    start: Position | None = begin
    while start is not None:
        page = list_upcoming(world, client_id, start, instants.LAST, _PAGE)
        for item in page.items:
            job = reader.jobs.get(item.job_id)
            fires = [fire.at for fire in job.next_fires or ()] if item.recurs else []
            for at in dict.fromkeys([moment(item.at), *fires]):
                yield Scheduled(client_id, item.job_id, item.job_key, at, job.payload)
        start = page.goes_on


def check_scheduled(found: Iterable[Scheduled], key: str | None, at: datetime | None, payload: object) -> Scheduled:
    """The first found job that has the given values; None matches any value.

    Raises AssertionError if no job has them.
    """
    found = list(found)
    for one in found:
        fits = (key is None or one.key == key) and (at is None or one.at == at)
        if fits and (payload is None or contains(one.payload, payload)):
            return one
    asked = {"key": key, "at": None if at is None else at.isoformat(), "payload": payload}
    wanted = ", ".join(f"{name}={value!r}" for name, value in asked.items() if value is not None)
    lines = [f"  {one.client_id}  {one.at.isoformat()}  key={one.key!r}  {one.payload!r}" for one in found[:_SHOWN]]
    more = [f"  and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    raise AssertionError(
        "\n".join([f"nothing is scheduled with {wanted or 'anything'}; scheduled are:", *lines, *more])
    )


def contains(whole: Any, part: Any) -> bool:
    """Whether a JSON value has all of another one: of objects the fields named, of anything else all of it."""
    if isinstance(whole, Mapping) and isinstance(part, Mapping):
        return all(name in whole and contains(whole[name], value) for name, value in part.items())
    return bool(whole == part) and isinstance(whole, bool) == isinstance(part, bool)
