"""A cache of seconds for the calls of pages: regions of a page, and tabs, ask for the same.

How it fails. A call that fails leaves the last answer in its place, with its age and the problem, for the page to show.
A failure is remembered for seconds too, or each region of a page would wait for its own. If the API cannot be reached
at all, no call is made for that time. A write forgets everything, also what calls that began before it bring back.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

from clockwork_client.answers import Answer
from clockwork_client.console.problems import Problem, problem_of
from clockwork_client.errors import ClockworkError
from clockwork_client.pages import Pages

Value = TypeVar("Value")
Item = TypeVar("Item", bound=Answer)
#: A failure is not asked about again for so many seconds.
_FAILURE_SECONDS = 3.0
#: For so long (s) a page waits for the API. A call of a list ends after half a second, unless one read takes longer.
_PAGE_SECONDS = 1.3
#: The oldest answers beyond so many are dropped.
_MOST_ENTRIES = 2_000


class Seen(NamedTuple, Generic[Value]):
    """An answer, or the last one before a problem: then `age` tells how old it is (s). None: there never was one."""

    value: Value | None
    problem: Problem | None = None
    age: float = 0.0


class Found(NamedTuple, Generic[Item]):
    """A list, as far as it was read: with `more`, there are more, which `next_token` leads to, if it is there.

    `looked_at`: how many a filter has looked at, shown or not; 0 where the API does not tell.
    """

    items: tuple[Item, ...]
    more: bool = False
    next_token: str | None = None
    looked_at: int = 0


class Patience:
    """How long a page waits for the API. `clock` tells seconds that never go back.

    A page makes the calls that it cannot do without. It asks for more only if another call, as long as the last one,
    would end in time. Calls that it makes side by side may let it wait for one of them longer.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, seconds: float = _PAGE_SECONDS) -> None:
        self._clock = clock
        self._asked_at = clock()
        self._until = self._asked_at + seconds

    def goes_on(self) -> bool:
        """Whether the page may make one more call. It is asked behind each."""
        now = self._clock()
        took, self._asked_at = now - self._asked_at, now
        return now + took <= self._until


class _Entry:
    """One key: its lock, its last answer, and the problem that followed the answer."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.value: Any = None
        self.has_value = False
        self.read_at = 0.0
        self.problem: Problem | None = None
        self.failed_at = 0.0
        #: The generation that the value, or the problem, is of.
        self.generation = -1


class Reads:
    """A cache for one caller. `clock` tells seconds that never go back; `profile` is named in advice."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, profile: str | None = None) -> None:
        self._clock = clock
        self._profile = profile
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._lock = Lock()
        #: How often everything was forgotten: an answer from before the last time is not kept.
        self._generation = 0
        self._out: tuple[Problem, float] | None = None

    def read(
        self, key: Hashable, seconds: float, make: Callable[[], Value], *, is_lasting: bool = False
    ) -> Seen[Value]:
        """The answer under a key, asked for by `make` unless one of the last `seconds` is there.

        Two threads that ask for one key make one call. Other keys do not wait for it. `is_lasting`: no write changes
        it, so that none makes it be forgotten.
        """
        entry = self._entry(key)
        with entry.lock:
            now = self._clock()
            is_current = entry.generation == self._generation or (is_lasting and entry.generation >= 0)
            if is_current and entry.problem is None and now - entry.read_at < seconds:
                return Seen(entry.value)
            has_failed = is_current and now - entry.failed_at < _FAILURE_SECONDS
            problem = entry.problem if has_failed and entry.problem else self._outage(now)
            if problem is None:
                problem = self._ask(entry, make)
            if problem is None:
                return Seen(entry.value)
            return Seen(entry.value, problem, now - entry.read_at if entry.has_value else 0.0)

    def forget(self) -> None:
        """Something was changed: ask for everything again. The last answers stay for regions whose call fails."""
        with self._lock:
            self._generation += 1
            self._out = None

    def _entry(self, key: Hashable) -> _Entry:
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            while len(self._entries) > _MOST_ENTRIES:
                self._entries.popitem(last=False)
            return entry

    def _outage(self, now: float) -> Problem | None:
        with self._lock:
            return self._out[0] if self._out is not None and now - self._out[1] < _FAILURE_SECONDS else None

    def _ask(self, entry: _Entry, make: Callable[[], Any]) -> Problem | None:
        entry.generation = self._generation
        try:
            value = make()
        except ClockworkError as error:
            problem = problem_of(error, self._profile)
            entry.problem, entry.failed_at = problem, self._clock()
            if problem.is_of_all:
                with self._lock:
                    self._out = (problem, entry.failed_at)
            return problem
        entry.value, entry.has_value, entry.problem = value, True, None
        entry.read_at = self._clock()
        return None


def first(pages: Pages[Item], most: int) -> Found[Item]:
    """The first items of a list, as far as one call brings them."""
    found = pages.page()
    return Found(tuple(found[:most]), len(found) > most or pages.next_token is not None)


def onward(pages: Pages[Item], enough: int, calls: int = 1, goes_on: Callable[[], bool] = lambda: True) -> Found[Item]:
    """The next items of a list, until there are enough, by so many calls at most, and while `goes_on` says so."""
    found = pages.page()
    for _ in range(calls - 1):
        if pages.next_token is None or len(found) >= enough or not goes_on():
            break
        found += pages.page()
    return Found(tuple(found), pages.next_token is not None, pages.next_token, pages.looked_at)
