"""Chooses the queue from which a free slot takes next: 8 of high to 4 of normal to 1 of low, while all have work.

Of a priority it takes 3 from its queue to 1 from its overflow queue, in which the API puts what is beyond its client's
share. The first queue may be full of such tickets. They start nothing there, and hardly count.

A queue without work takes no part, and unused draws are not made up for later. A short poll of SQS may find nothing in
a queue that has work. A queue that returns within two rounds therefore gets its missed draws, up to two calls'
messages. Hence a queue with work waits for a bounded number of messages of others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from threading import Lock

WEIGHTS = {"high": 8, "normal": 4, "low": 1}
#: The end of the name of a priority's overflow queue, and the weights of its two queues.
OVERFLOW = "-overflow"
_FIRST, _OVERFLOW = 3, 1
#: The part of a ticket that one counts which starts nothing. It is above 0: whatever lies in the first queue, the
#: overflow queue has its turn.
_UNSTARTED = 0.02
#: The most messages that a queue gets ahead of others for missed draws: the messages of two calls.
_CREDIT = 20


def priority_of(queue: str) -> str:
    """The priority of a queue."""
    return queue.removesuffix(OVERFLOW)


def is_priority(queue: str) -> bool:
    """Whether a queue is the first one of its priority."""
    return not queue.endswith(OVERFLOW)


def have_overflow(queues: Collection[str]) -> bool:
    """Whether each priority has its overflow queue among these."""
    return all(one + OVERFLOW in queues for one in queues if is_priority(one))


class Draws:
    """Counts the messages of each queue, divided by its weight. The queue with the least count is next.

    Start-time fair queueing (Goyal, Vin, Cheng, 1996): a count of rounds follows the least count of the busy queues,
    and never goes back. A queue that becomes busy begins at that count, and its first messages count already.
    """

    def __init__(self, names: Collection[str], weights: Mapping[str, int] = WEIGHTS) -> None:
        self._weights = weights
        self._got = dict.fromkeys(sorted(names, key=lambda one: -weights.get(one, 1)), 0.0)
        #: The draws that a queue may miss and still count as present.
        self._missed = 2 * sum(weights.values())
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

    def charge(self, name: str, count: float) -> None:
        """Count the messages of a busy queue. A negative number takes back a count that came before its messages."""
        with self._lock:
            if count > 0:
                self._round = max(self._round, min(self._got[one] for one in {name, *self._at_work}))
            self._got[name] += count / self._weights.get(name, 1)

    def _join(self, at_work: set[str]) -> None:
        """Let queues begin that had no work before."""
        begins_at = self._begin()
        for name in at_work - self._at_work:
            has_credit = self._draws - self._left_at.get(name, -self._missed) < self._missed
            credit = _CREDIT / self._weights.get(name, 1) if has_credit else 0.0
            self._got[name] = max(self._got[name], begins_at - credit)
        self._left_at.update(dict.fromkeys(self._at_work - at_work, self._draws))
        self._at_work = at_work

    def _begin(self) -> float:
        """The count at which a queue begins: not beyond the others, which may have got less than was counted."""
        return min([self._round, *(self._got[name] for name in self._at_work)])


class QueueDraws:
    """Draws of a priority, and then of one of its two queues."""

    def __init__(self, queues: Collection[str]) -> None:
        self._priorities = Draws({priority_of(one) for one in queues})
        self._of: dict[str, Draws] = {}
        for one in {priority_of(queue) for queue in queues}:
            weights = {one: _FIRST, one + OVERFLOW: _OVERFLOW}
            self._of[one] = Draws([queue for queue in queues if queue in weights], weights)

    def join(self, at_work: Collection[str]) -> None:
        """Let these queues have work from now on, and no others."""
        self._priorities.join({priority_of(one) for one in at_work})
        for priority, draws in self._of.items():
            draws.join(_those_of(priority, at_work))

    def next(self, at_work: Collection[str]) -> str:
        """The next of these queues, which have work."""
        priority = self._priorities.next({priority_of(one) for one in at_work})
        return self._of[priority].next(_those_of(priority, at_work))

    def charge(self, queue: str, count: int) -> None:
        """Count the messages of a busy queue. A negative number takes back a count that came before its messages."""
        self._priorities.charge(priority_of(queue), count)
        self._of[priority_of(queue)].charge(queue, count)

    def unstarted(self, queue: str, count: int) -> None:
        """Take back so many messages of a queue that start nothing: its overflow queue must not overtake it by them.

        They still count as messages of their priority, so that other priorities wait for a bounded number of them.
        """
        self._of[priority_of(queue)].charge(queue, -count * (1 - _UNSTARTED))


def _those_of(priority: str, queues: Collection[str]) -> set[str]:
    return {one for one in queues if priority_of(one) == priority}
