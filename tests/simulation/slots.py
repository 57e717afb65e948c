"""Watches rate caps (I8): each attempt names a slot that was taken for it, has passed, and is nobody else's.

A slot belongs to the invocation that reserved it, until that invocation starts an attempt or says in a release or a
record that the attempt is paced. From then on it is the slot of that attempt. Slots that passed unused therefore help
nobody.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict

from clockwork.domain.executions import Execution
from clockwork.domain.releases import Deliver
from tests.simulation.scheduler import Actor

#: Greatest difference (ms) between the clocks of the machine that reserves a slot and the one that uses it.
CLOCKS_APART_MS = 3_000
#: Slots are reserved in microseconds, and told in milliseconds.
ROUNDING_MS = 1
#: An attempt: its execution and number, and how often its occurrence was parked before.
Key = tuple[str, int, int]


class Slots:
    """The slots of clients with rate caps, and the attempts that named them."""

    def __init__(self) -> None:
        #: Sorted, by client and invocation: slots (ms) that no attempt has named yet.
        self._unnamed: defaultdict[tuple[str, Actor | None], list[int]] = defaultdict(list)
        self._named: set[Key] = set()
        #: By execution and number of an attempt: its earliest slot, for a message that came twice may have two.
        self._earliest: dict[tuple[str, int], int] = {}
        self._free_at: defaultdict[str, float] = defaultdict(float)
        #: The slot that an invocation gave an attempt as it began, before anything told which one it was.
        self._guessed: dict[tuple[Actor | None, Key], int] = {}

    def reserved(
        self, actor: Actor | None, client_id: str, first_at: int, count: int, interval_ms: float
    ) -> str | None:
        """Notes reserved slots; returns why they must not be given away, or None."""
        if not count:
            return None
        for place in range(count):
            insort(self._unnamed[client_id, actor], first_at + int(place * interval_ms))
        free_at, self._free_at[client_id] = self._free_at[client_id], first_at + count * interval_ms
        if first_at + ROUNDING_MS < free_at:
            return f"a slot at {first_at} is given away, and the next free one is at {free_at:.0f}"
        return None

    def knows(self, release: Deliver) -> bool:
        """Whether the attempt of a release has named a slot before."""
        return _key_of(release) in self._named

    def sent(self, actor: Actor | None, release: Deliver) -> str | None:
        """Notes a release that the queue took; returns why it must not say that it is paced, or None."""
        if not release.waits.paced:
            return None
        key = _key_of(release)
        # The slot may have been free before it was due.
        least = 0 if release.run_at == release.occurrence.due_at else release.run_at - ROUNDING_MS
        if self._names(actor, release.occurrence.client_id, key, least, release.run_at):
            return None
        return f"attempt {release.attempt} is sent as if it had a slot, parked {release.travels.parkings} times"

    def noted(self, actor: Actor | None, record: Execution) -> None:
        """Notes the record of an ordered execution, whose message cannot tell its slot."""
        if record.waits.paced and record.waits.next_attempt_at is not None:
            key = record.execution_id, record.attempt + 1, 0
            self._names(
                actor, record.client_id, key, record.waits.next_attempt_at - ROUNDING_MS, record.waits.next_attempt_at
            )

    def objection(self, actor: Actor, client_id: str, attempt: tuple[str, int], now: int) -> str | None:
        """The reason why an attempt must not begin at `now` (ms, true time), or None."""
        until, key = now + CLOCKS_APART_MS, (*attempt, 0)
        if self._earliest.get(attempt, until + 1) <= until:
            return None
        guessed = self._takes(actor, client_id, key, until)
        if guessed is not None:
            self._guessed[actor, key] = guessed
            return None
        if attempt in self._earliest:
            return f"attempt {attempt[1]} begins {self._earliest[attempt] - now} ms before its slot"
        return f"attempt {attempt[1]} begins, and no slot was taken for it"

    def _names(self, actor: Actor | None, client_id: str, key: Key, least: int, until: int) -> bool:
        """Whether the attempt has a slot already, or gets one.

        An attempt that has one gets another if its invocation took that for it, for another message of it: one from
        `least` to `until` (ms).
        """
        mine = self._unnamed[client_id, actor]
        place = bisect_right(mine, until)
        has_another = place > 0 and mine[place - 1] >= least
        if key in self._named and not has_another:
            return True
        is_named = self._takes(actor, client_id, key, until) is not None
        guessed = self._guessed.pop((actor, (*key[:2], 0)), None)
        if guessed is not None and is_named:
            insort(mine, guessed)
        # It may be the very slot with which its invocation has begun the attempt, and which is told with a copy now.
        return is_named or guessed is not None

    def _takes(self, actor: Actor | None, client_id: str, key: Key, until: int) -> int | None:
        """The slot of its invocation's that the attempt gets, none later than `until` (ms); None if there is none.

        It gets the last of those, so that one is left for an attempt of this invocation that starts sooner.
        """
        mine = self._unnamed[client_id, actor]
        place = bisect_right(mine, until)
        if not place:
            return None
        slot = mine.pop(place - 1)
        self._named.add(key)
        attempt = key[0], key[1]
        self._earliest[attempt] = min(slot, self._earliest.get(attempt, slot))
        return slot


def _key_of(release: Deliver) -> Key:
    return release.execution_id, release.attempt, release.travels.parkings
