"""Zones that change: one town, whose rules another deployment brings in the middle of a run, and what it may fire.

An invocation that began before keeps the rules that it began with. Up to a settling time, therefore, the fires by
either rules may start, and neither are promised. From then on those by the new rules are promised, and no other may
start.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile

import msgspec

from clockwork.domain.cron.compiled import CompiledCron
from clockwork.domain.cron.parser import compile_cron
from clockwork.domain.cron.zones import Rules, ruled_by
from clockwork.domain.recurrence import Fire, Recurrence, next_occurrence
from clockwork.settings import Settings
from tests.support.zones import TOWN, town

#: One of so many seeds has zones that change.
ZONES_EVERY = 5
#: How far a clock may be moved (minutes).
SHIFTS = (-5, -3, -1, 1, 3, 5)
#: Schedules that follow the clock, and one that names times of day. A pointer may lie twelve minutes behind its base.
CRONS: tuple[CompiledCron, ...] = tuple(map(compile_cron, ("*/2 * * * *", "*/12 * * * *", "3,15,27,39,51 * * * *")))
#: Processes may be frozen, sleep, and read clocks that are off: for so long (ms) more than an invocation lasts.
SLACK_MS = 60_000
#: No fires are late without a fault but those whose pointer lay behind them.
LATE_MS = 15 * 60_000
#: No run lasts longer (ms).
LONGEST_RUN_MS = 6 * 3_600_000


@dataclass
class Zones:
    """The rules of the town, before and after, and since when the latter are deployed."""

    before: Rules = field(default_factory=lambda: town(0))
    after: Rules | None = None
    #: When the deployment comes (ms).
    changes_at: int = 0
    #: The rules differ from this instant on (ms).
    differ_at: int = 0
    #: Everybody goes by the new rules for what is due after this instant (ms).
    settled_at: int = 0
    is_changed: bool = False

    @classmethod
    def drawn(cls, rng: random.Random, began_at: int, settings: Settings) -> Zones:
        """Zones whose rules differ from about the time of the deployment on."""
        changes_at = began_at + rng.randrange(200_000, 700_000)
        differ_at = (changes_at + rng.randrange(-60_000, 300_000)) // 1000 * 1000
        lasting_ms = 1000 * (settings.poller_timeout_seconds + settings.lookahead_seconds) + SLACK_MS
        after = town(0, rng.choice(SHIFTS), differ_at)
        return cls(after=after, changes_at=changes_at, differ_at=differ_at, settled_at=changes_at + lasting_ms)

    @property
    def known(self) -> Rules:
        """The rules that an invocation which begins now goes by."""
        return self.after if self.is_changed and self.after is not None else self.before

    @property
    def settles_at(self) -> int:
        """Up to this due instant (ms) fires by either rules may start."""
        return max(self.settled_at, self.differ_at)

    @property
    def each(self) -> tuple[Zones, ...]:
        """The rules as those knew them who made fires of one of them alone: all of before, all of after, and both."""
        if not self.is_changed or self.after is None:
            return (self,)
        return self, Zones(before=self.before), Zones(before=self.after)

    @property
    def are_drawn(self) -> bool:
        """Whether jobs of this run follow the town's clock."""
        return self.after is not None

    def fires(self, recurrence: Recurrence, after_at: int, job_id: str) -> Iterator[tuple[int, int]]:
        """The base and due instants that may fire behind an instant, as far as a run may reach."""
        before = dict(self._by(self.before, recurrence, after_at, job_id))
        if not self._concern(recurrence) or self.after is None:
            yield from before.items()
            return
        after = dict(self._by(self.after, recurrence, after_at, job_id))
        both = {base: due for base, due in before.items() if due <= self.settles_at} | after
        yield from sorted(both.items())

    def is_open(self, recurrence: Recurrence | None, due_at: int) -> bool:
        """Whether nothing is promised of an instant, since the rules changed around it."""
        return recurrence is not None and self._concern(recurrence) and self.differ_at <= due_at <= self.settled_at

    def may_be_late(self, due_at: int) -> bool:
        """Whether a fire of the town may be late, since its pointer lay where it was by the rules of before."""
        return self.is_changed and self.differ_at <= due_at <= self.settles_at + LATE_MS

    def _concern(self, recurrence: Recurrence) -> bool:
        return self.is_changed and recurrence.follows_zone

    @staticmethod
    def _by(rules: Rules, recurrence: Recurrence, after_at: int, job_id: str) -> Iterator[tuple[int, int]]:
        endless = msgspec.structs.replace(recurrence, max_fires=None)
        with ruled_by(rules):
            fires = list(
                takewhile(lambda fire: fire.base_at <= after_at + LONGEST_RUN_MS, _all(endless, after_at, job_id))
            )
        yield from ((fire.base_at, fire.due_at) for fire in fires)


def _all(recurrence: Recurrence, after_at: int, job_id: str) -> Iterator[Fire]:
    fire = next_occurrence(recurrence, after_at, 0, job_id)
    while fire is not None:
        yield fire
        fire = next_occurrence(recurrence, fire.base_at, 0, job_id)


def of_the_town(rng: random.Random, end_at: int, jitter_seconds: int) -> Recurrence:
    """Draws a schedule on the town's clock."""
    return Recurrence(cron=rng.choice(CRONS), timezone=TOWN, end_at=end_at, jitter_seconds=jitter_seconds)
