"""Waits: the causes that held an occurrence back from its attempt, and their durations.

A deferred release carries the cause and the begin of its wait (`Held`). The wait ends at the release's next instant,
and then counts as over (`Waited`). Time that no wait covers is Clockwork's own lateness.
"""

from __future__ import annotations

from typing import Literal

import msgspec

#: The rate limit of its client, a permit (concurrency limit), a pause of its client, an open circuit of its target, and
#: the occurrences ahead of it in its order.
Cause = Literal["cap", "permit", "pause", "circuit", "ordered"]


class Waited(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """For how long an occurrence waited for each cause (ms)."""

    cap: int = 0
    permit: int = 0
    pause: int = 0
    circuit: int = 0
    ordered: int = 0

    def and_for(self, cause: Cause, ms: int) -> Waited:
        """These waits and one more."""
        return msgspec.structs.replace(self, **{cause: getattr(self, cause) + ms})


class Held(msgspec.Struct, frozen=True, array_like=True):
    """A wait that is not over: its cause, and since when (ms) nothing else held the occurrence back."""

    cause: Cause
    since: int


class Line(msgspec.Struct, frozen=True, array_like=True):
    """A place in the line of those that wait for slots of their client: given once, and no reservation.

    Its turn comes at `place` (ms), as was estimated when the place was given. None: it gets its place when it first
    comes, later than it was due, since its poller knew that it would find no slot. It has waited since `since` (ms).
    """

    place: int | None
    since: int


class Waits(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The waits of one attempt: those that are over (`waited`), and the one after which it runs (`held`).

    `line` is its place among those that found no slot. `paced`: its instant is its slot under the client's rate limit,
    so it takes no other slot. `permits` counts how often it found no permit of its client, `meets` how often it met the
    live claim of a duplicate.
    """

    waited: Waited | None = None
    held: Held | None = None
    line: Line | None = None
    paced: bool = False
    permits: int = 0
    meets: int = 0


class Waiting(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The waits of an execution, as its record keeps them: those before its attempts so far (`waited`).

    No attempt starts before `next_attempt_at` (ms), whichever message asks for it. The others are of an execution that
    waits in its message's place, in an ordered queue: its present wait, and its place in the line. `paced`: its
    `next_attempt_at` is its slot under the rate limit. `order`: the order in which its message lies, by its last
    claim, or by the move to another queue since (`domain/ordering.py: order_of`).
    """

    next_attempt_at: int | None = None
    waited: Waited | None = None
    held: Held | None = None
    paced: bool = False
    line: Line | None = None
    order: str | None = None

    def over(self, more: Waited | None = None, order: str | None = None) -> Waiting:
        """These waits and `more`, all of them over: it waits for nothing now. `order`: as its claim has it."""
        if self.waited is None and more is None and order is None:
            return NO_WAITING
        return Waiting(waited=together(self.waited, more), order=order)


class Parking(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The row in which a parked occurrence waits: the number of earlier parkings, and the revision of its named job.

    A release with the same number is a duplicate of the row. The row of another revision is another row. `at`: when
    it went into its last row (ms). A duplicate may start it while that row lies on.
    """

    number: int = 0
    revision: int | None = None
    at: int | None = None


NO_WAITS, NO_WAITING, NO_PARKING = Waits(), Waiting(), Parking()


def together(one: Waited | None, other: Waited | None) -> Waited | None:
    """The waits of both; None if there were none."""
    if one is None or other is None:
        return one or other
    mine, others = msgspec.structs.astuple(one), msgspec.structs.astuple(other)
    return Waited(*map(sum, zip(mine, others, strict=True)))


def without(all_waits: Waited | None, some: Waited | None) -> Waited | None:
    """The waits of `all_waits` without those of `some`; None if there are no others."""
    if all_waits is None or some is None:
        return all_waits
    left = [ms - less for ms, less in zip(*map(msgspec.structs.astuple, (all_waits, some)), strict=True)]
    return Waited(*left) if any(left) else None
