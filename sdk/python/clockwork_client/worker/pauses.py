"""Pauses after failures: longer with each, up to half a minute, and none after a success."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock

from clockwork_client.worker.clock import Clock
from clockwork_client.worker.logs import logger

log = logger(__name__)

_FIRST, _LONGEST = 1.0, 30.0
#: The longest pause (s) that the other side may ask for: a worker that receives nothing for longer is taken for stuck.
_LONGEST_ASKED = 90.0


class Pauses:
    """The pauses of one loop, which `is_over` ends."""

    def __init__(self, clock: Clock, is_over: Event) -> None:
        self._clock = clock
        self._is_over = is_over
        self._next = _FIRST

    @contextmanager
    def guard(self, what: str) -> Iterator[None]:
        """Run a round of the loop: a failure is logged, and followed by a pause."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever the other side or its library says: the loop goes on
            pause, self._next = self._next, min(_LONGEST, self._next * 2)
            log.warning("%s: %s", what, error)
            self._clock.wait(self._is_over, pause)
        else:
            self._next = _FIRST


class Brake:
    """The pauses of many threads at once. Calls that were under way together count as one.

    `first` and `longest` (s) bound its own pauses, and `longest_asked` (s) those that the other side asks for.
    """

    def __init__(
        self,
        clock: Clock,
        is_over: Event,
        first: float = _FIRST,
        longest: float = _LONGEST,
        longest_asked: float = _LONGEST_ASKED,
    ) -> None:
        self._clock = clock
        self._is_over = is_over
        self._first = self._next = first
        self._longest = longest
        self._longest_asked = longest_asked
        self._pulled_at = self._until = float("-inf")
        self._lock = Lock()

    @property
    def is_on(self) -> bool:
        """Whether there is a pause now."""
        return self._clock.now() < self._until

    @property
    def is_wary(self) -> bool:
        """Whether nothing has succeeded since the last failure."""
        return self._next > self._first

    def wait(self, most: float = float("inf")) -> None:
        """Wait until there is no pause, for so long (s) at the most."""
        ends_at = self._clock.now() + most
        while (left := min(self._until, ends_at) - self._clock.now()) > 0 and not self._is_over.is_set():
            self._clock.wait(self._is_over, left)

    def pull(self, asked_at: float, asked_for: float = 0.0) -> None:
        """A call failed that was sent at this instant; the other side may have asked for a pause (s)."""
        with self._lock:
            now, pause = self._clock.now(), min(self._longest_asked, asked_for)
            if asked_at >= self._pulled_at:
                pause = max(pause, self._next)
                self._next, self._pulled_at = min(self._longest, self._next * 2), now
            self._until = max(self._until, now + pause)

    def release(self, asked_at: float) -> None:
        """A call succeeded that was sent at this instant."""
        with self._lock:
            if asked_at >= self._pulled_at:
                self._next = self._first


def asked_pause(error: BaseException) -> float:
    """The pause (s) that the other side asked for as it refused a call, or as it last gave no certain answer; or 0."""
    for one in (error, error.__cause__):
        asked = getattr(one, "retry_after", None)
        # Any exception may have an attribute of this name.
        if isinstance(asked, (int, float)):
            return asked
    return 0.0
