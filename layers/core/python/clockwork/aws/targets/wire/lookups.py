"""Lookups of names, with a limit of time: the system's resolver has none that a caller can set.

Each lookup runs on a thread of its own, and deliveries that ask for the same name meanwhile wait for the same one. A
name whose servers do not answer holds one thread, however many deliveries ask for it. A lookup that was given up goes
on in its thread until the system ends it, half a minute later at the most.

The threads are shared by a dynamic threshold (Choudhury and Hahne, 1998): a client begins a lookup while it holds less
than a third of the number that is free. One client therefore holds a quarter of them at the most, and the next one a
quarter of the rest. Only a client whose names do not answer meets its share, since an answer frees a thread within
milliseconds.

How it fails. A client at its share gets NoLookupFree, and no attempt is made for it until threads come free. If many
names of thirteen clients hang at once, or one name of each of 64, nothing is left: the others' occurrences come back
until a lookup ends.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

#: How long a lookup may take (s). The system asks a server again after 5 s: https://man7.org/linux/man-pages/man5/resolv.conf.5.html
LOOKUP_SECONDS = 6.0
#: The number of names that may be looked up at once.
MOST_LOOKUPS = 64
#: A client begins a lookup while this many times what it holds is less than what is free.
FREE_FOR_EACH_HELD = 3

Resolver = Callable[[str, int], Sequence[str]]


class LookupTooSlow(OSError):
    """A name was not resolved within `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} s")
        self.seconds = seconds


class NoLookupFree(OSError):
    """The client holds its share of the lookups already. Nothing was asked, and nothing was sent."""


class Lookups:
    """Lookups by a resolver, `most` at once; safe for many threads."""

    def __init__(self, resolve: Resolver, most: int = MOST_LOOKUPS) -> None:
        self._resolve = resolve
        self._most = most
        self._threads = ThreadPoolExecutor(most, thread_name_prefix="lookup")
        self._lock = threading.Lock()
        self._under_way: dict[tuple[str, int], Future[Sequence[str]]] = {}
        #: How many of those under way each client has begun.
        self._held: Counter[str] = Counter()

    def find(self, client_id: str, host: str, port: int, seconds: float) -> Sequence[str]:
        """The addresses of a host, within `seconds`, for a client.

        Raises LookupTooSlow, NoLookupFree, and whatever the resolver raises.
        """
        asked = host, port
        with self._lock:
            future = self._under_way.get(asked)
            if future is None:
                if FREE_FOR_EACH_HELD * self._held[client_id] >= self._most - len(self._under_way):
                    raise NoLookupFree
                future = self._under_way[asked] = self._threads.submit(self._look, client_id, asked)
                self._held[client_id] += 1
        try:
            return future.result(seconds)
        except TimeoutError:
            if future.done():
                raise
            raise LookupTooSlow(seconds) from None

    def close(self) -> None:
        """Start no more lookups. It waits for none."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _look(self, client_id: str, asked: tuple[str, int]) -> Sequence[str]:
        try:
            return self._resolve(*asked)
        finally:
            with self._lock:
                del self._under_way[asked]
                self._held -= Counter({client_id: 1})
