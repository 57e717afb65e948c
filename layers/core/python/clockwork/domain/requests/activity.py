"""Activity: how many executions of each client started and ended in a minute, and how late they started.

Each environment counts in its memory, and notes its counts once a minute, in up to PARTS items: each client has its
part. A burst is noted sooner. The sum of the notes is approximate. An environment that nobody calls any more has not
noted its last counts. A save whose answer was lost counts twice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import TypeVar
from zlib import crc32

import msgspec

from clockwork.domain.executions import DAY_MS, FINAL, Execution, State

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
#: Of an environment: the usual interval between two notes (ms), the shortest one, ...
NOTED_EVERY_MS, SOONEST_MS = MINUTE_MS, 5_000
#: ... the clients that it counts in between, and the minutes that it keeps in mind while nothing takes them.
MOST_CLIENTS, MOST_MINUTES = 100, 3
KEPT_MS = 3 * DAY_MS
#: The parts of the notes. A look at one client reads one part: an item is as dear to write as its kilobytes.
PARTS = 8
#: The upper bounds (ms) of the classes of lateness; the last class has none.
BOUNDS = (10, 20, 50, 75, 100, 150, 200, 300, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500, 10_000, 20_000,
          30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000)  # fmt: skip
_Key = TypeVar("_Key", int, str)
#: Attempts that ended so have not failed.
_NOT_FAILED = frozenset({State.SUCCEEDED, State.CANCELLED, State.HANDED_BACK})


class Tally(msgspec.Struct, rename="camel", omit_defaults=True):
    """The counts of one client in some time.

    `failed` counts attempts, and each other field executions. `late`: how many started, by class of lateness.
    `waited`: for how long (ms) those that started had waited, by cause.
    """

    started: int = 0
    succeeded: int = 0
    failed: int = 0
    dead: int = 0
    skipped: int = 0
    expired: int = 0
    cancelled: int = 0
    late: dict[int, int] = {}
    waited: dict[str, int] = {}

    def add_start(self, lateness_ms: int, waited: Mapping[str, int]) -> None:
        """Count a first attempt that was started."""
        self.started += 1
        number = bisect_left(BOUNDS, lateness_ms)
        self.late[number] = self.late.get(number, 0) + 1
        _add(self.waited, {cause: ms for cause, ms in waited.items() if ms})

    def add_end(self, state: State, count: int = 1) -> None:
        """Count executions that ended."""
        name = state.lower()
        setattr(self, name, getattr(self, name) + count)

    def add(self, other: Tally) -> None:
        """Add the counts of another one."""
        for name in ("started", "failed", *(state.lower() for state in FINAL)):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        _add(self.late, other.late)
        _add(self.waited, other.waited)

    def late_within(self, share: float) -> int | None:
        """The bound (ms) within which this share of them started; None if none did, or if the last class has it."""
        counts = [self.late.get(number, 0) for number in range(len(BOUNDS) + 1)]
        wanted = share * sum(counts)
        number = next((one for one, total in enumerate(accumulate(counts)) if total and total >= wanted), len(BOUNDS))
        return BOUNDS[number] if number < len(BOUNDS) else None


def _add(own: dict[_Key, int], more: Mapping[_Key, int]) -> None:
    for key, count in more.items():
        own[key] = own.get(key, 0) + count


class Counts(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A note of one environment: counts of a minute that it has not noted before, of the clients of one part.

    `minute_at` is the begin of the minute and `noted_at` the instant of the note (ms). `by` is the environment's name.
    """

    minute_at: int
    part: int
    noted_at: int
    by: str
    #: By clientId.
    clients: dict[str, Tally]

    @property
    def hour_at(self) -> int:
        """When its hour began (ms)."""
        return self.minute_at - self.minute_at % HOUR_MS

    @property
    def name(self) -> str:
        """The name that no other note of its hour and its part has. Notes lie in the order of their minutes."""
        return f"{self.minute_at:013d}/{self.noted_at:013d}/{self.by}"

    @property
    def expires_at(self) -> int:
        """When TTL may delete it (ms)."""
        return self.minute_at + KEPT_MS


