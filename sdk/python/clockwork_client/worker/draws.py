"""Chooses the queue from which a free slot takes next: 8 of high to 4 of normal to 1 of low, while all have work.

A queue without work takes no part, and unused draws are not made up for later. A short poll of SQS may find nothing in
a queue that has work. A queue that returns within two rounds therefore gets its missed draws, up to two calls'
messages. Hence a queue with work waits for a bounded number of messages of others.
"""

from __future__ import annotations

from collections.abc import Collection
from threading import Lock

WEIGHTS = {"high": 8, "normal": 4, "low": 1}
#: The draws that a queue may miss and still count as present.
_MISSED = 2 * sum(WEIGHTS.values())
#: The most messages that a queue gets ahead of others for missed draws: the messages of two calls.
_CREDIT = 20


class Draws:
    """Counts the messages of each queue, divided by its weight. The queue with the least count is next.

    Start-time fair queueing (Goyal, Vin, Cheng, 1996): a count of rounds follows the least count of the busy queues,
    and never goes back. A queue that becomes busy begins at that count, and its first messages count already.
    """

    def __init__(self, priorities: Collection[str]) -> None:
        self._got = dict.fromkeys(sorted(priorities, key=lambda one: -WEIGHTS.get(one, 1)), 0.0)
        self._round = 0.0
        self._at_work: set[str] = set()
        self._draws = 0
        self._left_at: dict[str, int] = {}
        self._lock = Lock()

    def join(self, at_work: Collection[str]) -> None:
        """Let these queues have work from now on, and no others."""
        with self._lock:
            self._join(set(at_work))

    def next(self, at_work: Collection[str]) -> str:
        """The next of these queues, which have work."""
        with self._lock:
            self._draws += 1
            self._join(set(at_work))
            return min((name for name in self._got if name in self._at_work), key=lambda name: self._got[name])

    def charge(self, priority: str, count: int) -> None:
        """Count the messages of a busy queue. A negative number takes back a count that came before its messages."""
        with self._lock:
            if count > 0:
                self._round = max(self._round, min(self._got[name] for name in {priority, *self._at_work}))
            self._got[priority] += count / WEIGHTS.get(priority, 1)

    def _join(self, at_work: set[str]) -> None:
        """Let queues begin that had no work before."""
        begins_at = self._begin()
        for name in at_work - self._at_work:
            has_credit = self._draws - self._left_at.get(name, -_MISSED) < _MISSED
            credit = _CREDIT / WEIGHTS.get(name, 1) if has_credit else 0.0
            self._got[name] = max(self._got[name], begins_at - credit)
        self._left_at.update(dict.fromkeys(self._at_work - at_work, self._draws))
        self._at_work = at_work

    def _begin(self) -> float:
        """The count at which a queue begins: not beyond the others, which may have got less than was counted."""
        return min([self._round, *(self._got[name] for name in self._at_work)])
