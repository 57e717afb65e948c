"""Slots of a rate limit, and the line of those that find none.

A slot is an instant that one attempt has for itself. It is reserved a minute ahead at most, so what dies or changes
after it was reserved wastes no more than that. An attempt that finds no slot that near gets a place in a line, once.
The place is an estimate of when the attempt's turn comes, and reserves nothing. The attempt comes back from time to
time, and reserves a slot once one is near enough. All that wait therefore feel a raised limit or a cancelled line, and
nobody waits for the dead.
"""

from __future__ import annotations

import math

import msgspec

from clockwork.domain.lifecycle.expiry import relevant_until
from clockwork.domain.releases import LONGEST_DELAY_SECONDS, Deliver

#: No slot lies further ahead than this (ms), whoever asks.
HARD_MS = 60_000
#: An attempt whose turn comes in this time (ms) may reserve a slot this far ahead, which is then the slot of its turn.
#: An attempt that comes while no line stands may do so, too.
TURN_MS = 40_000
#: One in the line comes back so long (ms) after its turn, by when those ahead of it have asked for their slots.
AFTER_TURN_MS = 2_000
#: An attempt that is overdue by so long (ms) has half of what lies between `TURN_MS` and `HARD_MS`.
OVERDUE_MS = 120_000
#: How far ahead (ms) a slot may lie at least, while there is a line, and for who has waited long, or has a window.
NEWCOMER_MS, WAITED_MS = 5_000, 30_000
#: An attempt that has waited may reserve as far ahead as this share of its wait.
AHEAD_OF_THE_WAIT = 1 / 20
#: Bounds of the time (ms) after which one that found no slot comes back.
LEAST_BACK_MS = 20_000
MOST_BACK_MS = LONGEST_DELAY_SECONDS * 1000
#: It comes back after this share of what is left until its turn, or of what it has waited, whichever is shorter.
OF_THE_REST, OF_THE_WAIT = 1 / 4, 1 / 2
#: Either way by up to this share, so that those of one line do not come back together.
SPREAD = 0.1
#: One with a relevancy window comes back before its end, and not sooner than this (ms).
SOONEST_MS = 1_000


class Reach(msgspec.Struct, frozen=True, order=True):
    """Up to when (ms) slots are of use to a caller: `free` if there is no line, `beside` while there is one."""

    free: int
    beside: int

    def latest(self, line_until: int, now: int) -> int:
        """The latest instant of use, given the end of the line (ms; 0 if none is known)."""
        return self.beside if is_line(line_until, now) else self.free

    def within(self, other: Reach) -> Reach:
        """The reach of a call that serves both."""
        return Reach(min(self.free, other.free), min(self.beside, other.beside))


class Reserved(msgspec.Struct, frozen=True):
    """Slots that a call reserved: the instant of the first (ms), and how many.

    The next free slot lies `count` intervals after the first one. `line_until`: the end of the line (ms); 0: there is
    none.
    """

    first_at: int
    count: int
    line_until: int = 0


def is_line(line_until: int, now: int) -> bool:
    """Whether somebody has a place whose turn has not come at `now` (ms)."""
    return line_until > now + TURN_MS


def ahead_ms(turn_ms: float) -> int:
    """How far ahead (ms) a slot may lie for one whose turn comes in `turn_ms`: the longer that is, the less far.

    Those ahead in the line keep the next free slot further away than those behind may reach. Where they do not, since
    they are dead or fewer than was estimated, the slot comes nearer, until it is within reach of those behind.
    """
    if turn_ms > TURN_MS:
        return int(max(NEWCOMER_MS, TURN_MS * TURN_MS / turn_ms))
    return int(HARD_MS - (HARD_MS - TURN_MS) * OVERDUE_MS / (OVERDUE_MS + TURN_MS - turn_ms))


def reach_of(release: Deliver, now: int) -> Reach:
    """How far ahead a release may reserve its slot: never beyond the end of its relevancy window."""
    line, until = release.waits.line, relevant_until(release.occurrence)
    turn_ms = math.inf if line is None or line.place is None else line.place - now
    free, beside, end = ahead_ms(min(turn_ms, TURN_MS)), ahead_ms(turn_ms), HARD_MS if until is None else until - now
    if line is not None:
        # Of a line that others left, those who have waited longest reach furthest.
        waited_ms = math.inf if until is not None else (now - line.since) * AHEAD_OF_THE_WAIT
        beside = max(beside, int(min(WAITED_MS, waited_ms)))
    return Reach(now + min(free, end), now + min(beside, end))


def back_at(release: Deliver, place: int, since: int, now: int, fraction: float) -> int:
    """When (ms) a release comes back that found no slot: its place is `place`, and it has waited since `since`.

    If its turn comes soon it comes back for that, one after the other. `fraction` is drawn from 0 to 1.
    """
    rest_ms = place - TURN_MS + AFTER_TURN_MS - now
    if 0 < rest_ms <= LEAST_BACK_MS / (1 - OF_THE_REST):
        at = now + max(SOONEST_MS, rest_ms)
    else:
        ms = min(rest_ms * OF_THE_REST, (now - since) * OF_THE_WAIT, MOST_BACK_MS)
        at = now + min(MOST_BACK_MS, int(max(LEAST_BACK_MS, ms) * (1 - SPREAD + 2 * SPREAD * fraction)))
    until = relevant_until(release.occurrence)
    if until is None:
        return at
    # From then on no slot lies beyond its reach, but for those that lie beyond its window: it gets one, or it ends.
    return min(at, max(now + SOONEST_MS, until - WAITED_MS, (now + until) // 2))


def urgency(release: Deliver) -> tuple[float, float, int]:
    """The sort key by which releases take slots: those whose windows end first, then by place, then by `run_at`.

    Those without a window or a place sort last.
    """
    until = relevant_until(release.occurrence)
    line = release.waits.line
    place = math.inf if line is None or line.place is None else line.place
    return math.inf if until is None else until, place, release.run_at


def slots_until(first_us: int, count: int, interval_ms: float, latest: int | None) -> int:
    """How many of `count` slots from `first_us` (µs) on lie no later than `latest` (ms); all of them if it is None."""
    if latest is None:
        return count
    room_us = latest * 1000 - first_us
    return 0 if room_us < 0 else min(count, int(room_us / (interval_ms * 1000)) + 1)
