"""Recurrences: a recurring schedule as a value, and its next fire, a pure function of value and previous fire."""

import hashlib

from msgspec import Struct

from clockwork.domain.cron.compiled import CompiledCron
from clockwork.domain.cron.engine import LATEST_SECOND, next_fire
from clockwork.domain.cron.exclusion import Exclusion, excluded_until

#: The work (in units of about a microsecond) after which a schedule ends that finds only excluded fires. That is more
#: than ten thousand excluded stretches of one entry, or a thousand of a hundred entries. A stretch ends at midnight at
#: the latest. A schedule without a fire therefore costs about a quarter of a second at most.
MOST_WORK = 240_000
#: The cost of one excluded stretch, and of each entry that is checked for it.
COST_OF_STRETCH, COST_OF_ENTRY = 20, 2


class TooMuchWork(ValueError):
    """A request asks for more work than it may cause."""


class Work:
    """The work that one request may cause by its URLs, expressions and exclusions, in the units of `MOST_WORK`."""

    def __init__(self, left: int) -> None:
        self.left = left

    @property
    def is_over(self) -> bool:
        """Whether more was asked for than there was."""
        return self.left < 0

    def spend(self, units: int) -> None:
        """Count units. Raises TooMuchWork once none are left."""
        self.left -= units
        if self.left < 0:
            raise TooMuchWork("its schedules take too long to work out: leave exclusions out, or ask for fewer fires")


class Every(Struct, frozen=True, rename="camel"):
    """An interval of elapsed time: fires at `anchor_at` and every `every_ms` after it, independent of local clocks."""

    every_ms: int
    anchor_at: int


class Recurrence(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, rename="camel"):
    """When a job recurs: by exactly one of `every` and `cron`, within bounds. Instants are UTC ms.

    It holds the schedule alone. Another policy (catchUp) decides about missed fires.
    """

    every: Every | None = None
    cron: CompiledCron | None = None
    #: IANA zone of `cron` and of `exclude`.
    timezone: str = "UTC"
    #: There is no fire before this instant.
    start_at: int | None = None
    #: There is no fire after this instant; one at this very instant still counts. Jitter is not counted.
    end_at: int | None = None
    #: The number of fires in all; excluded ones do not count.
    max_fires: int | None = None
    #: Each fire is due up to so much later, always before the next one.
    jitter_seconds: int = 0
    exclude: Exclusion = Exclusion()

    def __post_init__(self) -> None:
        if (self.every is None) == (self.cron is None):
            raise ValueError("a recurrence has either every or cron")

    @property
    def follows_zone(self) -> bool:
        """Whether the rules of a time zone, which governments change, decide when it fires."""
        return self.timezone != "UTC" and (self.cron is not None or not self.exclude.is_empty)


class Fire(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One fire of a schedule. The next fire follows from its `base_at` and `ordinal`."""

    #: The instant that the schedule names (UTC ms).
    base_at: int
    #: `base_at` plus the jitter (UTC ms).
    due_at: int
    #: 1 for the first fire of the schedule.
    ordinal: int
    #: It is the first fire with a base instant after this (UTC ms), if the rules of a zone decide; otherwise None.
    #: When those change, the fire is worked out anew from there.
    after_at: int | None = None


def next_occurrence(
    recurrence: Recurrence, after_at: int, ordinal: int, job_id: str, work: Work | None = None
) -> Fire | None:
    """The first fire with `base_at` after `after_at`, or None if the schedule is over.

    `after_at` and `ordinal` are the `base_at` and the `ordinal` of the previous fire. If there was none, `ordinal` is 0
    and `after_at` is the instant of creation. The chain itself therefore carries the count for `max_fires`, and a
    repeated step yields the same fire. `job_id` only seeds the jitter. Raises `UnknownZone`, and `TooMuchWork` if the
    given `work` does not suffice.
    """
    if recurrence.max_fires is not None and ordinal >= recurrence.max_fires:
        return None
    if recurrence.start_at is not None:
        after_at = max(after_at, recurrence.start_at - 1)
    base_at = _next_included(recurrence, after_at, work or Work(MOST_WORK))
    if base_at is None or (recurrence.end_at is not None and base_at > recurrence.end_at):
        return None
    behind_at = after_at if recurrence.follows_zone else None
    return Fire(base_at, base_at + _jitter_ms(recurrence, base_at, job_id), ordinal + 1, behind_at)


def _next_included(recurrence: Recurrence, after_at: int, work: Work) -> int | None:
    cost = COST_OF_STRETCH + COST_OF_ENTRY * len(recurrence.exclude.crons)
    for _ in range(MOST_WORK // cost):
        base_at = _next_base(recurrence, after_at)
        if base_at is None:
            return None
        free_at = excluded_until(recurrence.exclude, recurrence.timezone, base_at)
        if free_at is None:
            return base_at
        work.spend(cost)
        after_at = free_at - 1
    return None


def _next_base(recurrence: Recurrence, after_at: int) -> int | None:
    if recurrence.cron is not None:
        return next_fire(recurrence.cron, recurrence.timezone, after_at)
    assert recurrence.every is not None
    anchor_at, every_ms = recurrence.every.anchor_at, recurrence.every.every_ms
    base_at = anchor_at if after_at < anchor_at else after_at + every_ms - (after_at - anchor_at) % every_ms
    return base_at if base_at < LATEST_SECOND * 1000 else None


def _jitter_ms(recurrence: Recurrence, base_at: int, job_id: str) -> int:
    """0 to `jitter_seconds` in ms: the same for the same job and fire, and less than the time until the next fire."""
    if not recurrence.jitter_seconds:
        return 0
    following_at = _next_base(recurrence, base_at)
    longest_ms = recurrence.jitter_seconds * 1000
    if following_at is not None:
        longest_ms = min(longest_ms, following_at - base_at - 1)
    digest = hashlib.blake2b(f"{job_id} {base_at}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) % (longest_ms + 1)
