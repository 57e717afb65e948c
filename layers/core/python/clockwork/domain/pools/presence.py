"""Presence: the workers that a pool has seen lately, and the attempts that they ran then."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

#: The most attempts that a note of one worker has.
MOST_NOTED = 100
#: An environment remembers the notes of so many workers of a pool, and notes no more of them within a minute.
MOST_REMEMBERED = 500
#: The least interval (ms) at which one environment writes the note of a worker, ...
NOTED_EVERY_MS = 60_000
#: ... an hour later also if nothing changes, and kept for so long.
HOUR_MS = 3_600_000
KEPT_MS = 24 * HOUR_MS


class Present(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A worker of a pool, under the name that it gives itself. Instants are in ms.

    `seen_at`: the instant of its last note. `running`: the executionIds of its attempts at that instant, some perhaps
    ended since. `started_late_ms`: the largest lateness among the tickets of its last claim. `by`: the environment that
    wrote the note.
    """

    pool: str
    worker_id: str
    seen_at: int
    running: tuple[str, ...] = ()
    started_late_ms: int | None = None
    by: str = ""

    @property
    def hour(self) -> int:
        """When the hour began in which it was seen (ms): an environment has one note of a worker for each hour."""
        return self.seen_at - self.seen_at % HOUR_MS

    @property
    def expires_at(self) -> int:
        """When TTL may delete it (ms)."""
        return self.seen_at + KEPT_MS


def is_news(noted: Present | None, seen: Present) -> bool:
    """Whether a sighting is to be written, beside or in place of this environment's last note."""
    if noted is None:
        return True
    if seen.seen_at < noted.seen_at + NOTED_EVERY_MS:
        return False
    return seen.seen_at >= noted.seen_at + HOUR_MS or set(seen.running) != set(noted.running)


def newest(notes: Sequence[Present], now: int) -> list[Present]:
    """The last note of each worker that has not expired at `now`, the latest first.

    The note also has the attempts that other environments noted within the hour before: each running attempt is noted
    anew within an hour, by the environment that sees it.
    """
    found: dict[str, Present] = {}
    for one in sorted(notes, key=lambda one: one.seen_at, reverse=True):
        last = found.setdefault(one.worker_id, one)
        if one.seen_at > last.seen_at - HOUR_MS - NOTED_EVERY_MS:
            running = tuple(dict.fromkeys((*last.running, *one.running)))
            found[one.worker_id] = msgspec.structs.replace(last, running=running)
    return [one for one in found.values() if now < one.expires_at]


def reaches_back(notes: Sequence[Present], now: int) -> bool:
    """Whether notes of the latest hours have all notes of this hour and the hour before.

    A worker with attempts sends heartbeats, and is therefore noted anew within the hour.
    """
    return min((one.hour for one in notes), default=0) + 2 * HOUR_MS <= now


class Remembered:
    """One environment's notes of the workers of each pool: a bounded number for each pool, the latest ones."""

    def __init__(self, most: int | None = None) -> None:
        self._most = MOST_REMEMBERED if most is None else most
        self._of_pool: dict[str, dict[str, Present]] = {}

    def last(self, pool: str, worker_id: str) -> Present | None:
        """The last note of a worker, if it is remembered."""
        return self._of_pool.get(pool, {}).get(worker_id)

    def has_room(self, seen: Present) -> bool:
        """Whether another worker may be noted: not if as many of its pool were noted within the interval of one."""
        known = self._of_pool.get(seen.pool, {})
        if seen.worker_id in known or len(known) < self._most:
            return True
        return seen.seen_at >= next(iter(known.values())).seen_at + NOTED_EVERY_MS

    def keep(self, seen: Present) -> None:
        """Remember a note. If a pool has too many workers, the one with the earliest note is forgotten."""
        known = self._of_pool.setdefault(seen.pool, {})
        known.pop(seen.worker_id, None)
        if len(known) >= self._most:
            del known[next(iter(known))]
        known[seen.worker_id] = seen

    def drop(self, pool: str, ended: Collection[str]) -> None:
        """Drop the attempts that have ended."""
        known = self._of_pool.get(pool, {})
        for worker_id, seen in known.items():
            if not set(seen.running).isdisjoint(ended):
                left = tuple(one for one in seen.running if one not in ended)
                known[worker_id] = msgspec.structs.replace(seen, running=left)
