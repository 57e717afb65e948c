"""Closings: stretches of due instants whose older releases do not start any more. Changes end work through them alone.

A release names the revision of its row. A closing of revision N is for releases of earlier revisions: a later release
was made with knowledge of the closing.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clockwork.domain.executions import State

#: A row keeps so many closings. One more merges the two oldest.
MOST_CLOSINGS = 32
#: Before and behind every due instant (ms): the ends of a closing that has none.
EVER = -1
NEVER_ENDS = 2**53


class Closing(msgspec.Struct, frozen=True, rename="camel"):
    """A release of a revision below `revision`, due after `after` and before `before` (ms), does not start.

    The release ends in `state` instead, for this `reason`. A closing that skips leaves started executions alone.
    """

    revision: int
    after: int
    before: int
    state: State
    reason: str

    def covers(self, revision: int, due_at: int, *, is_started: bool) -> bool:
        """Whether it ends a release of this revision and due instant. `is_started`: it had an attempt before."""
        if revision >= self.revision or not self.after < due_at < self.before:
            return False
        return self.state is State.CANCELLED or not is_started


def with_closing(closings: Sequence[Closing], closing: Closing) -> tuple[Closing, ...]:
    """The closings and one more.

    If they were too many, the two oldest become the hull of both: that ends too much, visibly, and never too little.
    """
    if len(closings) < MOST_CLOSINGS:
        return (*closings, closing)
    oldest, second, *rest = closings
    return (_hull(oldest, second), *rest, closing)


def _hull(one: Closing, other: Closing) -> Closing:
    cancels = State.CANCELLED in (one.state, other.state)
    return Closing(
        revision=max(one.revision, other.revision),
        after=min(one.after, other.after),
        before=max(one.before, other.before),
        state=State.CANCELLED if cancels else State.SKIPPED,
        reason="its job was changed many times since",
    )