def part_of(client_id: str) -> int:
    """The part in which the notes about a client are."""
    return crc32(client_id.encode()) % PARTS


class Counters:
    """The counts of one environment that are not noted yet.

    Threads share it. A count of one may be lost beside a note of another, and nothing else happens.
    """

    def __init__(self) -> None:
        self._minutes: dict[int, dict[str, Tally]] = {}
        self._count, self._noted, self._noted_at = 0, 0, 0

    def of(self, client_id: str, now: int) -> Tally:
        """The counts of a client in the minute of `now` (ms), to count something in.

        Of more than MOST_CLIENTS clients, those that came last are counted in vain until the next note.
        """
        minute_at, minutes = now - now % MINUTE_MS, self._minutes
        if minute_at not in minutes and len(minutes) >= MOST_MINUTES:
            minutes.pop(min(list(minutes)), None)
        clients = minutes.setdefault(minute_at, {})
        self._count += 1
        return (
            clients.setdefault(client_id, Tally()) if client_id in clients or len(clients) < MOST_CLIENTS else Tally()
        )

    def add_change(self, before: Execution | None, after: Execution, now: int) -> None:
        """Count what a saved change of a record tells: a start, a failed attempt, an end."""
        if after.claim is not None and (before is None or before.claim is None) and after.is_first_attempt:
            waited, kept = after.waits.waited, after.kept.occurrence
            late_ms = after.claim.lateness_ms if kept is None else after.claim.started_at - kept.late_since
            self.of(after.client_id, now).add_start(
                max(0, late_ms or 0), {} if waited is None else msgspec.structs.asdict(waited)
            )
        last, known = (one.attempts[-1] if one is not None and one.attempts else None for one in (after, before))
        if last is not None and last.state not in _NOT_FAILED and (known is None or known.number != last.number):
            self.of(after.client_id, now).failed += 1
        if after.state in FINAL and (before is None or before.state is not after.state):
            stretch = after.end.skipped
            self.of(after.client_id, now).add_end(after.state, 1 if stretch is None else stretch.count)

    def take(self, now: int, by: str) -> list[Counts]:
        """The notes that are to be written at `now` (ms), for each minute and each part. They do not count again.

        There are some a minute after the last ones, or sooner if the counts have doubled since.
        """
        age = now - self._noted_at
        is_due = age >= NOTED_EVERY_MS or age < 0 or (age >= SOONEST_MS and self._count >= 2 * self._noted)
        if not is_due or not self._count:
            return []
        taken, self._minutes = self._minutes, {}
        self._noted, self._noted_at, self._count = self._count, now, 0
        return _notes(taken, now, by)

    def left(self, now: int, by: str) -> list[Counts]:
        """The notes of all counts so far, due or not. They count again."""
        return _notes(self._minutes, now, by)


def _notes(minutes: Mapping[int, Mapping[str, Tally]], now: int, by: str) -> list[Counts]:
    found: dict[tuple[int, int], dict[str, Tally]] = {}
    for at, clients in sorted(minutes.items()):
        for client_id, tally in list(clients.items()):
            found.setdefault((at, part_of(client_id)), {})[client_id] = tally
    return [
        Counts(minute_at=at, part=part, noted_at=now, by=by, clients=clients) for (at, part), clients in found.items()
    ]


def summed(notes: Iterable[Counts], client_id: str, step_ms: int) -> dict[int, Tally]:
    """The counts of one client, by the begin (ms) of the steps in which it has any. The steps count from 1970."""
    found: dict[int, Tally] = {}
    for note in notes:
        if (tally := note.clients.get(client_id)) is not None:
            found.setdefault(note.minute_at - note.minute_at % step_ms, Tally()).add(tally)
    return dict(sorted(found.items()))
