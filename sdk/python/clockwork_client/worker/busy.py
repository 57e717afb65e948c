"""Notes the queues with work, and the number of short polls that each may have at once.

A short poll of a queue without work costs as much as one that brings ten tickets. A queue therefore begins with one
short poll, or two after a full answer, and gets more while answers are full.
"""

from __future__ import annotations

from collections.abc import Collection
from threading import Condition

#: The most short polls of all queues at once.
FETCHES_AT_ONCE = 8


class Busy:
    """The queues that have work. The others are quiet."""

    def __init__(self, priorities: Collection[str]) -> None:
        #: How many fetches each queue with work may have at once.
        self._allowed: dict[str, int] = {}
        self._under_way = dict.fromkeys(priorities, 0)
        self._is_closed = False
        self._changed = Condition()

    def wait_quiet(self, priority: str) -> bool:
        """Wait until a queue has no work; False if nobody wants work any more."""
        with self._changed:
            self._changed.wait_for(lambda: priority not in self._allowed or self._is_closed)
            return not self._is_closed

    def wait_open(self) -> bool:
        """Wait until a queue may be asked by a short poll; False if nobody wants work any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._open() or self._is_closed)
            return not self._is_closed

    def open(self) -> frozenset[str]:
        """The queues that may be asked by a short poll."""
        with self._changed:
            return self._open()

    def found(self, priority: str, *, is_full: bool) -> frozenset[str]:
        """A long poll brought tickets of a queue, as many as it asked for or fewer; which queues have work now."""
        with self._changed:
            self._allowed[priority] = 2 if is_full else 1
            self._changed.notify_all()
            return frozenset(self._allowed)

    def asked(self, priority: str) -> None:
        """A short poll is under way."""
        with self._changed:
            self._under_way[priority] += 1

    def answered(self, priority: str, asked: int, came: int) -> None:
        """A short poll is over: so many tickets were asked for, and so many came. The queue may be quiet now."""
        with self._changed:
            self._under_way[priority] -= 1
            allowed = self._allowed.pop(priority, 0)
            if came and allowed:
                allowed = min(FETCHES_AT_ONCE, allowed * 2) if came == asked else max(1, allowed // 2)
            else:
                # A short poll may find nothing by chance: who had full answers is not quiet after the first one.
                allowed //= 2
            if allowed:
                self._allowed[priority] = allowed
            self._changed.notify_all()

    def withdrawn(self, queue: str) -> None:
        """A short poll of a queue was not needed after all."""
        with self._changed:
            self._under_way[queue] -= 1
            self._changed.notify_all()

    def is_quiet(self, queue: str) -> bool:
        """Whether a queue has no work, as far as is known."""
        with self._changed:
            return queue not in self._allowed

    def clear(self) -> None:
        """Nothing is known of any queue."""
        with self._changed:
            self._allowed.clear()
            self._changed.notify_all()

    def close(self) -> None:
        """Nobody wants work any more."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _open(self) -> frozenset[str]:
        return frozenset(name for name, allowed in self._allowed.items() if self._under_way[name] < allowed)
