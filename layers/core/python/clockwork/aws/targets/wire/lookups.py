"""Lookups of names, with a limit of time: the system's resolver has none that a caller can set.

Each lookup runs on a thread of its own, and deliveries that ask for the same name meanwhile wait for the same one. A
name whose servers do not answer holds one thread, however many deliveries ask for it. A lookup that was given up goes
on in its thread until the system ends it, half a minute later at the most.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

#: How long a lookup may take (s). The system asks a server again after 5 s: https://man7.org/linux/man-pages/man5/resolv.conf.5.html
LOOKUP_SECONDS = 6.0
#: The number of names that may be looked up at once. Beyond that a lookup fails without one.
MOST_LOOKUPS = 64

Resolver = Callable[[str, int], Sequence[str]]


class LookupTooSlow(OSError):
    """A name was not resolved within `seconds`, or too many others were being looked up."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} s")
        self.seconds = seconds


class Lookups:
    """Lookups by a resolver; safe for many threads."""

    def __init__(self, resolve: Resolver, most: int = MOST_LOOKUPS) -> None:
        self._resolve = resolve
        self._most = most
        self._threads = ThreadPoolExecutor(most, thread_name_prefix="lookup")
        self._lock = threading.Lock()
        self._under_way: dict[tuple[str, int], Future[Sequence[str]]] = {}

    def find(self, host: str, port: int, seconds: float) -> Sequence[str]:
        """The addresses of a host, within `seconds`. Raises LookupTooSlow, and whatever the resolver raises."""
        asked = host, port
        with self._lock:
            future = self._under_way.get(asked)
            if future is None:
                if len(self._under_way) >= self._most:
                    raise LookupTooSlow(0)
                future = self._under_way[asked] = self._threads.submit(self._look, asked)
        try:
            return future.result(seconds)
        except TimeoutError:
            if future.done():
                raise
            raise LookupTooSlow(seconds) from None

    def close(self) -> None:
        """Start no more lookups. It waits for none."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _look(self, asked: tuple[str, int]) -> Sequence[str]:
        try:
            return self._resolve(*asked)
        finally:
            with self._lock:
                del self._under_way[asked]
